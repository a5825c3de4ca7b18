import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import confint_proportions_2indep

from taboo.stats.differences import mcnemar_p, paired_difference, share_difference

ITEMS = st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [(0, 0, 1.0), (10, 2, 0.0385742), (5, 5, 1.0), (0, 6, 0.03125), (0, 1, 1.0)],
)
def test_mcnemar_is_the_exact_binomial_test(lost, gained, p):
    assert mcnemar_p(lost, gained) == pytest.approx(p, abs=1e-6)
    if lost + gained:
        expected = binomtest(min(lost, gained), lost + gained, 0.5).pvalue
        assert mcnemar_p(lost, gained) == pytest.approx(expected)


def test_shares_without_a_common_item_have_newcombes_interval():
    # 56 of 70 and 48 of 80: Newcombe 1998 (Statistics in Medicine 17:873), example (a), 0.2 (0.0524, 0.3339).
    first = np.array([True] * 48 + [False] * 32 + [False] * 70)
    second = np.array([False] * 80 + [True] * 56 + [False] * 14)
    in_first = np.arange(150) < 80
    result = share_difference(first, in_first, second, ~in_first)
    assert result.value == pytest.approx(0.2)
    assert (result.low, result.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    expected = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    assert (result.low, result.high) == pytest.approx(expected, abs=1e-9)
    assert (result.n_first, result.n_second, result.n_shared) == (80, 70, 0)


def test_pairs_narrow_the_interval():
    rng = np.random.default_rng(0)
    first = rng.random(300) < 0.5
    second = first.copy()
    second[:15] = ~second[:15]
    together = paired_difference(first, second)
    apart = share_difference(
        np.r_[first, np.zeros(300, bool)],
        np.arange(600) < 300,
        np.r_[np.zeros(300, bool), second],
        np.arange(600) >= 300,
    )
    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low < 0.5 * (apart.high - apart.low)


def test_the_interval_of_partly_shared_items_covers_the_truth():
    """95 % of the intervals hold the true gap, whether the models' right items overlap or not."""
    rng = np.random.default_rng(1)
    for overlap in (0.0, 0.9):
        hits, rejections, rounds, n = 0, 0, 600, 120
        for _ in range(rounds):
            easy = rng.random(n)
            right_a = rng.random(n) < 0.6
            right_b = np.where(rng.random(n) < overlap, right_a, rng.random(n) < 0.6)
            keep_a = right_a & (0.5 * easy + 0.5 * rng.random(n) < 0.3)
            keep_b = right_b & (0.5 * easy + 0.5 * rng.random(n) < 0.3)
            result = share_difference(keep_a, right_a, keep_b, right_b)
            hits += result.low <= 0 <= result.high
            rejections += result.p_value < 0.05
        assert 0.93 <= hits / rounds <= 0.98
        assert rejections / rounds <= 0.075


@given(ITEMS)
def test_bounds_hold_the_difference_and_turn_with_the_sides(items):
    first, in_first, second, in_second = np.array(items, bool).T
    result = share_difference(first, in_first, second, in_second)
    mirrored = share_difference(second, in_second, first, in_first)
    if not in_first.any() or not in_second.any():
        assert result is None
        return
    assert -1 <= result.low <= result.value <= result.high <= 1
    assert 0 <= result.p_value <= 1
    assert mirrored.value == pytest.approx(-result.value)
    assert (mirrored.low, mirrored.high) == pytest.approx((-result.high, -result.low))
    assert mirrored.p_value == pytest.approx(result.p_value)


def test_equal_extremes_are_no_evidence():
    nothing, everything = np.zeros(20, bool), np.ones(20, bool)
    assert share_difference(nothing, everything, nothing, everything).p_value == 1.0
    assert paired_difference(everything, everything).p_value == 1.0
    clear = share_difference(nothing, everything, everything, everything)
    assert clear.p_value < 1e-4
    assert clear.low > 0.7
