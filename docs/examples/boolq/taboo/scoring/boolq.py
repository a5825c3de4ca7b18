"""BoolQ: the first yes or no that the answer states."""

import re
from collections.abc import Mapping
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.text import answer_part

_STATED = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the item has an answer."""
    if type(item.get("answer")) is not bool:
        raise ScoreError("`answer` must be true or false")


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """Compare the first yes or no (or true or false) before an invented next question."""
    match = _STATED.search(answer_part(text))
    if match is None:
        return Verdict(False, "unparsed", None, "none")
    correct = (match[1].lower() in ("yes", "true")) == item["answer"]
    return Verdict(correct, "correct" if correct else "wrong", match[1], "stated")
