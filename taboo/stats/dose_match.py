"""Base against instruct at the same injected surprisal, not at the same taboo rank.

The paper (appendix F) calls its own comparison indicative, because at one rank instruct models absorb more. Here both curves are read at the same dose, with bands.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from taboo.stats.pairs import PAIR_KEY, Pair, pairs
from taboo.stats.rows import estimated, not_estimable, table

CONDITION_KEY = ["mode", "temperature", "seed", "max_new_tokens"]
QUANTITIES = ("marginal_retention", "retention")
COLUMNS = [
    *PAIR_KEY,
    *CONDITION_KEY,
    "quantity",
    "base_model",
    "instruct_model",
    "point",
    "delta_s",
    "base",
    "instruct",
    "difference",
    "low",
    "high",
    "n_items",
    "n_replicates",
]
LEAST_SHARE = 0.95  # of the replicates must be usable


@dataclass(frozen=True)
class _Sums:
    """What a model's curve is computed from: arrays of items × doses (`right_before`: items)."""

    delta_s: np.ndarray
    interventions: np.ndarray
    correct: np.ndarray
    retained: np.ndarray
    right_before: np.ndarray


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return, per base and instruct pair and quantity, one row per dose that both curves cover, and one for their mean.

    A curve joins its measured doses (injected surprisal per intervention, retention) by straight lines; `point` 1 to 5 are evenly spaced over the range of doses that both models reached, `mean` is the mean difference over these points. `low` and `high` are the 2.5 and 97.5 % points of a bootstrap over items, the same items for both models, in which the doses are computed anew, too. Options: `replicates` (1000), `seed` (0), `points` (5).
    """
    replicates, seed = options.get("replicates", 1000), options.get("seed", 0)
    points = options.get("points", 5)

    @cache
    def resample(count: int) -> np.ndarray:
        chances = np.full(count, 1 / count)
        return np.random.default_rng(seed).multinomial(count, chances, replicates).astype(float)

    doses = items[(items["rank"] > 0) & (items["mode"] == "word_start")]
    rows: list[dict[str, Any]] = []
    for pair in pairs(doses, [*PAIR_KEY, *CONDITION_KEY]):
        for quantity in QUANTITIES:
            row = pair.key | {"quantity": quantity, "point": "all"}
            reason = pair.reason or _unusable(pair)
            if reason:
                rows.append(not_estimable(row, reason))
            else:
                rows += _compare(row, pair, quantity, resample, points)
    return table(rows, COLUMNS)


def curve(sums: _Sums, weights: np.ndarray, quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """Return dose and retention, replicates × ranks, for weights of replicates × items; NaN where undefined."""
    kept = sums.correct if quantity == "marginal_retention" else sums.retained
    with np.errstate(invalid="ignore", divide="ignore"):
        dose = (weights @ sums.delta_s) / (weights @ sums.interventions)
        retention = (weights @ kept) / (weights @ sums.right_before)[:, None]
    return dose, retention


def read_at(dose: np.ndarray, retention: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return retention at `points` (replicates × points), on straight lines between the doses of each replicate.

    A replicate whose doses do not quite reach a point is read on its last line, drawn on.
    """
    order = np.argsort(dose, axis=1, kind="stable")
    dose, retention = (np.take_along_axis(array, order, axis=1) for array in (dose, retention))
    last = dose.shape[1] - 2
    left = np.clip((dose[:, None, :] <= points[None, :, None]).sum(axis=2) - 1, 0, last)
    x0, x1 = (np.take_along_axis(dose, left + step, axis=1) for step in (0, 1))
    y0, y1 = (np.take_along_axis(retention, left + step, axis=1) for step in (0, 1))
    width = np.where(x1 > x0, x1 - x0, 1.0)
    return y0 + np.where(x1 > x0, (y1 - y0) * (points - x0) / width, 0.0)


def _unusable(pair: Pair) -> str:
    for name, model in (("base", pair.base), ("instruct", pair.instruct)):
        if model["baseline_correct"].isna().any():
            return f"the baseline of the {name} model was not run"
        if not model["baseline_correct"].any():
            return f"no item is right at baseline for the {name} model"
        doses = model.groupby("rank")["interventions"].sum()
        if len(doses) < 2:
            return f"the {name} model has fewer than two doses"
        if (doses == 0).any():
            return f"the {name} model has a dose without any intervention"
        if model.groupby("rank")["item_id"].agg(frozenset).nunique() > 1:
            return f"the doses of the {name} model have different items"
    return ""


def _compare(
    row: dict[str, Any],
    pair: Pair,
    quantity: str,
    resample: Callable[[int], np.ndarray],
    points: int,
) -> list[dict[str, Any]]:
    item_ids = sorted(set(pair.base["item_id"]) | set(pair.instruct["item_id"]))
    base, instruct = _sums(pair.base, item_ids), _sums(pair.instruct, item_ids)
    count = len(item_ids)
    row = row | {"n_items": count}
    once = np.ones((1, count))
    curves = [curve(sums, once, quantity) for sums in (base, instruct)]
    start = max(float(dose.min()) for dose, _ in curves)
    end = min(float(dose.max()) for dose, _ in curves)
    if start >= end:
        spans = " and ".join(f"{dose.min():.2f} to {dose.max():.2f}" for dose, _ in curves)
        return [not_estimable(row, f"the doses do not overlap: {spans} bits")]
    grid = np.linspace(start, end, points)
    values = np.array([read_at(*one, grid)[0] for one in curves])
    weights = resample(count)
    draws = [read_at(*curve(sums, weights, quantity), grid) for sums in (base, instruct)]
    differences = draws[1] - draws[0]
    usable = np.isfinite(differences).all(axis=1)
    if usable.mean() < LEAST_SHARE:
        reason = f"only {usable.mean():.0%} of the bootstrap samples have an item right at baseline"
        return [not_estimable(row, reason)]
    differences = differences[usable]
    row = row | {"n_replicates": int(usable.sum())}
    labels = [str(number) for number in range(1, points + 1)]
    doses, observed = list(grid), list(values.T)
    samples = list(differences.T)
    labels.append("mean")
    doses.append(float(grid.mean()))
    observed.append(values.mean(axis=1))
    samples.append(differences.mean(axis=1))
    rows = []
    for label, dose, (one, other), sample in zip(labels, doses, observed, samples, strict=True):
        low, high = np.quantile(sample, [0.025, 0.975])
        numbers = {
            "point": label,
            "delta_s": float(dose),
            "base": float(one),
            "instruct": float(other),
            "difference": float(other - one),
            "low": float(low),
            "high": float(high),
        }
        rows.append(estimated(row | numbers))
    return rows


def _sums(model: pd.DataFrame, item_ids: list[str]) -> _Sums:
    numbers = model.assign(
        correct=model["correct"].astype(float),
        before=model["baseline_correct"].astype(float),
    )
    numbers["retained"] = numbers["correct"] * numbers["before"]

    def wide(column: str) -> np.ndarray:
        frame = numbers.pivot(index="item_id", columns="rank", values=column)
        return frame.reindex(item_ids).fillna(0.0).to_numpy(float)

    return _Sums(
        delta_s=wide("delta_s_total"),
        interventions=wide("interventions"),
        correct=wide("correct"),
        retained=wide("retained"),
        right_before=wide("before")[:, 0],
    )
