"""Retention and its intervals (paper section 3.4)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import proportion_confint


@dataclass(frozen=True)
class Share:
    """`count` of `total`, with its 95 % Wilson interval; the three numbers are None where `total` is 0."""

    count: int
    total: int
    value: float | None
    low: float | None
    high: float | None


def wilson(count: ArrayLike, total: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper bounds of the 95 % Wilson interval of count/total, NaN where total is 0.

    Rounding can put a bound a hair on the wrong side of the share at 0 and 1, so the bounds are clipped: 0 ≤ low ≤ count/total ≤ high ≤ 1. Raises ValueError where a count is negative or above its total.
    """
    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    if np.any(count < 0) or np.any(count > total):
        raise ValueError("a share needs 0 ≤ count ≤ total")
    low, high = np.full(count.shape, np.nan), np.full(count.shape, np.nan)
    some = total > 0
    if np.any(some):
        bounds = proportion_confint(count[some], total[some], alpha=0.05, method="wilson")
        share = count[some] / total[some]
        low[some] = np.clip(bounds[0], 0.0, share)
        high[some] = np.clip(bounds[1], share, 1.0)
    return low, high


def share(count: int, total: int) -> Share:
    """Return count/total with its Wilson interval."""
    if total == 0:
        return Share(0, 0, None, None, None)
    low, high = wilson(count, total)
    return Share(int(count), int(total), count / total, float(low), float(high))


def accuracy(correct: ArrayLike) -> Share:
    """Return the share of items that are right."""
    correct = np.asarray(correct, bool)
    return share(int(correct.sum()), correct.size)


def conditional_retention(baseline: ArrayLike, taboo: ArrayLike) -> Share:
    """Return, of the items right at baseline, the share still right under taboo (paper eq. 5).

    `baseline` and `taboo` hold one truth value per item, in the same order.
    """
    baseline, taboo = _paired(baseline, taboo)
    return share(int((baseline & taboo).sum()), int(baseline.sum()))


def recovery(baseline: ArrayLike, taboo: ArrayLike) -> Share:
    """Return, of the items wrong at baseline, the share that is right under taboo."""
    baseline, taboo = _paired(baseline, taboo)
    return share(int((~baseline & taboo).sum()), int((~baseline).sum()))


def marginal_retention(baseline: ArrayLike, taboo: ArrayLike) -> float | None:
    """Return accuracy under taboo over accuracy at baseline (paper appendix F), None where the latter is 0.

    Unlike conditional retention it credits items that only taboo gets right, so it can exceed 1.
    """
    baseline, taboo = _paired(baseline, taboo)
    return float(taboo.sum() / baseline.sum()) if baseline.any() else None


def _paired(baseline: ArrayLike, taboo: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    baseline, taboo = np.asarray(baseline, bool), np.asarray(taboo, bool)
    if baseline.shape != taboo.shape:
        raise ValueError(
            f"the baseline has {baseline.size} items, the taboo condition {taboo.size}: they must be the same items"
        )
    return baseline, taboo
