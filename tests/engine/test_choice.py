"""The fast choice against the plain definition: mask, then take the lowest of the largest."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.conditions import Condition
from taboo.engine.choice import BrokenLogits, choose_greedy, choose_sampled, uniforms_of
from taboo.processor import intervene
from taboo.surprisal import injected_surprisal
from taboo.word_starts import Kind


@st.composite
def steps(draw: st.DrawFn) -> tuple[torch.Tensor, ...]:
    """Logits with few different values, so that ties are everywhere, and all that goes with them."""
    width = draw(st.sampled_from([7, 64, 96, 640, 1000]))
    rows = draw(st.integers(1, 6))
    levels = draw(st.integers(1, 40))
    dtype = draw(st.sampled_from([torch.float32, torch.bfloat16]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    logits = torch.randint(levels, (rows, width), generator=generator).to(dtype) / 3
    kinds = torch.randint(4, (width,), generator=generator, dtype=torch.uint8)
    kinds[draw(st.integers(0, width - 1))] = Kind.CONTINUATION
    present = int((kinds != Kind.ABSENT).sum())
    ranks = torch.randint(min(9, present), (rows,), generator=generator)
    mid_word = torch.rand(rows, generator=generator) < 0.5
    return logits, kinds, ranks, mid_word


@given(steps())
@settings(max_examples=300, deadline=None)
def test_greedy_is_the_lowest_of_the_largest_unmasked(step: tuple[torch.Tensor, ...]) -> None:
    logits, kinds, ranks, mid_word = step
    expected = intervene(logits, kinds, ranks, mid_word)
    chosen = torch.stack([(row == row.max()).nonzero()[0, 0] for row in expected.masked])
    absent = (kinds == Kind.ABSENT).nonzero().flatten()
    choice = choose_greedy(logits.clone(), kinds, absent, ranks, mid_word, int(ranks.max()))
    assert torch.equal(choice.nominal, expected.nominal)
    assert torch.equal(choice.intervened, expected.intervened)
    assert torch.equal(choice.chosen, chosen)
    delta = injected_surprisal(logits, expected.nominal, chosen, expected.intervened)
    assert torch.equal(choice.delta_s, delta)
    assert (choice.delta_s >= 0).all()


@given(step=steps(), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_a_sampled_token_has_probability_and_does_not_depend_on_other_rows(
    step: tuple[torch.Tensor, ...], seed: int
) -> None:
    logits, kinds, ranks, mid_word = step
    rows = len(logits)
    uniforms = torch.rand(rows, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    temperatures = torch.linspace(0.3, 1.5, rows)
    choice = choose_sampled(logits, kinds, ranks, mid_word, temperatures, uniforms)
    masked = intervene(logits, kinds, ranks, mid_word).masked
    assert torch.isfinite(masked.gather(1, choice.chosen[:, None])).all()
    for row in range(rows):
        one = slice(row, row + 1)
        alone = choose_sampled(
            logits[one], kinds, ranks[one], mid_word[one], temperatures[one], uniforms[one]
        )
        assert [column.tolist() for column in alone] == [c[one].tolist() for c in choice]


def test_sampling_follows_the_softmax_at_its_temperature() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, 3.0]])
    kinds = torch.full((4,), Kind.WORD_START, dtype=torch.uint8)
    n = 20000
    uniforms = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    choice = choose_sampled(
        logits.expand(n, 4),
        kinds,
        torch.ones(n, dtype=torch.int64),
        torch.zeros(n, dtype=torch.bool),
        torch.full((n,), 0.7),
        uniforms,
    )
    shares = torch.bincount(choice.chosen, minlength=4) / n
    weights = torch.tensor([math.exp(x / 0.7) for x in (0, 1, 2)] + [0.0])
    assert torch.allclose(shares, weights / weights.sum(), atol=1e-3)
    assert choice.intervened.all()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_broken_logits_name_their_row(bad: float) -> None:
    logits = torch.zeros(3, 128)
    logits[2, 77] = bad
    kinds = torch.full((128,), Kind.WORD_START, dtype=torch.uint8)
    ranks, no = torch.ones(3, dtype=torch.int64), torch.zeros(3, dtype=torch.bool)
    with pytest.raises(BrokenLogits) as error:
        choose_greedy(logits, kinds, torch.tensor([], dtype=torch.int64), ranks, no, 1)
    assert error.value.row == 2
    ones = torch.ones(3)
    with pytest.raises(BrokenLogits) as error:
        choose_sampled(logits, kinds, ranks, no, ones, ones.double() / 2)
    assert error.value.row == 2


def test_random_numbers_belong_to_seed_and_item() -> None:
    condition = Condition(1, temperature=1.0, seed=0, max_new_tokens=50)
    again = Condition(4, temperature=0.7, seed=0, max_new_tokens=20)
    other = Condition(1, temperature=1.0, seed=1, max_new_tokens=50)
    numbers = uniforms_of(condition, "a")
    assert torch.equal(numbers[:20], uniforms_of(again, "a"))
    assert not torch.equal(numbers, uniforms_of(other, "a"))
    assert not torch.equal(numbers, uniforms_of(condition, "b"))
    assert 0 <= numbers.min() <= numbers.max() < 1
