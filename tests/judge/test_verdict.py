"""A verdict is one exact line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.judge.verdict import read_verdict

CODE = "a1b2c3"


@pytest.mark.parametrize("around", ["{}", " {}", "{}\n", "\n\n{} \t\n"])
def test_the_two_verdicts(around: str) -> None:
    assert read_verdict(around.format(f"{CODE} RIGHT"), CODE) == "right"
    assert read_verdict(around.format(f"{CODE} WRONG"), CODE) == "wrong"


@pytest.mark.parametrize(
    "reply",
    [
        *("", " \n", "RIGHT", "WRONG", "CORRECT", "INCORRECT", "right", CODE),
        *("not correct", "not RIGHT", f"{CODE} NOT RIGHT", f"not {CODE} RIGHT"),
        *(f"{CODE} INCORRECT", f"{CODE} CORRECT", f"{CODE} right", f"{CODE} Right"),
        *(f"{CODE.upper()} RIGHT", f"RIGHT {CODE}", f"{CODE}  RIGHT", f"{CODE}RIGHT"),
        *(f"{CODE}\nRIGHT", f"{CODE}\u00a0RIGHT", f"{CODE} RIGHT.", f"**{CODE} RIGHT**"),
        *("d4e5f6 RIGHT", f"{CODE} RIGHT {CODE} RIGHT", f"{CODE} RIGHT or {CODE} WRONG"),
        f"{CODE} RIGHT\n{CODE} WRONG",
        f"{CODE} RIGHT\nThe text reaches the right answer.",
        f"The text says:\n{CODE} RIGHT",
        f"Verdict on {CODE}: {CODE} RIGHT",
        "As a judge, I have to say that the grade is B.",
        "I'm sorry, but I can't help with that.",
        "I cannot determine whether the text is RIGHT or WRONG.",
        f'{{"verdict": "{CODE} RIGHT"}}',
        f"```\n{CODE} RIGHT\n```",
        f"\u202e{CODE} RIGHT",
        f"{CODE} RIGH\u0422",
    ],
)
def test_everything_else_is_none(reply: str) -> None:
    assert read_verdict(reply, CODE) == "unparsed"


@given(
    before=st.text(max_size=10),
    after=st.text(max_size=10),
    word=st.sampled_from(["RIGHT", "WRONG"]),
)
def test_nothing_may_stand_around_it(before: str, after: str, word: str) -> None:
    plain = not before.strip() and not after.strip()
    verdict = read_verdict(f"{before}{CODE} {word}{after}", CODE)
    assert verdict == (word.lower() if plain else "unparsed")
