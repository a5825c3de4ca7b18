"""Base against instruct: how far apart are they, and could it be chance?"""

from typing import Any

import numpy as np
import pandas as pd

from taboo.stats.differences import Difference, paired_difference, share_difference
from taboo.stats.pairs import CONDITION_KEY, PAIR_KEY, pairs, side_by_side
from taboo.stats.rows import adjust, estimated, not_estimable, table

QUANTITIES = ("accuracy", "retention", "retention_common")
COLUMNS = [
    *PAIR_KEY,
    *CONDITION_KEY,
    "quantity",
    "base_model",
    "instruct_model",
    "n_base",
    "n_instruct",
    "n_shared",
    "base",
    "instruct",
    "difference",
    "low",
    "high",
    "p_value",
]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per base and instruct pair, condition and quantity: both values, instruct minus base with its 95 % interval, and the p-value of no gap.

    The quantities: `accuracy` over all items (paired, McNemar's exact test); `retention`, each model over its own items right at baseline, as the paper reports it (score test that allows for the shared items); `retention_common`, over the items that both models get right at baseline (paired, McNemar's exact test). `p_holm` and `p_bh` correct over all estimable rows of one study and quantity (`n_tests`).
    """
    rows = []
    for pair in pairs(items, [*PAIR_KEY, *CONDITION_KEY]):
        quantities = QUANTITIES if pair.key["rank"] > 0 else QUANTITIES[:1]
        if pair.reason:
            rows += [not_estimable(pair.key | {"quantity": q}, pair.reason) for q in quantities]
            continue
        both = side_by_side(pair.base, pair.instruct)
        with_baseline = not (
            pair.base["baseline_correct"].isna().any()
            or pair.instruct["baseline_correct"].isna().any()
        )
        for quantity in quantities:
            row = pair.key | {"quantity": quantity}
            if quantity != "accuracy" and not with_baseline:
                rows.append(not_estimable(row, "the baseline was not run"))
                continue
            result = _difference(both, quantity)
            if result is None:
                rows.append(not_estimable(row, _nothing(both, quantity)))
            else:
                rows.append(estimated(row | _values(result)))
    return adjust(table(rows, COLUMNS), ["study", "quantity"])


def _difference(both: pd.DataFrame, quantity: str) -> Difference | None:
    columns = {
        name: both[name].to_numpy(bool) for name in both if name != "_merge" and name != "item_id"
    }
    base, instruct = columns["correct_base"], columns["correct_instruct"]
    right_base = columns["baseline_correct_base"]
    right_instruct = columns["baseline_correct_instruct"]
    if quantity == "retention":
        return share_difference(base, right_base, instruct, right_instruct)
    shared = columns["in_base"] & columns["in_instruct"]
    if quantity == "retention_common":
        shared = shared & right_base & right_instruct
    elif not np.array_equal(columns["in_base"], columns["in_instruct"]):
        return share_difference(base, columns["in_base"], instruct, columns["in_instruct"])
    return paired_difference(base[shared], instruct[shared])


def _nothing(both: pd.DataFrame, quantity: str) -> str:
    if quantity == "retention_common":
        return "no item is right at baseline for both models"
    models = [name for name in ("base", "instruct") if not both[f"baseline_correct_{name}"].any()]
    return f"no item is right at baseline for the {' and the '.join(models)} model"


def _values(result: Difference) -> dict[str, Any]:
    return {
        "n_base": result.n_first,
        "n_instruct": result.n_second,
        "n_shared": result.n_shared,
        "base": result.first,
        "instruct": result.second,
        "difference": result.value,
        "low": result.low,
        "high": result.high,
        "p_value": result.p_value,
    }
