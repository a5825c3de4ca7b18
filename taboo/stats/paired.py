"""Does taboo change the share of right answers? Each taboo cell against its own baseline, item by item."""

from typing import Any

import pandas as pd

from taboo.stats.differences import paired_difference
from taboo.stats.rows import adjust, estimated, not_estimable, table
from taboo.stats.tables import CELL_KEY

COLUMNS = [
    *CELL_KEY,
    "n",
    "baseline",
    "taboo",
    "n_lost",
    "n_gained",
    "difference",
    "low",
    "high",
    "p_value",
]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per taboo cell: accuracy at `baseline` and under `taboo`, the items it loses and gains, their difference with its 95 % interval, and McNemar's exact p-value.

    `p_holm` and `p_bh` correct over all cells of the study (`n_tests`): the grid of family, size, task and dose.
    """
    rows = []
    doses = items[items["rank"] > 0]
    for values, cell in doses.groupby(CELL_KEY, sort=False, dropna=False):
        row = dict(zip(CELL_KEY, values, strict=True)) | {"n": len(cell)}
        if cell["baseline_correct"].isna().any():
            rows.append(not_estimable(row, "the baseline was not run"))
            continue
        before, after = cell["baseline_correct"].to_numpy(bool), cell["correct"].to_numpy(bool)
        result = paired_difference(before, after)
        assert result is not None, "a group has at least one row"
        rows.append(
            estimated(
                row
                | {
                    "baseline": result.first,
                    "taboo": result.second,
                    "n_lost": int((before & ~after).sum()),
                    "n_gained": int((~before & after).sum()),
                    "difference": result.value,
                    "low": result.low,
                    "high": result.high,
                    "p_value": result.p_value,
                }
            )
        )
    return adjust(table(rows, COLUMNS), ["study"])
