import pytest

from taboo.scoring.gsm8k import score_text
from taboo.stats.failure_modes import FAILURE_MODES, failure_mode
from taboo.stats.repetition import loop_length

ITEM = {"question": "…", "answer": "… #### 25"}


@pytest.mark.parametrize(
    ("text", "finish_reason", "mode"),
    [
        ("The average is 30.\nAnswer: 30", "eos", "wrong_answer"),
        ("Answer: 30\n\nQuestion: 7 and 7? " + "go on and on " * 20, "length", "wrong_answer"),
        ("60 / 2 = 30 . 30 / 2 is 15 . " * 12, "length", "repetition_loop"),
        (
            "It can also be written as 216, 200+16, 200+10+6, 200+10+5+1, and",
            "length",
            "truncation",
        ),
        ("The dog ate and the cat ate.", "eos", "derailment"),
        ("There were 30 minutes, and it took 20 of them.", "eos", "derailment"),
    ],
)
def test_texts_of_a_kind_are_told_apart(text, finish_reason, mode):
    verdict = score_text(ITEM, text)
    words = text.split()
    loop = loop_length([sorted(set(words)).index(word) for word in words]) > 0
    assert not verdict.correct
    assert failure_mode(verdict.outcome, verdict.rule, finish_reason, loop) == mode


@pytest.mark.parametrize(
    ("outcome", "finish_reason", "mode"),
    [
        ("failed", "length", "wrong_answer"),
        ("syntax_error", "length", "truncation"),
        ("syntax_error", "stop", "derailment"),
        ("timeout", "eos", "other"),
        ("forbidden", "eos", "other"),
    ],
)
def test_programs(outcome, finish_reason, mode):
    assert failure_mode(outcome, "program", finish_reason, False) == mode
    assert mode in FAILURE_MODES


@pytest.mark.parametrize(
    ("finish_reason", "loop", "mode"),
    [
        ("eos", False, "other"),
        ("length", False, "truncation"),
        ("length", True, "repetition_loop"),
    ],
)
def test_texts_that_break_an_instruction(finish_reason, loop, mode):
    assert failure_mode("wrong", "strict", finish_reason, loop) == mode
    assert failure_mode("unparsed", "strict", "eos", False) == "derailment"
