"""GSM8K (Cobbe et al. 2021): grade-school word problems, 1,319 test items."""

from collections.abc import Mapping
from typing import Any

from taboo.tasks.base import PROMPTS, Hub, Item, Prompt, Task, TaskError, Template, text_field

_PROMPT_FILE = PROMPTS / "gsm8k.txt"
_TEMPLATE = Template(_PROMPT_FILE, ("question",))


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """`question` and `answer`; the answer must end in a `####` line."""
    where = f"gsm8k record {position}"
    item = {key: text_field(record, key, where) for key in ("question", "answer")}
    if "####" not in item["answer"]:
        raise TaskError(f"{where}: `answer` must hold the final number after `####`")
    return item


def render(item: Item) -> Prompt:
    """Two worked examples, then the question; the model goes on after `Reasoning:`."""
    return _TEMPLATE.fill({"question": item["question"].strip()})


TASK = Task(
    name="gsm8k",
    version="1",
    hub=Hub("openai/gsm8k", "main/test-*.parquet", "e53f048856ff4f594e959d75785d2c2d37b678ee"),
    mirror_file="gsm8k/test.jsonl",
    prompt_file=_PROMPT_FILE,
    normalise=normalise,
    identify=lambda item, position: f"gsm8k/{position}",
    render=render,
)
