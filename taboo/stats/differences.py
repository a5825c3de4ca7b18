"""Differences of two shares, of the same items or of items that partly overlap."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar

from taboo.stats.retention import wilson


@dataclass(frozen=True)
class Difference:
    """`second` − `first` with its 95 % interval and the p-value of no difference.

    `n_first` and `n_second` are the items each share is computed over, `n_shared` those in both.
    """

    first: float
    second: float
    value: float
    low: float
    high: float
    p_value: float
    n_first: int
    n_second: int
    n_shared: int


def mcnemar_p(lost: int, gained: int) -> float:
    """Return the exact two-sided p-value of McNemar's test; 1 where no item changed."""
    if lost + gained == 0:
        return 1.0
    return float(min(1.0, mcnemar([[0, lost], [gained, 0]], exact=True).pvalue))


def paired_difference(first: np.ndarray, second: np.ndarray) -> Difference | None:
    """Return the difference of two shares of the same items, None where there is no item.

    The p-value is McNemar's exact one, the interval that of `share_difference`.
    """
    everything = np.ones(len(first), bool)
    result = share_difference(first, everything, second, everything)
    if result is None:
        return None
    lost, gained = int((first & ~second).sum()), int((~first & second).sum())
    return Difference(**{**vars(result), "p_value": mcnemar_p(lost, gained)})


def share_difference(
    first: np.ndarray, in_first: np.ndarray, second: np.ndarray, in_second: np.ndarray
) -> Difference | None:
    """Return the difference of two shares, each over its own subset of one list of items.

    All four arrays hold a truth value per item: is it a success of the first share, does it count for the first share, and the same for the second. None where one of the shares has no item.

    The interval puts the two Wilson intervals together with the correlation of the two shares (square-and-add, Newcombe 1998; with correlation Zou and Donner 2008), which comes from the items they share. The p-value is that of the score test under one common share, with the variance summed by item, so that it holds at 0 and 1, too.
    """
    n_first, n_second = int(in_first.sum()), int(in_second.sum())
    if not n_first or not n_second:
        return None
    counts = np.array([(first & in_first).sum(), (second & in_second).sum()])
    shares = counts / np.array([n_first, n_second])
    lows, highs = wilson(counts, np.array([n_first, n_second]))
    value = float(shares[1] - shares[0])
    pull_first = in_first * (first - shares[0]) / n_first
    pull_second = in_second * (second - shares[1]) / n_second
    spread = math.sqrt(float((pull_first**2).sum() * (pull_second**2).sum()))
    correlation = float((pull_first * pull_second).sum()) / spread if spread > 0 else 0.0
    below = _add(shares[1] - lows[1], highs[0] - shares[0], correlation)
    above = _add(highs[1] - shares[1], shares[0] - lows[0], correlation)
    pooled = counts.sum() / (n_first + n_second)
    null = in_second * (second - pooled) / n_second - in_first * (first - pooled) / n_first
    error = math.sqrt(float((null**2).sum()))
    p_value = float(2 * norm.sf(abs(value) / error)) if error > 0 else 1.0
    return Difference(
        first=float(shares[0]),
        second=float(shares[1]),
        value=value,
        low=max(-1.0, value - below),
        high=min(1.0, value + above),
        p_value=p_value,
        n_first=n_first,
        n_second=n_second,
        n_shared=int((in_first & in_second).sum()),
    )


def _add(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2))
