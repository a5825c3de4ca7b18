"""Why judge and scorer disagree."""

from typing import Any

import pytest

from taboo.judge.reasons import disagreement_reason
from taboo.scoring import gsm8k, mmlu, triviaqa

SUM = {"question": "How much does it cost?", "answer": "#### 12"}
CHOICE = {"question": "Which?", "choices": ["one", "two", "three", "four"], "answer": 1}
NAME = {"question": "Which river?", "answer": {"value": "Nile", "aliases": ["River Nile"]}}
SCORERS = {"gsm8k": gsm8k, "mmlu": mmlu, "triviaqa": triviaqa}
NEXT = "\n\nQuestion: And this?\n"


def row(task: str, item: Any, text: str, finish: str = "eos") -> dict[str, Any]:
    """A generation with the scorer's own reading, and a judge that says the opposite."""
    verdict = SCORERS[task].score_text(item, text)
    return {
        **{"task": task, "item": item, "text": text, "finish_reason": finish},
        **{"extracted": verdict.extracted, "rule": verdict.rule},
        "scorer": "right" if verdict.correct else "wrong",
        "judge": "wrong" if verdict.correct else "right",
    }


@pytest.mark.parametrize(
    ("reason", "task", "item", "text"),
    [
        ("unit", "gsm8k", SUM, "Answer: 1200 cents"),
        ("unit", "gsm8k", SUM, "It lasts half a day.\nAnswer: 0.5"),
        ("run-on question", "mmlu", CHOICE, f" B{NEXT}Answer: C"),
        ("run-on question", "mmlu", CHOICE, f" A{NEXT}A. x\nB. y\nAnswer: B"),
        ("run-on question", "gsm8k", SUM, f"Answer: 12{NEXT}Answer: 99"),
        ("run-on question", "gsm8k", SUM, f"Answer: 12{NEXT}Reasoning: none{NEXT}Answer: 7"),
        ("run-on question", "triviaqa", NAME, f" Nile{NEXT}Answer: Rhine"),
        ("formatting", "gsm8k", SUM, "So it is 12, and not 13."),
        ("formatting", "gsm8k", SUM, "Adding up gives 5 + 7 = 12"),
        ("formatting", "mmlu", CHOICE, "The two of them: two, clearly"),
        ("formatting", "triviaqa", NAME, "I believe that the river is the Nile, in Africa."),
        ("", "gsm8k", SUM, "Answer: 13"),
        ("", "mmlu", CHOICE, " C"),
        ("", "triviaqa", NAME, "Rhine"),
        ("", "gsm8k", SUM, "Answer: 12"),
    ],
)
def test_a_reason_where_a_rule_can_tell(reason: str, task: str, item: Any, text: str) -> None:
    assert disagreement_reason(row(task, item, text)) == reason


def test_a_text_that_was_cut_off() -> None:
    text = "First we add 3 and 4"
    assert disagreement_reason(row("gsm8k", SUM, text, "length")) == "cut off"
    assert disagreement_reason(row("gsm8k", SUM, text, "eos")) == ""


@pytest.mark.parametrize("text", ["", "\n", NEXT, NEXT * 5, "Question: Question: Q:", "</s> 12"])
@pytest.mark.parametrize(("task", "item"), [("gsm8k", SUM), ("mmlu", CHOICE), ("triviaqa", NAME)])
def test_any_text_has_an_answer(task: str, item: Any, text: str) -> None:
    assert isinstance(disagreement_reason(row(task, item, text)), str)
