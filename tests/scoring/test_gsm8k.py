"""Which number is read out of a text, and what it equals."""

import json
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.scoring import ScoreError, score
from taboo.scoring.gsm8k import disagreement, gold, score_text
from taboo.scoring.numerals import numbers, plain, written


def read(text, answer="#### 1"):
    return score_text({"answer": answer}, text)


# How a number may be written at the end of a text, and its value.
FORMS = {
    "$29.00.": "29",
    "$29.00": "29",
    "100,000": "100000",
    "70,000": "70000",
    "1,234,567.50": "1234567.5",
    "8,000": "8000",
    r"\boxed{8,000}": "8000",
    r"\boxed{$9{,}500}": "9500",
    r"\boxed{\$9{,}500}": "9500",
    r"$9\,500$": "9500",
    r"\boxed{\frac{1}{2}}": "0.5",
    r"\(\dfrac{3}{4}\)": "0.75",
    "#### -3": "-3",
    "####18": "18",
    "#### $1,000": "1000",
    "1/2": "0.5",
    "2 1/2": "2.5",
    "1½": "1.5",
    "¾": "0.75",
    "1/3": "1/3",
    "5.": "5",
    "5..": "5",
    "5...": "5",
    "5,": "5",
    "5!": "5",
    "(5)": "5",
    "[5]": "5",
    "**5**": "5",
    "*5*": "5",
    "`5`": "5",
    "$5$": "5",
    '"5"': "5",
    "5 dollars": "5",
    "5 dollars, in all": "5",
    "5dollars": "5",
    "5th": "5",
    "5%": "5",
    "5 %": "5",
    "€5": "5",
    "£5.50": "5.5",
    "$.50": "0.5",
    ".5": "0.5",
    "0.50": "0.5",
    "007": "7",
    "+5": "5",
    "-3": "-3",
    "−3": "-3",
    "–3": "-3",
    "-$3": "-3",
    "$-3": "-3",
    "-1,000": "-1000",
    "1e3": "1000",
    "1.5E2": "150",
    "2e-1": "0.2",
    "$1.5 million": "1500000",
    "3 thousand": "3000",
    "2 Billion": "2000000000",
    "1\u00a0000": "1000",
    "1\u2009234\u2009567": "1234567",
    "12\u202f500": "12500",
    "18\u00a0dollars": "18",
    "１８": "18",
    "１，０００": "1000",
    "＄１８": "18",
    "١٨": "18",
    "x = 5": "5",
    "x=5": "5",
    "16 - 7": "7",
    "16-7": "7",
    "3-5": "5",
    "(2)-3": "3",
    "3/4/2025": "2025",
    "10²": "10",
    "1,2": "2",
    "1, 2 and 3": "3",
    "12,34": "34",
    "12:30": "30",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_number_at_the_end(form):
    verdict = read(f"So she has {form}", f"#### {FORMS[form]}")
    assert (verdict.correct, verdict.extracted) == (True, FORMS[form])


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("1, 2 and 3",)])
def test_a_number_on_the_answer_line(form):
    """The first number of the line, so lists and differences are read from their beginning."""
    verdict = read(f"That is 999.\nAnswer: {form}")
    first = {"16 - 7": "16", "16-7": "16", "3-5": "3", "(2)-3": "2", "1,2": "1", "12,34": "12"}
    first |= {"12:30": "12", "3/4/2025": "3"}
    assert (verdict.extracted, verdict.rule) == (first.get(form, FORMS[form]), "answer_line")


