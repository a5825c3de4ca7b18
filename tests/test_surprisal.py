"""ΔS against its definition, and the aggregates."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.processor import intervene
from taboo.surprisal import injected_surprisal, mean_surprisal, total_surprisal
from taboo.word_starts import Kind

logit = st.floats(-30, 30, width=32)


@settings(deadline=None)
@given(st.lists(logit, min_size=3, max_size=9), st.integers(1, 2))
def test_delta_s_is_the_difference_of_unmasked_log_probabilities(values, rank):
    logits = torch.tensor([values], dtype=torch.float32)
    kinds = torch.full((len(values),), Kind.WORD_START, dtype=torch.uint8)
    step = intervene(logits, kinds, torch.tensor([rank]), torch.tensor([False]))
    chosen = step.masked.argmax(-1)
    bits = injected_surprisal(logits, step.nominal, chosen, step.intervened)
    log2p = torch.log_softmax(logits.double(), -1) / math.log(2)
    expected = (log2p[0, step.nominal] - log2p[0, chosen]).item()
    assert bits.dtype == torch.float32
    assert bits.item() >= 0
    assert bits.item() == pytest.approx(expected, abs=1e-4)


def test_zero_where_nothing_was_masked():
    logits = torch.tensor([[3.0, 1.0], [3.0, 1.0]])
    bits = injected_surprisal(
        logits, torch.tensor([0, 0]), torch.tensor([1, 1]), torch.tensor([False, True])
    )
    assert bits.tolist() == [0.0, pytest.approx(2 / math.log(2))]


def test_bf16_logits_are_read_as_float32():
    logits = torch.tensor([[3.140625, 1.0078125]], dtype=torch.bfloat16)
    bits = injected_surprisal(logits, torch.tensor([0]), torch.tensor([1]), torch.tensor([True]))
    assert bits.item() == pytest.approx((3.140625 - 1.0078125) / math.log(2), rel=1e-6)


def test_aggregates():
    assert total_surprisal([1.5, 0.0, 2.5]) == 4.0
    assert mean_surprisal([1.5, 0.0, 2.5], [True, False, True]) == 2.0
    assert mean_surprisal([0.0, 0.0], [False, False]) is None
    assert total_surprisal([]) == 0.0
