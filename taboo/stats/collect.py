"""Read tables of several studies as one."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from taboo.stats.csvfile import read_csv
from taboo.stats.tables import read_cells


def read_tables(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """The tables by name (a file's stem: `cells`, or an analysis), studies one below the other.

    Tables lie in one folder per study; one that has no column `study` gets it from its folder.
    """
    found: dict[str, list[pd.DataFrame]] = {}
    for path in map(Path, paths):
        table = read_cells(path) if path.stem == "cells" else read_csv(path)
        if "study" not in table:
            table.insert(0, "study", path.parent.name)
        found.setdefault(path.stem, []).append(table)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in found.items()}