# Whole texts: what is read, and by which rule.
TEXTS = {
    "The answer is 72, in total, so 3 of them are left.": ("72", "statement"),
    "The answer is 72, in total, so all is well.": ("72", "statement"),
    "The total is 72 clips, altogether.": ("72", "last_number"),
    "3 + 4 = 7\nAnswer: 7": ("7", "answer_line"),
    "Answer: 18 (see step 2)": ("18", "answer_line"),
    "Step 1: 3. Step 2: 18.\nAnswer: 18 (see step 2)": ("18", "answer_line"),
    "Answer: 16 - 7 = 9": ("9", "answer_line"),
    "Answer: 16 - 7 = 9 eggs, not 10": ("9", "answer_line"),
    "Answer: 2 * 3 = 6 + 1 = 7": ("7", "answer_line"),
    "Answer: $18 (since x = 2)": ("18", "answer_line"),
    "Answer: Tom has 5 + 13 = 18 dollars": ("18", "answer_line"),
    "Answer:\n18": ("18", "answer_line"),
    "Answer:\n\n**18**\n\nBecause of 3.": ("18", "answer_line"),
    "**Answer:** 18": ("18", "answer_line"),
    "**Answer**: 18": ("18", "answer_line"),
    "Final answer: 18": ("18", "answer_line"),
    "ANSWER: 18": ("18", "answer_line"),
    "Answer： 18": ("18", "answer_line"),
    "Answer: eighteen\nSo 18.": ("18", "last_number"),
    "Answer: 18\nAnswer: 19": ("18", "answer_line"),
    "9 * 2 = 18. Answer: 18\n\nQuestion: Tom has 3.\nAnswer: 7": ("18", "answer_line"),
    "Answer: 18\n\nQuestion: Tom has 3 and 4.\nReasoning: 3 + 4 = 7.\nAnswer: 7": (
        "18",
        "answer_line",
    ),
    "She has 18.\n\nQuestion: Tom has 3.\nAnswer: 7": ("18", "last_number"),
    "She has 18.\nQuestion: Tom has 3.\nAnswer: 7": ("18", "last_number"),
    "She has 18.\n\n**Question:** Tom has 3.\nAnswer: 7": ("18", "last_number"),
    "She has 18.\n\nQuestion 2: Tom has 3.\nAnswer: 7": ("18", "last_number"),
    "She has 18.\n\nQ: Tom has 3.\nA: 7": ("18", "last_number"),
    "She has 18.<|endoftext|>And 7": ("18", "last_number"),
    "She has 18.</s>7": ("18", "last_number"),
    "The Question: how many? 9 * 2 = 18": ("18", "last_number"),
    "To answer the Question: we add 9 and 9.\nAnswer: 18": ("18", "answer_line"),
    "Question: how many? 9 * 2 = 18.\nAnswer: 18": ("18", "answer_line"),
    "A Question:\nhow many? 9 * 2 = 18.": ("18", "last_number"),
    "#### 18\nThat is 3 less.": ("18", "statement"),
    r"So $\boxed{18}$ of the 20.": ("18", "statement"),
    "The answer is $18. The other 7 are gone.": ("18", "statement"),
    "The answer is: 18 of 20": ("18", "statement"),
    "The answer is not 5 but the answer is 7": ("5", "statement"),
    "The answer is 3 x 6 = 18 eggs for 2": ("18", "statement"),
    "Step2 and v3 are no numbers, 4 is": ("4", "last_number"),
    "": (None, "none"),
    "   \n ": (None, "none"),
    "no number at all": (None, "none"),
    ",": (None, "none"),
    "Answer: ,": (None, "none"),
    "\n\nQuestion: Tom has 3.\nAnswer: 7": (None, "none"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_rule_for_a_text(text):
    verdict = read(text)
    assert (verdict.extracted, verdict.rule) == TEXTS[text]
    assert verdict.outcome == ("unparsed" if TEXTS[text][0] is None else "wrong")


def test_comparison_is_exact():
    assert not read("Answer: 114200", "#### 114201").correct
    assert not read("Answer: 0.30000000000000001", "#### 0.3").correct
    assert read("Answer: 0.30", "#### 0.3").correct
    big = "1" + "0" * 60
    assert not read(f"Answer: {big}", f"#### {big[:-1]}1").correct
    assert read(f"Answer: {big}.0", f"#### {big}").correct
    assert not read("Answer: 33.3", "#### 100/3").correct
    assert read("Answer: 100/3", "#### 100/3").correct


def test_strict_and_flexible_are_both_recorded():
    both = read("Answer: 1").details
    assert both["strict"]
    assert both["flexible"]
    neither = read("Answer: 2").details
    assert not neither["strict"]
    assert not neither["flexible"]
    flexible = read("She has 1.")
    assert flexible.correct
    assert flexible.details["flexible"]
    assert not flexible.details["strict"]
    strict = read("Answer: 1 (of 2)")
    assert strict.correct
    assert strict.details["strict"]
    assert not strict.details["flexible"]
    assert strict.details["strict_extracted"] == "1"
    assert strict.details["flexible_extracted"] == "2"
    assert disagreement([flexible, strict, read("Answer: 1"), read("Answer: 2")]) == 2


def test_what_is_in_no_reading_a_number_of_the_text():
    """The verdict only ever names a number that is written in the text before the cut."""
    text = "3 apples and 4 pears\n\nQuestion: 99 bottles?\nAnswer: 98"
    assert read(text).extracted == "4"


@pytest.mark.parametrize(
    "text",
    [
        "9" * 100_000,
        "1," * 50_000,
        "1/" * 50_000,
        "-" * 100_000 + "1",
        "1e" + "9" * 5000,
        "0." + "3" * 5000,
        "1/0",
        "Answer: " * 20_000,
        "Answer: 1 + " * 10_000,
        "= 1 " * 30_000,
        "\n" * 100_000,
        "\nq" * 50_000,
        "\n*" * 50_000,
        "$" * 100_000,
        "1 " * 50_000,
        "the answer is " * 10_000,
    ],
    ids=lambda text: f"{text[:8]!r}...",
)
def test_repetition_loops_are_read_fast(text):
    started = time.perf_counter()
    verdict = read(text)
    assert time.perf_counter() - started < 10
    assert verdict.extracted is None or len(verdict.extracted) <= 400


@given(st.text(max_size=300))
def test_any_text_gets_a_verdict_that_json_can_hold(text):
    verdict = read(text)
    assert verdict == read(text)
    json.dumps(verdict.details)
    assert verdict.outcome in ("correct", "wrong", "unparsed")


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9
    )
)
def test_a_number_is_read_as_what_was_written(value):
    for form in (f"{value}", f"{value:,}", f"${abs(value):,}"):
        expected = abs(value) if form.startswith("$") else value
        assert [number.value for number in numbers(plain(f"It is {form}."))] == [Fraction(expected)]


