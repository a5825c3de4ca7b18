"""Which letter a text states."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.scoring import ScoreError, ScoreWarning, score
from taboo.scoring.mmlu import cell_warnings, gold, score_text

ITEM = {"question": "?", "choices": ["w", "x", "y", "z"], "answer": 1}

LEADING = {
    "B": "B",
    " B": "B",
    "\n\nB": "B",
    "b": "B",
    "b)": "B",
    "b. 4": "B",
    "d": "D",
    "a": "A",
    "A": "A",
    "A.": "A",
    "A. 4": "A",
    "A) a dog": "A",
    "A: a dog": "A",
    "A\nBecause": "A",
    "A, of course": "A",
    "B. 4": "B",
    "B) 4": "B",
    "(D)": "D",
    "(d) it": "D",
    "[D]": "D",
    "**C**": "C",
    "**C.** Iron": "C",
    "*C*": "C",
    "`C`": "C",
    '"C"': "C",
    "“C”": "C",
    "$C$": "C",
    r"\boxed{C}": "C",
    r"$\boxed{\text{C}}$": "C",
    r"\(C\)": "C",
    "C because I computed": "C",
    "…C because I computed": "C",
    "C since it is": "C",
    "A because it is": "A",
    "A is correct": "A",
    "A or B": "A",
    "C 4": "C",
    "C — a safe choice": "C",
    "B\n\nQuestion: Which?\nA. x\nAnswer: C": "B",
    "B<|im_end|>C": "B",
}
STATED = {
    "The answer is B because a car moves.": "B",
    "The answer is B. Note that A is a common distractor.": "B",
    "The answer is C because I computed the integral.": "C",
    "The correct answer is (D).": "D",
    "The correct answer is: **D**": "D",
    "The correct option is A": "A",
    "The answer would be option C": "C",
    "The answer might be C. Also a dog.": "C",
    "Answer seems to be A.\n\nAnswer: B": "A",
    "ANSWER: B": "B",
    "ANSWER IS D. A is incorrect.": "D",
    "answer: b": "B",
    "the answer is a": "A",
    "The answer is a. It": "A",
    "**Answer:** B": "B",
    "**Answer**: (B)": "B",
    "Answer:\n\nB": "B",
    "Let us see.\nAnswer: A because": "A",
    "We think. The letter is C": "C",
    r"The answer is $\boxed{B}$.": "B",
}
ENCLOSED = {
    "It looks like (C) to me": "C",
    "Iron, so **D**": "D",
    r"Hence \boxed{A}": "A",
    r"Hence \boxed{\text{A}} it is": "A",
    "The metal among them (B. Iron)": "B",
}
NAMED = {
    "Answer: A bird is B": "B",
    "I would pick B — a safe choice.": "B",
    "I choose C": "C",
    "We go with D, then": "D",
    "Option C": "C",
    "It's B": "B",
    "It is A.": "A",
    "I think C because I computed": "C",
    "Here A is the correct one": "A",
    "Option (b)": "B",
    "I choose (d).": "D",
    "Option (B) is wrong, so I pick C": "C",
}
NONE = [
    "",
    " \n",
    "A perfect answer cannot be found.",
    "a car",
    "A car",
    "The answer is a car",
    "The answer is A car",
    "Answer: Antwort",
    "Vitamin C is good",
    "B-52",
    "B is wrong",
    "(B) is wrong",
    "**B** is not it",
    "Option (b) is incorrect",
    "I think A is false.",
    "B/C",
    "C++",
    "C#",
    "B's",
    "D'accord",
    "B.C. 500",
    "ABCD",
    "Banana",
    "E",
    "The answer is E",
    "The answer is not B",
    "42",
    "It is I",
    "Hepatitis B and plan B",
    "\n\nQuestion: Which?\nAnswer: C",
]


@pytest.mark.parametrize(
    ("rule", "text", "letter"),
    [
        (rule, text, letter)
        for rule, cases in (
            ("leading", LEADING),
            ("stated", STATED),
            ("enclosed", ENCLOSED),
            ("named", NAMED),
        )
        for text, letter in cases.items()
    ],
)
def test_the_letter_and_the_rule_that_found_it(rule, text, letter):
    verdict = score_text(ITEM, text)
    assert (verdict.extracted, verdict.rule) == (letter, rule)
    assert verdict.correct == (letter == "B")
    assert verdict.outcome == ("correct" if letter == "B" else "wrong")


@pytest.mark.parametrize("text", NONE)
def test_no_letter_is_an_outcome_of_its_own(text):
    verdict = score_text(ITEM, text)
    assert (verdict.correct, verdict.outcome, verdict.extracted) == (False, "unparsed", None)
    assert verdict.rule == "none"


def test_ten_choices_and_the_pronoun():
    item = {"choices": list("abcdefghij"), "answer": "I"}
    assert score_text(item, "I think it is C because I computed").extracted == "C"
    assert score_text(item, "The answer is C because I computed the integral.").extracted == "C"
    assert score_text(item, "I").correct
    assert score_text(item, "(I)").correct
    assert score_text(item, "I would say so").outcome == "unparsed"


@given(st.sampled_from("ABCD"), st.sampled_from([" {}", "{}.", "({})", "**{}**", "Answer: {}"]))
def test_each_letter_is_read_alike(letter, form):
    assert score_text(ITEM, form.format(letter)).extracted == letter


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text):
    verdict = score_text(ITEM, text)
    assert verdict == score_text(ITEM, text)
    assert (verdict.extracted is None) == (verdict.outcome == "unparsed")
    assert verdict.extracted is None or verdict.extracted.lower() in text.lower()


def test_long_loops_are_read_fast():
    for text in (
        "( " * 50_000,
        "answer is " * 10_000,
        "**" * 50_000,
        "A a " * 20_000,
        "\\text{" * 9999,
    ):
        assert score_text(ITEM, text).outcome == "unparsed"


def test_gold():
    assert gold(ITEM) == "B"
    assert gold({**ITEM, "answer": "d"}) == "D"
    for answer in (4, -1, "E", None, True, "", "AB", 1.0):
        with pytest.raises(ScoreError, match="answer"):
            gold({**ITEM, "answer": answer})
    for choices in (None, ["x"], ["x"] * 11):
        with pytest.raises(ScoreError, match="choices"):
            gold({**ITEM, "choices": choices})


def test_a_suspicious_cell_warns():
    with pytest.warns(ScoreWarning, match="mmlu: accuracy is exactly 0 over 5 items"):
        score("mmlu", [ITEM] * 5, ["A"] * 5)
    with pytest.warns(ScoreWarning, match="mmlu: 2 of 5 texts state no letter"):
        score("mmlu", [ITEM] * 5, ["B", "B", "B", "?", "?"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(score("mmlu", [ITEM] * 5, ["B", "B", "B", "A", "?"])) == 5
        assert score("mmlu", [], []) == []
    assert len(cell_warnings([score_text(ITEM, "?")] * 3)) == 2
