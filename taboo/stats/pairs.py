"""Base and instruct checkpoints of one family and size, put side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

PAIR_KEY = ["study", "family", "size_b", "precision", "task"]
CONDITION_KEY = ["condition", "mode", "rank", "temperature", "seed", "max_new_tokens"]


@dataclass(frozen=True)
class Pair:
    """The item rows of a base and an instruct model under the same `key`; `reason` says why one of them is absent."""

    key: dict[str, Any]
    base: pd.DataFrame
    instruct: pd.DataFrame
    reason: str = ""


def pairs(items: pd.DataFrame, by: list[str]) -> Iterator[Pair]:
    """Yield every base and instruct model that agree in the columns `by`, in the order of the table.

    Where a family and size has only one of the two, the pair has a `reason`. Where it has several of one alignment, each of them is paired with each of the other.
    """
    for values, rows in items.groupby(by, sort=False, dropna=False):
        key = dict(zip(by, values, strict=True))
        base, instruct = (
            [
                model
                for _, model in rows[rows["alignment"] == alignment].groupby("model", sort=False)
            ]
            for alignment in ("base", "instruct")
        )
        nothing = rows.iloc[:0]
        if not base or not instruct:
            absent = "instruct" if base else "base"
            for model in base or instruct:
                yield Pair(
                    key | _names(model if base else nothing, model if instruct else nothing),
                    model if base else nothing,
                    model if instruct else nothing,
                    f"no {absent} model of this family and size",
                )
        for one in base:
            for other in instruct:
                yield Pair(key | _names(one, other), one, other)


def side_by_side(base: pd.DataFrame, instruct: pd.DataFrame) -> pd.DataFrame:
    """Return one row per item of either model: `correct` and `baseline_correct` of both, absent ones as False, and whether each model has the item."""
    columns = ["item_id", "correct", "baseline_correct"]
    both = base[columns].merge(
        instruct[columns],
        on="item_id",
        how="outer",
        suffixes=("_base", "_instruct"),
        indicator=True,
    )
    both["in_base"] = both["_merge"] != "right_only"
    both["in_instruct"] = both["_merge"] != "left_only"
    truths = [name for name in both.columns if name.endswith(("_base", "_instruct"))]
    return both.assign(**{name: both[name].fillna(False).astype(bool) for name in truths})


def _names(base: pd.DataFrame, instruct: pd.DataFrame) -> dict[str, str]:
    return {
        "base_model": "" if base.empty else base["model"].iat[0],
        "instruct_model": "" if instruct.empty else instruct["model"].iat[0],
    }
