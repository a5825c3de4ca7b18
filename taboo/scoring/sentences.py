"""Count the sentences of an English text."""

import re

# A full stop after these ends no sentence, unless a new paragraph follows.
_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "sr",
        "jr",
        "st",
        "rev",
        "gen",
        "col",
        "lt",
        "capt",
        "sgt",
        "hon",
        "gov",
        "pres",
        "rep",
        "sen",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "cf",
        "al",
        "no",
        "vol",
        "fig",
        "eq",
        "ed",
        "eds",
        "pp",
        "dept",
        "inc",
        "ltd",
        "co",
        "corp",
        "ave",
        "blvd",
        "rd",
        "approx",
        "est",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sept",
        "sep",
        "oct",
        "nov",
        "dec",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "u.s",
        "u.k",
        "u.n",
        "d.c",
        "a.m",
        "p.m",
        "ph.d",
    ]
)
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’)\]*_]*+(?P<gap>\s++|\Z)[\"'“‘(\[*_]*+(?P<next>\S?)"
)
_LAST_WORD = re.compile(r"[\w.]*\w\Z")
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_WORD = 40


def count_sentences(text: str) -> int:
    """How many sentences there are.

    A sentence ends at `.`, `!`, `?` or `…` (with closing quotes and brackets) before white space or the end of the text; not where a single full stop follows an abbreviation or an initial, unless a paragraph ends there, nor where dots precede a small letter. Text after the last such end is one more sentence. Without a letter there is no sentence, so a list number (`1.`) is none. Line breaks end none.
    """
    count, position, letters = 0, 0, False
    for match in _END.finditer(text):
        letters = letters or _LETTER.search(text, position, match.start()) is not None
        position = match.end("gap")
        if letters and _ends_sentence(text, match):
            count, letters = count + 1, False
    return count + (letters or _LETTER.search(text, position) is not None)


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark = match["mark"]
    if mark != ".":
        return not (set(mark) <= {".", "…"} and match["next"].islower())
    if not match["next"] or "\n\n" in match["gap"]:
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
    if word is None:
        return True
    is_initial = len(word[0]) == 1 and word[0].isupper()
    return not (is_initial or word[0].lower() in _ABBREVIATIONS)
