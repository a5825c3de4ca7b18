"""IFEval (Zhou et al. 2023): 541 prompts with instructions that a program can check."""

from collections.abc import Mapping
from typing import Any

from taboo.tasks.base import (
    PROMPTS,
    Hub,
    Item,
    Prompt,
    Task,
    TaskError,
    Template,
    text_field,
    text_list,
)

PROMPT_FILE = PROMPTS / "ifeval.txt"
HUB = Hub("google/IFEval", "ifeval_input_data.jsonl", "966cd89545d6b6acfd7638bc708b98261ca58e84")
MIRROR_FILE = "ifeval/input_data.jsonl"
_TEMPLATE = Template(PROMPT_FILE, ("prompt",))


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """`key`, `prompt`, `instruction_id_list` and one `kwargs` object per instruction.

    The hub fills every object up with nulls and stores counts as floats; both are undone.
    """
    where = f"ifeval record {position}"
    key, kwargs = record.get("key"), record.get("kwargs")
    if type(key) is not int:
        raise TaskError(f"{where}: `key` must be a whole number, found {key!r}")
    instructions = text_list(record, "instruction_id_list", where)
    if not instructions:
        raise TaskError(f"{where}: `instruction_id_list` is empty")
    if not isinstance(kwargs, list) or len(kwargs) != len(instructions):
        raise TaskError(f"{where}: `kwargs` must be a list with one object per instruction")
    if not all(isinstance(entry, Mapping) for entry in kwargs):
        raise TaskError(f"{where}: `kwargs` must hold objects")
    return {
        "key": key,
        "prompt": text_field(record, "prompt", where),
        "instruction_id_list": instructions,
        "kwargs": [
            {name: _whole(value) for name, value in sorted(entry.items()) if value is not None}
            for entry in kwargs
        ],
    }


def identify(item: Item, position: int) -> str:
    """The published key."""
    return f"ifeval/{item['key']}"


def render(item: Item) -> Prompt:
    """The prompt alone; instruct models get it in their chat template."""
    return _TEMPLATE.fill({"prompt": item["prompt"]}, chat=True)


def refuse(item: Item) -> str | None:
    """Why an item can't be scored: two published ones ask for how often `#` and `!` occur as letters."""
    for name, arguments in zip(item["instruction_id_list"], item["kwargs"], strict=True):
        letter = arguments.get("letter", "")
        if name == "keywords:letter_frequency" and not (
            len(letter) == 1 and letter.isascii() and letter.isalpha()
        ):
            return f"{name} counts letters, and {letter!r} is none"
    return None


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


TASK = Task(
    name="ifeval",
    version="1",
    hub=HUB,
    mirror_file=MIRROR_FILE,
    prompt_file=PROMPT_FILE,
    normalise=normalise,
    identify=identify,
    render=render,
    refuse=refuse,
)
