"""TriviaQA: exact match with the alias set after normalisation (paper section 3.3)."""

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.text import answer_part

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_LEAD = re.compile(
    r"\A\W*(?:(?:the|my)\s+)?(?:(?:final|correct)\s+)?answer\s*(?:is\b\s*:?|:)\s*", re.I
)
# Where an explanation may start: after a sentence, in brackets, after a spaced dash, after a comma
# with a word that explains. A comma alone may be part of a name (`Paris, Texas`).
_EXPLANATION = re.compile(
    r"[.!?;](?=\s)|(?<!\s)\s++(?:[(\[]|[–—-]++\s)"
    r"|,\s+(?:who|whose|which|where|when|because|since|as|a|an|the|also)\b"
)
# Not after these: initials at the start, dotted and other abbreviations (`J. K.`, `U.S.`, `St.`).
_ABBREVIATED = re.compile(
    r"(?:\A\W*[^\W\d]|\w\.\w|\b(?:st|mr|mrs|ms|dr|mt|ft|no|vs|sgt|lt|col|gen))\Z", re.I
)
_MOST_EXPLANATIONS = 5


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the item has an answer to compare with."""
    if not _answers(item):
        raise ScoreError("`answer` has neither a `value` nor `aliases`")


def normalise(text: str) -> str:
    """SQuAD's normal form: lower case, no punctuation, no articles, single spaces.

    Punctuation is everything that Unicode calls so. Where nothing but articles is left (`A`, `The The`) they stay, and where nothing but punctuation is, the punctuation: the normal form of a text is empty only if the text is blank.
    """
    return _normal(text, "")


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """Exact match of the answer with the full alias set; never part of it, never empty.

    The answer is the first line with text, up to the first invented next question, without a leading `The answer is`. If the line as a whole is no alias, what stands before an explanation is compared too (`Mark Twain. He wrote …`, `Paris (France)`, `Paris, the capital of …`). A hyphen or other mark may count as nothing (SQuAD's rule) or as a space (TriviaQA's): `Spider-Man` equals both `spiderman` and `spider man`.
    """
    golds = set().union(*map(_forms, _answers(item)))
    lines = answer_part(text).split("\n")
    line = next((line.strip() for line in lines if line.strip()), "")
    line = _LEAD.sub("", line).strip() or line
    for candidate in (line, *_before_explanations(line)):
        if _forms(candidate) & golds:
            rule = "line" if candidate == line else "before_explanation"
            return Verdict(True, "correct", candidate, rule)
    if not line:
        return Verdict(False, "unparsed", None, "none")
    return Verdict(False, "wrong", line, "line")


def _before_explanations(line: str) -> list[str]:
    ends = [match.start() for match in _EXPLANATION.finditer(line)][:_MOST_EXPLANATIONS]
    starts = [line[:end] for end in ends if line[end] != "." or not _is_abbreviated(line, end)]
    return [start for text in starts if (start := text.strip())]


def _is_abbreviated(line: str, end: int) -> bool:
    return _ABBREVIATED.search(line, 0, end) is not None


def missing_golds(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """The ids of items whose gold `value` is not in their alias set after normalisation.

    They are scored against the value all the same.
    """
    found = []
    for item in items:
        answer = item["answer"]
        aliases = [*answer.get("aliases", ()), *answer.get("normalized_aliases", ())]
        if not _forms(answer["value"]) & set().union(*map(_forms, aliases)):
            found.append(str(item.get("item_id", item.get("question_id"))))
    return found


def _answers(item: Mapping[str, Any]) -> list[str]:
    answer = item.get("answer")
    if not isinstance(answer, Mapping):
        raise ScoreError(f"`answer` must have `value` and `aliases`, found {answer!r}")
    texts = [answer.get("value"), answer.get("normalized_value")]
    texts += [*answer.get("aliases", ()), *answer.get("normalized_aliases", ())]
    return [text for text in texts if text]


def _forms(text: str) -> set[str]:
    return {_normal(text, ""), _normal(text, " ")} - {""}


def _normal(text: str, mark: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        marks = {char for char in text if unicodedata.category(char).startswith("P")}
        table = _ASCII_MARKS[mark] | {ord(char): mark for char in marks}
    else:
        table = _ASCII_MARKS[mark]
    text = text.casefold()
    bare = text.translate(table)
    short = " ".join(_ARTICLES.sub(" ", bare).split())
    return short or " ".join(bare.split()) or " ".join(text.split())


_ASCII_MARKS: dict[str, dict[int, str]] = {
    mark: {ord(char): mark for char in string.punctuation} for mark in ("", " ")
}
