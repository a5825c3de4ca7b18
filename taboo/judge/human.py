"""Verdicts of people: a sheet to fill in, and reading it back."""

import csv
from pathlib import Path

import pandas as pd

KEY = ("model", "precision", "task", "condition", "item_id")
SHEET_COLUMNS = (*KEY, "question", "reference", "text", "human")
_LABELS = ("right", "wrong", "")


def sheet(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what a person needs to judge the same generations, without any verdict, with an empty column `human` to fill in."""
    return rows.assign(human="")[list(SHEET_COLUMNS)]


def add_labels(rows: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """Return the rows that a person has judged, with the verdict in the column `human`.

    The csv needs the columns of `KEY` and `human`, which is `right`, `wrong` or empty; further columns do not matter. Raises ValueError naming file and line for a missing column, another label, a generation that is not among `rows`, and one that is labelled twice.
    """
    positions = {key: place for place, key in enumerate(rows[list(KEY)].itertuples(index=False))}
    labels: dict[int, str] = {}
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        missing = [name for name in (*KEY, "human") if name not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"{path} lacks the column {', '.join(missing)}")
        for line in reader:
            where = f"{path}, line {reader.line_num}"
            label = (line["human"] or "").strip()
            if label not in _LABELS:
                raise ValueError(
                    f"{where}: human is {label!r}, allowed are right, wrong or nothing"
                )
            place = positions.get(tuple(line[name] for name in KEY))
            if place is None:
                name = "/".join(str(line[part]) for part in KEY)
                raise ValueError(f"{where}: {name} is not among the judged generations")
            if place in labels:
                raise ValueError(f"{where}: this generation has a line already")
            labels[place] = label
    chosen = {place: label for place, label in sorted(labels.items()) if label}
    return rows.iloc[list(chosen)].assign(human=list(chosen.values()))
