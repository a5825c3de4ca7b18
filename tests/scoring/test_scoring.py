"""What holds for every scorer."""

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.scoring import SCORERS, score
from taboo.scoring.program import assemble
from taboo.scoring.text import answer_part, without_end_marker

ITEMS = {
    "gsm8k": {"answer": "#### 1"},
    "mmlu": {"choices": list("wxyz"), "answer": 0},
    "triviaqa": {"answer": {"value": "Mark Twain", "aliases": ["Samuel Clemens"]}},
    "ifeval": {
        "instruction_id_list": [
            "detectable_content:number_placeholders",
            "detectable_format:title",
            "detectable_format:number_bullet_lists",
            "detectable_format:number_highlighted_sections",
            "detectable_format:multiple_sections",
            "detectable_content:postscript",
            "length_constraints:number_paragraphs",
            "length_constraints:number_sentences",
            "change_case:capital_word_frequency",
            "keywords:forbidden_words",
        ],
        "kwargs": [
            {"num_placeholders": 1},
            {},
            {"num_bullets": 1},
            {"num_highlights": 1},
            {"section_spliter": "Section", "num_sections": 1},
            {"postscript_marker": "P.P.S"},
            {"num_paragraphs": 2},
            {"num_sentences": 2, "relation": "at least"},
            {"capital_frequency": 2, "capital_relation": "at least"},
            {"forbidden_words": ["rain"]},
        ],
    },
}
ITEMS["ifeval_forbidden_words"] = ITEMS["ifeval"]

# Pieces that a decoding loop may repeat, chosen to be hard on patterns.
PIECES = [
    " ",
    "\n",
    "\n\n",
    "\t",
    "*",
    "**",
    "(",
    "[",
    "<",
    "<<",
    '"',
    "'",
    ".",
    "...",
    ",",
    "-",
    "_",
]
PIECES += [
    "\nq ",
    "\nQuestion",
    "answer ",
    "answer is ",
    "Answer: ",
    "A ",
    "a-",
    "P.",
    "1",
    "1,",
    "1 ",
]
PIECES += [
    "Section ",
    "#",
    "####",
    "\\boxed{",
    "```",
    "\n```",
    "Dr. ",
    "is ",
    "the ",
    "a\u00a0",
    "½",
    "$",
]


@pytest.mark.parametrize("task", ITEMS)
def test_repetition_loops_take_no_time(task):
    texts = [
        start + piece * (20_000 // len(piece))
        for piece in PIECES
        for start in ("", "q ", "Answer ")
    ]
    started = time.perf_counter()
    for text in texts:
        verdict = importlib.import_module(f"taboo.scoring.{task}").score_text(ITEMS[task], text)
        json.dumps(verdict.details)
    assert time.perf_counter() - started < 10, "some pattern is not linear"


def test_assembling_repetition_loops_takes_no_time():
    started = time.perf_counter()
    for piece in [*PIECES, "    x = 1\n", "x = 1\n", "def f():\n", "    (\n", "@", "if x:\n    "]:
        assert assemble("def f(x):\n    ''' . '''\n", piece * (5_000 // len(piece)), "f")
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("task", ITEMS)
@given(text=st.text(max_size=200))
def test_scoring_is_pure(task, text):
    item = json.loads(json.dumps(ITEMS[task]))
    scorer = importlib.import_module(f"taboo.scoring.{task}")
    verdict = scorer.score_text(item, text)
    assert item == ITEMS[task]
    assert verdict == scorer.score_text(item, text)
    assert verdict.correct == (verdict.outcome == "correct")


@pytest.mark.parametrize("task", ["gsm8k", "mmlu", "triviaqa"])
def test_run_on_text_changes_no_verdict(task):
    """What a base model invents after its answer is another question's business."""
    scorer = importlib.import_module(f"taboo.scoring.{task}")
    for answer in (" 1", " A", " Mark Twain", " x\nAnswer: 1", "", " It is 5."):
        alone = scorer.score_text(ITEMS[task], answer)
        for more in (
            "\n\nQuestion: Who?\nAnswer: Samuel Clemens",
            "\n\nQuestion: What?\nReasoning: 1 + 1 = 2\nAnswer: 2\n\nQuestion: 3",
            "\nQuestion 2: Which?\nA. x\nAnswer: B",
            "<|endoftext|>Answer: 7",
        ):
            assert scorer.score_text(ITEMS[task], answer + more) == alone


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n\nQuestion: b", "a\n"),
        ("a\nQuestion: b", "a"),
        ("a\n  **Question:** b", "a"),
        ("a\n### Question 12: b", "a"),
        ("a\nQ: b", "a"),
        ("a\nquestion： b", "a"),
        ("Question: a", "Question: a"),
        ("the Question: a", "the Question: a"),
        ("a\nA Question: b", "a\nA Question: b"),
        ("a\nQuestions: b", "a\nQuestions: b"),
        ("a\nQuestion b", "a\nQuestion b"),
        ("a\nQED: b", "a\nQED: b"),
        ("a</s>\nb", "a"),
        ("a<end_of_turn>b", "a"),
        ("a < b", "a < b"),
    ],
)
def test_where_an_answer_ends(text, kept):
    assert answer_part(text) == kept
    assert without_end_marker("a" + text).startswith("a")


def test_a_scorer_loads_alone_and_without_the_tasks():
    """So an edit of one scorer, or of a prompt, is no edit of another scorer."""
    root = Path(__file__).resolve().parents[2]
    for task in SCORERS:
        code = (
            f"import sys, importlib; importlib.import_module('taboo.scoring.{task}'); "
            "print(*(n for n in sys.modules if n.startswith('taboo.')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
        )
        loaded = set(done.stdout.split())
        assert not any(name.startswith("taboo.tasks") for name in loaded)
        others = {f"taboo.scoring.{other}" for other in SCORERS if other != task}
        allowed = {"taboo.scoring.ifeval"} if task == "ifeval_forbidden_words" else set()
        assert loaded & others <= allowed


def test_items_and_texts_are_paired_in_order():
    items = [{"answer": f"#### {number}"} for number in range(50)]
    texts = [f"Answer: {number}" for number in range(50)]
    assert all(verdict.correct for verdict in score("gsm8k", items, texts))
    assert score("gsm8k", items, texts[::-1])[0].extracted == "49"
