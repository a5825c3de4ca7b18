"""MMLU (Hendrycks et al. 2021): four-way multiple choice in 57 subjects, 14,042 test items."""

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

LETTERS = "ABCD"
_PROMPT_FILE = PROMPTS / "mmlu.txt"
_TEMPLATE = Template(_PROMPT_FILE, ("question", *LETTERS))


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """`subject`, `question`, four `choices` and `answer` from 0 to 3."""
    where = f"mmlu record {position}"
    choices = text_list(record, "choices", where)
    if len(choices) != len(LETTERS):
        raise TaskError(f"{where}: `choices` must be {len(LETTERS)} texts, found {len(choices)}")
    answer = record.get("answer")
    if type(answer) is not int or not 0 <= answer < len(LETTERS):
        raise TaskError(f"{where}: `answer` must be a number from 0 to 3, found {answer!r}")
    return {
        "subject": text_field(record, "subject", where),
        "question": text_field(record, "question", where),
        "choices": choices,
        "answer": answer,
    }


def render(item: Item) -> Prompt:
    """Two answered questions, then the question, its choices and `Answer:`.

    The text ends without a space, so the letter that follows is one token that starts a word, and the first intervention falls on the choice itself (paper section 3.2).
    """
    choices = dict(zip(LETTERS, map(str.strip, item["choices"]), strict=True))
    return _TEMPLATE.fill({"question": item["question"].strip(), **choices})


TASK = Task(
    name="mmlu",
    version="1",
    hub=Hub("cais/mmlu", "all/test-*.parquet", "c30699e8356da336a370243923dbaf21066bb9fe"),
    mirror_file="mmlu/test.jsonl",
    prompt_file=_PROMPT_FILE,
    normalise=normalise,
    identify=lambda item, position: f"mmlu/{item['subject']}/{position}",
    render=render,
    stratum=lambda item: item["subject"],
)