@given(st.fractions(max_denominator=1000))
def test_written_numbers_read_back(value):
    assert numbers(written(value))[0].value == value


def test_every_gold_answer_parses(benchmarks):
    lines = (benchmarks / "gsm8k" / "test.jsonl").read_bytes().split(b"\n")
    items = [json.loads(line) for line in lines if line]
    assert len(items) == 1319
    for item in items:
        value = gold(item)
        assert written(value).replace(".", "").replace("-", "").isdigit()
        assert read(f"Answer: {written(value)}", item["answer"]).correct
        assert read(item["answer"], item["answer"]).correct  # the reference solution itself
    assert all(verdict.correct for verdict in score("gsm8k", items, [i["answer"] for i in items]))


@pytest.mark.parametrize("answer", [None, 5, "", "####", "#### x", "#### 1 2", "#### " + "9" * 500])
def test_a_gold_answer_that_is_no_number_is_an_error(answer):
    with pytest.raises(ScoreError, match="answer"):
        gold({"answer": answer})


def test_a_bare_gold_number_will_do():
    assert gold({"answer": "1,000"}) == 1000


def test_an_error_names_the_item():
    items = [{"item_id": "gsm8k/7", "answer": "none"}]
    with pytest.raises(ScoreError, match="gsm8k, item gsm8k/7"):
        score("gsm8k", items, ["1"])
    with pytest.raises(ScoreError, match="1 items, but 2 texts"):
        score("gsm8k", items, ["1", "2"])
    with pytest.raises(ScoreError, match="known: gsm8k, mmlu"):
        score("gsm9k", items, ["1"])
