"""Does quantisation change the result? Each precision against a reference, cell by cell (paper section 3.1)."""

from typing import Any

import numpy as np
import pandas as pd

from taboo.stats.differences import paired_difference
from taboo.stats.rows import adjust, estimated, not_estimable, table

KEY = ["study", "model", "family", "size_b", "alignment", "task", "condition", "mode", "rank"]
COLUMNS = [
    "level",
    *KEY,
    "temperature",
    "seed",
    "max_new_tokens",
    "precision",
    "reference",
    "n",
    "accuracy",
    "reference_accuracy",
    "difference",
    "low",
    "high",
    "p_value",
    "within",
    "n_flips",
    "n_cells",
    "n_within",
    "median_absolute_difference",
    "largest_absolute_difference",
]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per cell that was run in a precision and in the reference (`level` `cell`), and one per study and precision (`level` `summary`).

    A cell's row has both accuracies over the items that both have, the difference to the reference with its 95 % interval, McNemar's exact p-value, the items whose verdict flips, and whether it is `within` the tolerance; the rows that are not are the outliers. The summary has the number of cells, how many are within, and the median and the largest absolute difference. Options: `reference` (`bf16`), `tolerance` (0.07, the paper's).
    """
    reference = options.get("reference", "bf16")
    tolerance = options.get("tolerance", 0.07)
    key = [*KEY, "temperature", "seed", "max_new_tokens"]
    rows = []
    for values, group in items.groupby(key, sort=False, dropna=False):
        row = dict(zip(key, values, strict=True)) | {"level": "cell", "reference": reference}
        known = group[group["precision"] == reference]
        for precision, other in group.groupby("precision", sort=False):
            if precision != reference:
                rows.append(_cell(row | {"precision": precision}, known, other, tolerance))
    frame = table(rows, COLUMNS)
    summaries = [
        _summary(study, precision, reference, cell_rows)
        for (study, precision), cell_rows in frame.groupby(["study", "precision"], sort=False)
    ]
    return adjust(table([*rows, *summaries], COLUMNS), ["study", "precision"])


def _cell(
    row: dict[str, Any], known: pd.DataFrame, other: pd.DataFrame, tolerance: float
) -> dict[str, Any]:
    if known.empty:
        return not_estimable(row, f"the cell was not run in {row['reference']}")
    both = known[["item_id", "correct"]].merge(
        other[["item_id", "correct"]], on="item_id", suffixes=("_known", "_other")
    )
    if both.empty:
        return not_estimable(row, "the two precisions share no item")
    first, second = both["correct_known"].to_numpy(bool), both["correct_other"].to_numpy(bool)
    result = paired_difference(first, second)
    assert result is not None, "there is a shared item"
    return estimated(
        row
        | {
            "n": len(both),
            "accuracy": result.second,
            "reference_accuracy": result.first,
            "difference": result.value,
            "low": result.low,
            "high": result.high,
            "p_value": result.p_value,
            # Accuracies are multiples of 1/n: 0.47 - 0.40 must count as 0.07.
            "within": abs(result.value) <= tolerance + 1e-9,
            "n_flips": int((first != second).sum()),
        }
    )


def _summary(study: str, precision: str, reference: str, rows: pd.DataFrame) -> dict[str, Any]:
    row = {"level": "summary", "study": study, "precision": precision, "reference": reference}
    known = rows[rows["estimable"]]
    if known.empty:
        return not_estimable(row, f"no cell was run both in {precision} and in {reference}")
    absolute = known["difference"].abs().to_numpy(float)
    return estimated(
        row
        | {
            "n_cells": len(known),
            "n_within": int(known["within"].sum()),
            "median_absolute_difference": float(np.median(absolute)),
            "largest_absolute_difference": float(absolute.max()),
        }
    )
