"""Tables as csv: the same table gives the same bytes, and reading it back loses nothing."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from taboo.files import write_text

KINDS = ("text", "integer", "number", "truth")

# Columns that are text in every table of the project, even where all their values look like numbers.
TEXT_COLUMNS = (
    "study",
    "model",
    "family",
    "alignment",
    "precision",
    "task",
    "condition",
    "mode",
    "quantity",
    "reason",
    "base_model",
    "instruct_model",
    "point",
    "fit",
    "term",
    "level",
    "reference",
    "failure",
    "instruction",
)


def csv_text(frame: pd.DataFrame) -> str:
    """Return `frame` as csv text: its columns in order, no index, `\\n` line ends.

    Floats are written with the fewest digits that read back to the same float, truth values as `true` and `false`, missing values as nothing at all. Infinite numbers raise ValueError naming the column.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(frame.columns)
    columns = [[_text(value, name) for value in frame[name]] for name in frame.columns]
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue()


def write_csv(path: str | Path, frame: pd.DataFrame) -> Path:
    """Write `frame` to `path` atomically, see `csv_text`."""
    return write_text(path, csv_text(frame))


def read_csv(path: str | Path, kinds: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a csv that `write_csv` wrote.

    `kinds` maps a column to `text`, `integer`, `number` or `truth`; `TEXT_COLUMNS` are text; the kind of any other column is the narrowest that all its values fit. An integer or truth column with gaps becomes a nullable column. Raises ValueError naming file, column and value where a value does not fit its kind.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows:
        raise ValueError(f"{path} is empty: a table has at least its header line")
    header, body = rows[0], rows[1:]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, row {number}, has {len(row)} values, the header has {len(header)} columns"
            )
    kinds = dict.fromkeys(TEXT_COLUMNS, "text") | dict(kinds or {})
    return pd.DataFrame(
        {
            name: _column([row[index] for row in body], kinds.get(name), f"{path}, column {name}")
            for index, name in enumerate(header)
        }
    )


def _text(value: Any, column: str) -> str:
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return ""
        if math.isinf(value):
            raise ValueError(f"column {column} holds an infinite number, which no table may")
        return repr(float(value))
    return str(value)


def _column(values: list[str], kind: str | None, where: str) -> pd.Series:
    # A column without any value could be of any kind: numbers read it as all missing.
    candidates = ("truth", "integer", "number", "text") if any(values) else ("number",)
    for candidate in (kind,) if kind else candidates:
        try:
            return _parse(values, candidate)
        except ValueError as error:
            if kind:
                raise ValueError(f"{where}: {error}") from error
    raise AssertionError("every value fits the kind text")


def _parse(values: list[str], kind: str) -> pd.Series:
    if kind == "text":
        return pd.Series(values, dtype="str")
    if kind == "number":
        return pd.Series([float(value) if value else math.nan for value in values], dtype="float64")
    if kind == "integer":
        numbers = [int(value) if value else None for value in values]
        return pd.Series(numbers, dtype="int64" if all(values) else "Int64")
    if kind == "truth":
        if not set(values) <= {"true", "false", ""}:
            raise ValueError(f"not all values are true or false: {sorted(set(values))[:3]}")
        truths = [None if not value else value == "true" for value in values]
        return pd.Series(truths, dtype="bool" if all(values) else "boolean")
    raise ValueError(f"unknown kind {kind!r}, known are {', '.join(KINDS)}")
