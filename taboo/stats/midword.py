"""Masking inside words against masking at word starts, at the same rank (paper section 2.2)."""

from typing import Any

import pandas as pd

from taboo.stats.differences import paired_difference
from taboo.stats.rows import adjust, estimated, not_estimable, table

KEY = ["study", "model", "family", "size_b", "alignment", "precision", "task", "rank"]
CONDITION_KEY = ["temperature", "seed", "max_new_tokens"]
COLUMNS = [
    *KEY,
    *CONDITION_KEY,
    "n",
    "baseline",
    "word_start",
    "mid_word",
    "difference",
    "low",
    "high",
    "p_value",
    "word_start_delta_s",
    "mid_word_delta_s",
    "word_start_interventions",
    "mid_word_interventions",
]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and rank that was run in a mid-word condition.

    Accuracy at `baseline`, with the mask at `word_start` and at `mid_word`, their difference (mid-word minus word-start) with its 95 % interval and McNemar's exact p-value, and of both the injected surprisal per intervention (bits) and the interventions per item.
    """
    rows = []
    key = [*KEY, *CONDITION_KEY]
    for values, group in items[items["rank"] > 0].groupby(key, sort=False, dropna=False):
        row = dict(zip(key, values, strict=True))
        inside = group[group["mode"] == "mid_word"]
        start = group[group["mode"] == "word_start"]
        if inside.empty:
            continue
        row |= _numbers(inside, "mid_word")
        if start.empty:
            rows.append(not_estimable(row, "the word-start condition of this rank was not run"))
            continue
        row |= _numbers(start, "word_start")
        both = start[["item_id", "correct"]].merge(
            inside[["item_id", "correct"]], on="item_id", suffixes=("_start", "_inside")
        )
        result = paired_difference(
            both["correct_start"].to_numpy(bool), both["correct_inside"].to_numpy(bool)
        )
        if result is None:
            rows.append(not_estimable(row, "the two conditions share no item"))
            continue
        before = start["baseline_correct"]
        rows.append(
            estimated(
                row
                | {
                    "n": len(both),
                    "baseline": None if before.isna().any() else float(before.mean()),
                    "difference": result.value,
                    "low": result.low,
                    "high": result.high,
                    "p_value": result.p_value,
                }
            )
        )
    return adjust(table(rows, COLUMNS), ["study"])


def _numbers(cell: pd.DataFrame, name: str) -> dict[str, Any]:
    masked = cell["interventions"].sum()
    return {
        name: float(cell["correct"].mean()),
        f"{name}_delta_s": float(cell["delta_s_total"].sum() / masked) if masked else None,
        f"{name}_interventions": float(cell["interventions"].mean()),
    }
