"""How often each failure mode occurs (paper, appendix A)."""

from typing import Any

import pandas as pd

from taboo.stats.failure_modes import FAILURE_MODES
from taboo.stats.retention import share
from taboo.stats.rows import estimated, not_estimable, table
from taboo.stats.tables import CELL_KEY

COLUMNS = [*CELL_KEY, "failure", "n_baseline_correct", "n_failed", "count", "rate", "low", "high"]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per taboo cell and failure mode.

    `n_failed` counts the items right at baseline and wrong under taboo, `count` those of them that fail in this mode (taboo/stats/failure_modes.py says what each is); `rate` is their share with its 95 % Wilson interval.
    """
    rows = []
    doses = items[items["rank"] > 0]
    for values, cell in doses.groupby(CELL_KEY, sort=False, dropna=False):
        key = dict(zip(CELL_KEY, values, strict=True))
        failed = cell[cell["failure"] != ""]
        before = cell["baseline_correct"]
        numbers = {"n_baseline_correct": None if before.isna().any() else int(before.sum())}
        for mode in FAILURE_MODES:
            row = key | numbers | {"failure": mode, "n_failed": len(failed)}
            part = share(int((failed["failure"] == mode).sum()), len(failed))
            if before.isna().any():
                rows.append(not_estimable(row | {"n_failed": None}, "the baseline was not run"))
            elif part.value is None:
                right = "no item is right at baseline"
                rows.append(not_estimable(row, "no item fails" if before.any() else right))
            else:
                rows.append(
                    estimated(
                        row
                        | {
                            "count": part.count,
                            "rate": part.value,
                            "low": part.low,
                            "high": part.high,
                        }
                    )
                )
    return table(rows, COLUMNS)
