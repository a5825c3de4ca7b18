"""HumanEval (Chen et al. 2021): 164 Python functions to complete."""

from collections.abc import Mapping
from typing import Any

from taboo.tasks.base import PROMPTS, Hub, Item, Prompt, Task, Template, text_field

_PROMPT_FILE = PROMPTS / "humaneval.txt"
_TEMPLATE = Template(_PROMPT_FILE, ("prompt",))
_FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """The five published fields."""
    return {key: text_field(record, key, f"humaneval record {position}") for key in _FIELDS}


def render(item: Item) -> Prompt:
    """Two finished functions, then the signature and docstring exactly as published; the model goes on with the body."""
    return _TEMPLATE.fill({"prompt": item["prompt"]})


TASK = Task(
    name="humaneval",
    version="1",
    hub=Hub(
        "openai/openai_humaneval",
        "openai_humaneval/test-*.parquet",
        "7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
    ),
    mirror_file="humaneval/HumanEval.jsonl",
    prompt_file=_PROMPT_FILE,
    normalise=normalise,
    identify=lambda item, position: item["task_id"],
    render=render,
)
