"""MMLU: the first letter that the answer states (paper section 3.3)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.text import answer_part

_LETTERS = "ABCDEFGHIJ"
_MANY_UNPARSED = 0.2
# What may stand before a letter that is set apart: spaces, quotes, brackets, emphasis, LaTeX.
_OPEN = r"(?:\\boxed\{|\\text(?:bf)?\{|\\\(|[\s(\[{*_\"'“‘`$.…:,;-])*"
# No word, hyphen, apostrophe, slash or the like goes on from the letter, and it is not ruled out.
_RULED_OUT = r"[)\]*.]*[ \t]+(?:is|was|are)[ \t]+(?:not|wrong|incorrect|false)\b"
_APART = rf"(?![\w+#&/-]|[’'][a-zA-Z]|\.\w|{_RULED_OUT})"
_NO_WORD = r"(?![ \t]+[^\W\d_])"
_VERDICT = r"is[ \t]+(?:the[ \t]+)?(?:correct|right|true|best|answer)"
_REASON = rf"(?=[ \t]+(?:because|since|as|{_VERDICT})\b|[ \t]+(?:or|and)[ \t]+[A-J]\b)"
_IS = r"(?:is|was|(?:would|should|must|might|may|could|will)[ \t]+be|seems[ \t]+to[ \t]+be)\b"
# Words that announce the answer.
_MARKER = (
    rf"\b(?:answer|choice|option|letter)(?:[ \t]+{_IS}|[ \t]*+[*_]*+[ \t]*+[:=])"
    r"(?:[ \t]*(?:the[ \t]+)?(?:option|choice|letter|answer)\b)?:?"
)
# Words right after which a capital letter on its own is a choice.
_LEAD = r"(?:\b(?:is|be|choose|chose|pick|select|with|option|choice|letter|answer)|[’']s)[ \t]+"


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the item has choices and an answer among them."""
    gold(item)


def gold(item: Mapping[str, Any]) -> str:
    """The letter of the right choice; `answer` is its position from 0, or the letter itself."""
    choices, answer = item.get("choices"), item.get("answer")
    if not isinstance(choices, Sequence) or not 2 <= len(choices) <= len(_LETTERS):
        raise ScoreError(f"`choices` must be a list of 2 to {len(_LETTERS)} texts")
    letters = _LETTERS[: len(choices)]
    if isinstance(answer, str) and len(answer) == 1 and answer.upper() in letters:
        return answer.upper()
    if type(answer) is not int or not 0 <= answer < len(letters):
        raise ScoreError(
            f"`answer` must be 0 to {len(letters) - 1} or {letters[0]} to {letters[-1]}, found {answer!r}"
        )
    return letters[answer]


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """The first of these that there is, up to the first invented next question:

    1. `leading`: the text starts with a letter that is set apart (`B`, `b)`, `(D)`, `**C**`, `B. 4`, `C because`).
    2. `stated`: a letter after `answer:`, `the answer is`, `option is` or the like.
    3. `enclosed`: a letter in brackets or emphasis of its own, `(D)` or `**C**`.
    4. `named`: a capital letter, or a small one in brackets, after `is`, `choose`, `option` and the like, or a capital before `because`, `since`, `is correct`.

    A letter that is ruled out (`B is wrong`) is not stated. `A` followed by a word is the article (so is `I` the pronoun), unless a reason or verdict follows (`A because …`). No letter: the outcome is `unparsed`.
    """
    target = gold(item)
    letter, rule = _read(answer_part(text), _LETTERS[: len(item["choices"])])
    correct = letter == target
    outcome = "unparsed" if letter is None else "correct" if correct else "wrong"
    return Verdict(correct, outcome, letter, rule)


def cell_warnings(verdicts: Sequence[Verdict]) -> list[str]:
    """What is suspicious about a cell: nothing right at all, or many texts without a letter."""
    found = []
    if verdicts and not any(verdict.correct for verdict in verdicts):
        found.append(f"accuracy is exactly 0 over {len(verdicts)} items; guessing gives 0.25")
    unparsed = sum(verdict.outcome == "unparsed" for verdict in verdicts)
    if unparsed > _MANY_UNPARSED * len(verdicts):
        found.append(f"{unparsed} of {len(verdicts)} texts state no letter")
    return found


def _read(text: str, letters: str) -> tuple[str | None, str]:
    for rule, pattern in _rules(letters):
        if match := pattern.search(text):
            return match[match.lastgroup or "letter"].upper(), rule
    return None, "none"


@cache
def _rules(letters: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The rules of `score_text` for choices with these letters, in their order."""
    words = "[" + "".join(set(letters) & {"A", "I"}) + "]"
    names = "[" + letters.translate({ord("A"): None, ord("I"): None}) + "]"
    capital = rf"{names}{_APART}|{words}{_APART}(?:{_NO_WORD}|{_REASON})"
    letter = rf"(?P<letter>{capital}|[{letters.lower()}]{_APART}{_NO_WORD})"
    lone = rf"(?P<letter>{names}{_APART}|{words}{_APART}{_NO_WORD})"
    enclosed = rf"(?:\(|\*\*|\\boxed\{{(?:\\text\{{)?)(?P<letter>[{letters}])(?!{_RULED_OUT})(?:[.)]|\*\*|\}})"
    small = rf"\((?P<small>[{letters.lower()}])\)(?!{_RULED_OUT})"
    before = rf"(?<![\w'’-])(?P<before>[{letters}])(?=[ \t]+(?:because|since|{_VERDICT})\b)"
    return (
        ("leading", re.compile(rf"\A{_OPEN}{letter}")),
        ("stated", re.compile(rf"(?i:{_MARKER}){_OPEN}{letter}")),
        ("enclosed", re.compile(enclosed)),
        ("named", re.compile(rf"(?i:{_LEAD})(?:{lone}|{small})|{before}")),
    )
