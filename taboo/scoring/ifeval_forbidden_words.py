"""The control of paper section 2.2: does the text avoid the forbidden words, whatever else it does?"""

from collections.abc import Mapping
from typing import Any

from taboo.scoring import ifeval
from taboo.scoring.base import ScoreError, Verdict

NAME = "keywords:forbidden_words"


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the item is sound and forbids words."""
    ifeval.check_item(item)
    if NAME not in item["instruction_id_list"]:
        raise ScoreError(f"the prompt has no {NAME} instruction")


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """As IFEval's, but `correct` is the strict verdict of the forbidden_words instructions alone."""
    full = ifeval.score_text(item, text)
    verdicts = [
        followed
        for name, followed in zip(full.details["instructions"], full.details["strict"], strict=True)
        if name == NAME
    ]
    correct = all(verdicts)
    outcome = full.outcome if full.outcome == "unparsed" else "correct" if correct else "wrong"
    return Verdict(correct, outcome, None, "forbidden_words", full.details)
