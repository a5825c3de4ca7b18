"""Read the cells of a study from their files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from taboo.cells import read_cell
from taboo.conditions import parse_condition
from taboo.stats.tables import CellInput


def read_inputs(
    specs: Iterable[Mapping[str, Any]],
    cells: Iterable[str | Path],
    scores: Iterable[str | Path],
) -> list[CellInput]:
    """One `CellInput` per spec, cell file and score file, cut to the study's first `n` items.

    A spec holds the fields of `CellInput` that are not files, with the condition's name and the task's `max_new_tokens` in place of a condition, and `n`. Raises ValueError naming a cell that has fewer than `n` items.
    """
    inputs = []
    for spec, cell, score in zip(specs, cells, scores, strict=True):
        rest = dict(spec)
        n = rest.pop("n")
        condition = parse_condition(rest.pop("condition"), rest.pop("max_new_tokens"))
        table = read_cell(cell)[0].to_pandas()
        if len(table) < n:
            raise ValueError(f"{cell} has {len(table)} items, the study needs {n}")
        inputs.append(
            CellInput(
                **rest,
                condition=condition,
                cell=table.head(n),
                scores=pd.read_parquet(score).head(n),
            )
        )
    return inputs
