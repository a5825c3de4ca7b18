"""Compliance with IFEval's instructions, by instruction type (paper section 2.2, the forbidden-words control)."""

import json
from typing import Any

import numpy as np
import pandas as pd

from taboo.stats.differences import paired_difference
from taboo.stats.rows import adjust, estimated, not_estimable, table
from taboo.stats.tables import CELL_KEY

COLUMNS = [
    *CELL_KEY,
    "instruction",
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
    """Return one row per taboo cell of an IFEval task and instruction type, and one for `all` instructions.

    The share of instructions followed (strict verdict) at `baseline` and under `taboo`, the instructions that are lost and gained, and the net change `difference` with its 95 % interval and McNemar's exact p-value. An item can carry several instructions of a type; each counts. Option `instructions`: the types to report, without it all.
    """
    wanted = options.get("instructions")
    rows = []
    ifeval = items[items["task"].str.startswith("ifeval")]
    pairing = ["study", "model", "precision", "task", "temperature", "seed", "max_new_tokens"]
    for _, group in ifeval.groupby(pairing, sort=False, dropna=False):
        before = _verdicts(group[group["rank"] == 0])
        for values, cell in group[group["rank"] > 0].groupby(CELL_KEY, sort=False, dropna=False):
            row = dict(zip(CELL_KEY, values, strict=True))
            after = _verdicts(cell)
            both = before.merge(after, on=["item_id", "place", "instruction"])
            kinds = sorted(set(after["instruction"])) if wanted is None else wanted
            for kind in [*kinds, *(["all"] if wanted is None else [])]:
                part = both if kind == "all" else both[both["instruction"] == kind]
                rows.append(_row(row | {"instruction": kind}, part, before.empty))
    return adjust(table(rows, COLUMNS), ["study"])


def instruction_verdicts(details: str) -> list[tuple[str, bool]]:
    """Return the instruction types of one IFEval score and whether each was followed (strict), read from its `details`.

    Raises ValueError where these are no details of an IFEval score.
    """
    found = json.loads(details)
    names, strict = found.get("instructions"), found.get("strict")
    if not isinstance(names, list) or not isinstance(strict, list) or len(names) != len(strict):
        raise ValueError(
            f"the details of an IFEval score need `instructions` and `strict`, lists of one length: {details}"
        )
    return [(str(name), bool(verdict)) for name, verdict in zip(names, strict, strict=True)]


def _verdicts(cell: pd.DataFrame) -> pd.DataFrame:
    rows = [
        (item_id, place, instruction, followed)
        for item_id, details in zip(cell["item_id"], cell["details"], strict=True)
        for place, (instruction, followed) in enumerate(instruction_verdicts(details))
    ]
    return pd.DataFrame(rows, columns=["item_id", "place", "instruction", "followed"])


def _row(row: dict[str, Any], both: pd.DataFrame, no_baseline: bool) -> dict[str, Any]:
    if no_baseline:
        return not_estimable(row, "the baseline was not run")
    first = both["followed_x"].to_numpy(bool)
    second = both["followed_y"].to_numpy(bool)
    result = paired_difference(first, second)
    if result is None:
        return not_estimable(row | {"n": 0}, "no item has this instruction")
    return estimated(
        row
        | {
            "n": len(both),
            "baseline": result.first,
            "taboo": result.second,
            "n_lost": int(np.sum(first & ~second)),
            "n_gained": int(np.sum(~first & second)),
            "difference": result.value,
            "low": result.low,
            "high": result.high,
            "p_value": result.p_value,
        }
    )
