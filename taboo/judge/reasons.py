"""Why judge and scorer disagree, where a rule can tell."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from taboo.scoring import gsm8k, mmlu, triviaqa
from taboo.scoring.numerals import numbers, plain
from taboo.scoring.text import answer_part, without_end_marker

REASONS = ("unit", "run-on question", "formatting", "cut off")

# Cents in a dollar, grams in a kilogram, and so on: the right amount in another unit.
_FACTORS = (100, 1000, 60, 3600, 24, 12, 7)
# Rules of the scorers that read an answer which the text does not state as such.
_INDIRECT = frozenset({"last_number", "marked", "named", "first_sentence"})
_SCORERS = {"gsm8k": gsm8k, "mmlu": mmlu, "triviaqa": triviaqa}


def disagreement_reason(row: Mapping[str, Any]) -> str:
    """The first reason that holds for a generation on which judge and scorer disagree, else nothing.

    - `unit`: the scorer read the right amount in another unit (GSM8K).
    - `run-on question`: the text goes on with a question of its own, and its answer to that one, taken for the answer, would give the judge's verdict (paper section 3.3).
    - `formatting`: the right answer is in the text, but the scorer read another or none; or the scorer read the right one although the text does not state it as its answer.
    - `cut off`: the text ran to its budget before it stated an answer.

    `row` has `task`, `item`, `text`, `finish_reason`, `scorer`, `extracted`, `rule` and `judge`.
    """
    task, item, text, judged_right = row["task"], row["item"], row["text"], row["judge"] == "right"
    answer = answer_part(text)
    if judged_right and task == "gsm8k" and _other_unit(item, row["extracted"]):
        return "unit"
    for later in _later_answers(text, answer):
        verdict = _SCORERS[task].score_text(item, later)
        if verdict.extracted is not None and verdict.correct == judged_right:
            return "run-on question"
    if judged_right and _CONTAINED[task](item, answer):
        return "formatting"
    if not judged_right and row["rule"] in _INDIRECT:
        return "formatting"
    if row["finish_reason"] == "length" and (row["extracted"] is None or row["rule"] in _INDIRECT):
        return "cut off"
    return ""


def _later_answers(text: str, answer: str) -> Iterator[str]:
    """What stands behind the answer, from each invented question to the next."""
    rest = without_end_marker(text)[len(answer) :].lstrip()
    while rest:
        part = answer_part(rest)
        yield part
        rest = rest[len(part) :].lstrip()


def _other_unit(item: Mapping[str, Any], extracted: str | None) -> bool:
    found = [number.value for number in numbers(plain(extracted or ""))]
    right = gsm8k.gold(item)
    if len(found) != 1 or not found[0] or not right:
        return False
    ratio = found[0] / right
    return ratio in _FACTORS or 1 / ratio in map(Fraction, _FACTORS)


def _number_inside(item: Mapping[str, Any], answer: str) -> bool:
    return any(number.value == gsm8k.gold(item) for number in numbers(plain(answer)))


def _choice_inside(item: Mapping[str, Any], answer: str) -> bool:
    letter = mmlu.gold(item)
    words = item["choices"]["ABCDEFGHIJ".index(letter)].strip()
    return bool(re.search(rf"(?<!\w){letter}(?!\w)", answer)) or (
        words.casefold() in answer.casefold()
    )


def _name_inside(item: Mapping[str, Any], answer: str) -> bool:
    shown = f" {triviaqa.normalise(answer)} "
    names = [item["answer"]["value"], *item["answer"].get("aliases", [])]
    return any(f" {triviaqa.normalise(name)} " in shown for name in names)


_CONTAINED = {"gsm8k": _number_inside, "mmlu": _choice_inside, "triviaqa": _name_inside}
