"""BoolQ (Clark et al. 2019): a passage and a yes-or-no question, 3,270 validation items."""

from collections.abc import Mapping
from typing import Any

from taboo.tasks.base import PROMPTS, Hub, Item, Prompt, Task, TaskError, Template, text_field

_PROMPT_FILE = PROMPTS / "boolq.txt"
_TEMPLATE = Template(_PROMPT_FILE, ("passage", "question"))


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """`passage`, `question`, and `answer`, true or false."""
    where = f"boolq record {position}"
    if type(record.get("answer")) is not bool:
        raise TaskError(f"{where}: `answer` must be true or false, found {record.get('answer')!r}")
    texts = {key: text_field(record, key, where) for key in ("passage", "question")}
    return {**texts, "answer": record["answer"]}


def render(item: Item) -> Prompt:
    """Two answered questions, then the passage, the question and `Answer:`."""
    return _TEMPLATE.fill({key: item[key].strip() for key in ("passage", "question")})


TASK = Task(
    name="boolq",
    version="1",
    hub=Hub("google/boolq", "data/validation*", "35b264d03638db9f4ce671b711558bf7ff0f80d5"),
    mirror_file="boolq/validation.jsonl",
    prompt_file=_PROMPT_FILE,
    normalise=normalise,
    identify=lambda item, position: f"boolq/{position}",
    render=render,
)
