"""Read numbers out of text, exactly."""

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

_MAX_DIGITS = 400
_SCALES = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅜": "3/8"}
_VULGAR |= {"⅝": "5/8", "⅞": "7/8", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5", "⅙": "1/6"}
_MINUS = dict.fromkeys("−‒–—﹣－", "-")
# Spaces that group digits; an ordinary space does not.
_GROUPING = "\u00a0\u2007\u2009\u202f"

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)"
_NUMBER = re.compile(
    rf"""
    (?P<sign>(?<![A-Za-z0-9_)])[-+](?=[$€£]?\.?[0-9]))?  # a sign; in `16-7` and `x-7` none
    (?:[$€£](?P<inner>[-+](?=\.?[0-9]))?)?
    (?<![A-Za-z0-9_])
    (?:(?P<whole>{_DIGITS})(?:\.(?P<part>[0-9]+))?|(?<!\.)\.(?P<bare>[0-9]+))
    (?:e(?P<exponent>[-+]?[0-9]+)(?![A-Za-z0-9_]))?
    (?:\ (?P<mixed>[0-9]+/[0-9]+)(?![0-9/])|/(?P<under>[0-9]+)(?![0-9/]|\.[0-9]))?
    (?:[ ]?(?P<scale>hundred|thousand|million|billion|trillion)\b)?
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number in a text: its exact value (None where it has too many digits to be meant) and where it stands."""

    value: Fraction | None
    start: int
    end: int


def plain(text: str) -> str:
    """`text` with digits, minus signs, digit grouping and LaTeX numbers in ASCII, so that `numbers` can read it."""
    if not text.isascii():
        text = re.sub(rf"(?<=\d)[{_GROUPING}](?=\d{{3}}(?!\d))", ",", text)
        text = re.sub("[" + "".join(_VULGAR) + "]", lambda m: " " + _VULGAR[m[0]], text)
        text = "".join(map(_plain_character, text))
    if "\\" in text or "{,}" in text:
        text = text.replace("{,}", ",").replace("\\$", "$").replace("\\%", "%")
        text = re.sub(r"(?<=[0-9])\\[,!;:](?=[0-9]{3})", ",", text)
        text = re.sub(r"\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\}", r"\1/\2", text)
        text = re.sub(r"\\(?:text|mathrm|mathbf|textbf)\{", "{", text)
    return text


def numbers(text: str) -> list[Number]:
    """The numbers of a `plain` text, in order."""
    return [_number(match) for match in _NUMBER.finditer(text)]


def written(value: Fraction) -> str:
    """A value as text: `18`, `-2.5`, or `1/3` where no decimal is exact."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return ("-" if value < 0 else "") + digits[:-places] + "." + digits[-places:]


def _plain_character(character: str) -> str:
    if character.isascii():
        return character
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    if character in _MINUS:
        return _MINUS[character]
    if "\uff01" <= character <= "\uff5e":  # full-width punctuation and letters
        return chr(ord(character) - 0xFEE0)
    return " " if character.isspace() else character


def _number(match: re.Match[str]) -> Number:
    start = match.start()
    if match["under"] and match.string[start - 1 : start] == "/":  # the end of a date, 3/4/2025
        return Number(_integer(match["under"]), match.start("under"), match.end())
    return Number(_value(match), start, match.end())


def _integer(digits: str) -> Fraction | None:
    return Fraction(int(digits)) if len(digits) <= _MAX_DIGITS else None


def _value(match: re.Match[str]) -> Fraction | None:
    exponent = match["exponent"] or "0"
    if match.end() - match.start() > _MAX_DIGITS or abs(int(exponent)) > _MAX_DIGITS:
        return None  # the end of a repetition loop, not a number that anyone means
    part = match["part"] or match["bare"] or ""
    value = Fraction(int((match["whole"] or "0").replace(",", "") + part), 10 ** len(part))
    value *= Fraction(10) ** int(exponent)
    if match["mixed"]:
        over, under = map(int, match["mixed"].split("/"))
        if under == 0:
            return None
        value += Fraction(over, under)
    if match["under"]:
        if int(match["under"]) == 0:
            return None
        value /= int(match["under"])
    value *= _SCALES.get((match["scale"] or "").lower(), 1)
    return -value if "-" in (match["sign"] or "", match["inner"] or "") else value
