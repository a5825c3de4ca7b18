"""Retention under temperature sampling, over seeds (paper, limitations: decoding regime)."""

from typing import Any

import numpy as np
import pandas as pd

from taboo.stats.rows import estimated, not_estimable, table

KEY = ["study", "family", "size_b", "precision", "task", "temperature", "mode", "rank"]
COLUMNS = [
    *KEY,
    "max_new_tokens",
    "quantity",
    "model",
    "alignment",
    "n_seeds",
    "mean",
    "sd",
    "minimum",
    "maximum",
]


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, temperature and dose (`marginal_retention`), and one per base and instruct pair (`gap`: instruct minus base, seed by seed).

    `mean`, `sd` (over seeds, n − 1), `minimum` and `maximum` of the marginal retention, each seed against its own baseline. With one seed there is a mean but no spread: `sd` is empty.
    """
    sampled = cells[(cells["rank"] > 0) & (cells["temperature"] > 0)]
    rows = []
    for values, group in sampled.groupby([*KEY, "max_new_tokens"], sort=False):
        key = dict(zip([*KEY, "max_new_tokens"], values, strict=True))
        by_model = {}
        for (alignment, model), seeds in group.groupby(["alignment", "model"], sort=False):
            names = {"model": model, "alignment": alignment, "quantity": "marginal_retention"}
            retention = seeds.set_index("seed")["marginal_retention"]
            by_model[alignment, model] = retention
            rows.append(_row(key | names, retention, "no item is right at baseline"))
        for (first, base), one in by_model.items():
            for (second, instruct), other in by_model.items():
                if (first, second) == ("base", "instruct"):
                    names = {"model": f"{instruct} - {base}", "quantity": "gap"}
                    reason = "the two models share no seed with a retention"
                    rows.append(_row(key | names, (other - one).dropna().round(12), reason))
    return table(rows, COLUMNS)


def _row(row: dict[str, Any], values: pd.Series, reason: str) -> dict[str, Any]:
    numbers = values.to_numpy(float)
    row = row | {"n_seeds": len(numbers)}
    if not len(numbers) or not np.isfinite(numbers).all():
        return not_estimable(row, reason)
    return estimated(
        row
        | {
            "mean": float(numbers.mean()),
            "sd": float(numbers.std(ddof=1)) if len(numbers) > 1 else None,
            "minimum": float(numbers.min()),
            "maximum": float(numbers.max()),
        }
    )
