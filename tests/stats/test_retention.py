import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.stats.retention import (
    accuracy,
    conditional_retention,
    marginal_retention,
    recovery,
    share,
    wilson,
)

VERDICTS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=80)


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17:857), table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(count, total, low, high):
    found = wilson(count, total)
    assert found[0] == pytest.approx(low, abs=5e-5)
    assert found[1] == pytest.approx(high, abs=5e-5)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_bounds_hold_the_share(numbers):
    count, total = numbers
    low, high = wilson(count, total)
    assert 0 <= low <= count / total <= high <= 1


def test_wilson_without_items_is_missing_and_bad_counts_are_refused():
    assert np.isnan(wilson([0, 1], [0, 2])[0]).tolist() == [True, False]
    for count, total in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="0 ≤ count ≤ total"):
            wilson(count, total)


def test_the_measures_on_eight_items():
    baseline = [1, 1, 1, 1, 0, 0, 0, 0]
    taboo = [1, 1, 1, 0, 1, 0, 0, 0]
    assert (accuracy(taboo).count, accuracy(taboo).value) == (4, 0.5)
    kept = conditional_retention(baseline, taboo)
    assert (kept.count, kept.total, kept.value) == (3, 4, 0.75)
    won = recovery(baseline, taboo)
    assert (won.count, won.total, won.value) == (1, 4, 0.25)
    assert marginal_retention(baseline, taboo) == 1.0


def test_without_a_right_baseline_there_is_no_retention():
    kept = conditional_retention([0, 0], [1, 0])
    assert kept == share(0, 0)
    assert (kept.value, kept.low, kept.high) == (None, None, None)
    assert marginal_retention([0, 0], [1, 0]) is None
    assert recovery([1, 1], [1, 0]).value is None


@given(VERDICTS)
def test_accuracy_is_made_of_retention_and_recovery(pairs):
    baseline, taboo = [b for b, _ in pairs], [t for _, t in pairs]
    kept, won = conditional_retention(baseline, taboo), recovery(baseline, taboo)
    assert kept.count + won.count == accuracy(taboo).count
    assert kept.total + won.total == len(pairs)


def test_other_items_are_refused():
    with pytest.raises(ValueError, match=r"2 items.*3"):
        conditional_retention([1, 0], [1, 0, 1])
