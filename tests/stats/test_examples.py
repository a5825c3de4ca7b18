from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from taboo.conditions import Condition
from taboo.stats.examples import examples_page, failure_examples, pieces
from taboo.stats.tables import CellInput


@pytest.fixture(scope="module")
def tokenizer(smollm2_path):
    return AutoTokenizer.from_pretrained(smollm2_path)


def decoder(tokenizer):
    return lambda ids: tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def make_cell(tokenizer, condition, texts, correct, model="m", rules=None):
    ids = [np.array(tokenizer.encode(text)) for text in texts]
    cell = pd.DataFrame(
        {
            "item_id": [f"gsm8k/{index}" for index in range(len(texts))],
            "token_ids": ids,
            "nominal_ids": [one[::-1] for one in ids],
            "delta_s": [np.full(len(one), 1.25) for one in ids],
            "intervened": [np.arange(len(one)) % 2 == 1 for one in ids],
            "text": texts,
            "finish_reason": ["eos"] * len(texts),
        }
    )
    scores = pd.DataFrame(
        {
            "item_id": cell["item_id"],
            "correct": correct,
            "outcome": ["correct" if one else "wrong" for one in correct],
            "extracted": ["18" if one else "9" for one in correct],
            "rule": rules or ["answer_line"] * len(texts),
            "details": ["{}"] * len(texts),
        }
    )
    return CellInput("s", model, "f", 0.135, "base", "bf16", "gsm8k", condition, cell, scores)


class Text(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_model_text_is_shown_as_text_with_its_interventions_marked(tokenizer):
    text = "<script>alert('x')</script> & <b>café 🙂</b> Answer: 9"
    baseline = make_cell(tokenizer, Condition(0), ["It is 18.\nAnswer: 18"] * 2, [True, True])
    taboo = make_cell(tokenizer, Condition(2), ["Answer: 18", text], [True, False])
    examples = failure_examples([baseline, taboo])
    assert [example.item_id for example in examples] == ["gsm8k/1"]
    page = examples_page(examples, {"m": decoder(tokenizer)}, notice="a < b")
    parsed = Text()
    parsed.feed(page)
    assert text in parsed.text
    assert "a < b" in parsed.text
    assert "read as 18" in parsed.text
    assert "read as 9" in parsed.text
    tags = [tag for tag, _ in parsed.tags]
    assert "script" not in tags
    marks = [attributes["title"] for tag, attributes in parsed.tags if tag == "mark"]
    assert len(marks) == sum(examples[0].intervened)
    assert all("1.25 bits" in mark and "instead of" in mark for mark in marks)


def test_examples_come_from_several_models_and_modes(tokenizer):
    cells = []
    for model in ("m1", "m2", "m3", "m4"):
        texts = ["one", "two", "three", "four"]
        rules = ["answer_line", "last_number", "last_number", "answer_line"]
        cells.append(make_cell(tokenizer, Condition(0), texts, [True] * 4, model))
        for rank in (1, 2):
            cells.append(make_cell(tokenizer, Condition(rank), texts, [False] * 4, model, rules))
    examples = failure_examples(cells, per_mode=3)
    found = [(example.failure, example.model, example.item_id) for example in examples]
    assert found == [
        *(("derailment", model, "gsm8k/1") for model in ("m1", "m2", "m3")),
        *(("wrong_answer", model, "gsm8k/0") for model in ("m1", "m2", "m3")),
    ]
    assert {example.condition for example in examples} == {"taboo_i1"}


def test_without_failures_the_page_says_so(tokenizer):
    cells = [make_cell(tokenizer, Condition(rank), ["a"], [True]) for rank in (0, 1)]
    assert failure_examples(cells) == []
    assert "No item that is right at baseline fails" in examples_page([], {})


def test_no_answer_is_named(tokenizer):
    cells = [make_cell(tokenizer, Condition(rank), ["a"], [rank == 0]) for rank in (0, 1)]
    cells[1] = replace(cells[1], scores=cells[1].scores.assign(extracted=[None]))
    page = examples_page(failure_examples(cells), {"m": decoder(tokenizer)})
    assert "Taboo, read as no answer" in page


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_the_pieces_are_the_text(tokenizer, text):
    decode = decoder(tokenizer)
    ids = tokenizer.encode(text)
    parts = list(pieces(ids, decode))
    assert len(parts) == len(ids)
    assert "".join(parts) == decode(ids)
