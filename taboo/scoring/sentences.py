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
_END = re.compile(r"(?P<mark>[.!?…]+)[\"'”’)\]*_]*(?P<gap>\s+|\Z)(?P<next>[\"'“‘(\[*_]*\S?)")
_LAST_WORD = re.compile(r"[\w.]*\w\Z")


def count_sentences(text: str) -> int:
    """How many sentences there are.

    A sentence ends at `.`, `!`, `?` or `…` (with closing quotes and brackets) before white space or the end of the text, but not where a single full stop follows an abbreviation or an initial or precedes a small letter. Text after the last such end is one more sentence. Line breaks end none, and a lone list number (`1.`) is none.
    """
    count, start = 0, 0
    for match in _END.finditer(text):
        before = text[start : match.start()]
        if not _ends_sentence(before, match):
            continue
        if re.search(r"[^\W\d_]", before):
            count += 1
            start = match.end("gap")
    return count + bool(re.search(r"[^\W\d_]", text[start:]))


def _ends_sentence(before: str, match: re.Match[str]) -> bool:
    following = match["next"][-1:]
    if match["mark"] != "." or not following:
        return not (match["mark"] == "…" and following.islower())
    if following.islower():
        return False
    word = _LAST_WORD.search(before)
    last = word[0].lower() if word else ""
    is_initial = len(last) == 1 and last.isalpha() and word is not None and word[0].isupper()
    return "\n\n" in match["gap"] or not (last in _ABBREVIATIONS or is_initial)
