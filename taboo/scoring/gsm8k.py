"""GSM8K: the final number, compared exactly (paper section 3.3)."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.numerals import Number, numbers, plain, written
from taboo.scoring.text import answer_part

_ANSWER = re.compile(r"\banswer\**[ \t]*[:：]\**", re.IGNORECASE)
_STATEMENT = re.compile(
    r"####|\\boxed\b|\banswer(?:[ \t]+(?:is|was|equals|would[ \t]+be|will[ \t]+be|must[ \t]+be)\b|[ \t]*=)[ \t]*:?",
    re.IGNORECASE,
)
# From a number to the equals sign that it leads up to: `16 - 7 = 9`.
_EQUATION = re.compile(r"[0-9 \t.,$€£%()+\-*/x×÷·]*=[ \t]*")


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the gold answer can be read."""
    gold(item)


def gold(item: Mapping[str, Any]) -> Fraction:
    """The gold value: the number after the last `####`, or a bare number."""
    answer = item.get("answer")
    if not isinstance(answer, str):
        raise ScoreError(f"`answer` must be text, found {answer!r}")
    found = numbers(plain(answer.rsplit("####", 1)[-1]))
    if len(found) != 1 or found[0].value is None:
        raise ScoreError(f"`answer` must end in `####` and one number, found {answer[-40:]!r}")
    return found[0].value


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """Three readings of the text, up to the first invented next question.

    `correct` follows the paper: the first `Answer:` with a number behind it; else the first other statement of an answer (`####`, `\\boxed`, `the answer is`); else the last number. `details` has the strict reading, which takes the `Answer:` line alone, and the flexible one, which takes the last number whatever else is there.
    """
    target = gold(item)
    kept = plain(answer_part(text))
    found = numbers(kept)
    strict = _after(_ANSWER, kept, found)
    stated = strict or _after(_STATEMENT, kept, found)
    flexible = found[-1] if found else None
    chosen = stated or flexible
    rule = "answer_line" if strict else "statement" if stated else "last_number"
    correct = chosen is not None and chosen.value == target
    return Verdict(
        correct=correct,
        outcome="unparsed" if chosen is None else "correct" if correct else "wrong",
        extracted=_text(chosen, kept),
        rule="none" if chosen is None else rule,
        details={
            "strict": strict is not None and strict.value == target,
            "strict_extracted": _text(strict, kept),
            "flexible": flexible is not None and flexible.value == target,
            "flexible_extracted": _text(flexible, kept),
        },
    )


def disagreement(verdicts: Sequence[Verdict]) -> int:
    """How many texts the strict and the flexible reading judge differently."""
    return sum(verdict.details["strict"] != verdict.details["flexible"] for verdict in verdicts)


def _after(marker: re.Pattern[str], text: str, found: Sequence[Number]) -> Number | None:
    """The number that the first `marker` with a number on its line, or the line below, states."""
    for match in marker.finditer(text):
        end = _statement_end(text, match.end())
        inside = [number for number in found if match.end() <= number.start and number.end <= end]
        if inside:
            return _result(inside, text)
    return None


def _statement_end(text: str, start: int) -> int:
    """The end of the line at `start`; of the next one with text if the rest of this is empty."""
    while True:
        end = text.find("\n", start)
        if end < 0:
            return len(text)
        if text[start:end].strip(" \t*_$"):
            return end
        start = end + 1


def _result(inside: Sequence[Number], text: str) -> Number:
    """The first number, or the result of the calculation that starts with it."""
    result = inside[0]
    position = result.start
    while match := _EQUATION.match(text, position):
        following = [number for number in inside if number.start >= match.end()]
        if not following or following[0].start != match.end():
            break
        result, position = following[0], following[0].start
    return result


def _text(number: Number | None, text: str) -> str | None:
    if number is None:
        return None
    return text[number.start : number.end][:40] if number.value is None else written(number.value)
