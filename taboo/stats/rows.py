"""What the tables of all analyses have in common."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from statsmodels.stats.multitest import multipletests

from taboo.stats.csvfile import TEXT_COLUMNS

WHOLE_COLUMNS = ("seed", "rank", "max_new_tokens", "n", "count")


def estimated(values: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose estimate exists."""
    return values | {"estimable": True, "reason": ""}


def not_estimable(values: dict[str, Any], reason: str) -> dict[str, Any]:
    """Return a row whose estimate does not exist, with the reason in words."""
    return values | {"estimable": False, "reason": reason}


def table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a table with `columns`, then `estimable` and `reason`; counts and ranks stay whole numbers where some are missing."""
    names = [*columns, "estimable", "reason"]
    frame = pd.DataFrame(list(rows), columns=names)
    whole = [name for name in names if name in WHOLE_COLUMNS or name.startswith("n_")]
    texts = [name for name in names if name in TEXT_COLUMNS]
    frame[texts] = frame[texts].fillna("")
    types = dict.fromkeys(whole, "Int64") | dict.fromkeys(texts, "str") | {"estimable": "bool"}
    return frame.astype(types)


def adjust(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Add `n_tests`, `p_holm` and `p_bh` to a table with `p_value`.

    All estimable rows that agree in the columns `by` are one family of hypotheses: Holm's step-down procedure controls the chance of any false rejection in it, that of Benjamini and Hochberg the expected share of false ones among the rejections.
    """
    frame = frame.assign(n_tests=pd.array([pd.NA] * len(frame), dtype="Int64"))
    frame["p_holm"], frame["p_bh"] = float("nan"), float("nan")
    tested = frame[frame["estimable"] & frame["p_value"].notna()]
    for _, rows in tested.groupby(list(by), dropna=False):
        p_values = rows["p_value"].to_numpy(float)
        frame.loc[rows.index, "n_tests"] = len(rows)
        frame.loc[rows.index, "p_holm"] = multipletests(p_values, method="holm")[1]
        frame.loc[rows.index, "p_bh"] = multipletests(p_values, method="fdr_bh")[1]
    last = ["estimable", "reason"]
    return frame[[*(name for name in frame.columns if name not in last), *last]]
