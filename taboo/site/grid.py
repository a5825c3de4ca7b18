"""The grid of a study's cells, coloured by retention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import matplotlib
import pandas as pd
from matplotlib.colors import to_hex

from taboo.figures.style import SEQUENTIAL, family_label, ordered_tasks, task_label
from taboo.site.words import NOT_DEFINED, counted, percent, short_condition

_SHADE = matplotlib.colormaps[SEQUENTIAL]
_ROW = ["family", "size_b", "alignment", "model", "precision"]


@dataclass(frozen=True)
class Square:
    """One cell of the grid: `kind` is `retention`, `accuracy` (a baseline), `undefined` or `missing`; `address` is empty where there is no cell, `colours` where it has none."""

    kind: str
    text: str
    title: str
    address: str = ""
    colours: str = ""


@dataclass(frozen=True)
class Row:
    """One model in one precision; `squares` by task, in the order of the columns."""

    label: str
    words: str
    precision: str
    alignment: str
    squares: Mapping[str, list[Square]]


@dataclass(frozen=True)
class Grid:
    """One study; `columns` are the headings of its conditions by task."""

    study: str
    title: str
    rows: list[Row]
    columns: Mapping[str, list[str]]
    task_labels: Mapping[str, str]
    notes: str


def study_grid(cells: pd.DataFrame, labels: Mapping[str, str], title: str) -> Grid:
    """The grid of one study from its cell table; `labels` are the models' names.

    Every model and precision has a square for every condition that its study has of a task: what the table lacks is `missing`.
    """
    study = str(cells["study"].iat[0])
    tasks = ordered_tasks(cells["task"])
    conditions = {
        task: list(dict.fromkeys(cells[cells["task"] == task]["condition"])) for task in tasks
    }
    rows = []
    known = {(row.model, row.precision, row.task, row.condition): row for row in cells.itertuples()}
    for family, _, alignment, model, precision in (
        cells[_ROW].drop_duplicates().itertuples(index=False)
    ):
        label = labels.get(model, model)
        squares = {
            task: [
                _square(known.get((model, precision, task, name)), study, label, name)
                for name in conditions[task]
            ]
            for task in tasks
        }
        words = f"{label} {model} {family_label(family)} {alignment} {precision}"
        rows.append(Row(label, words.lower(), precision, alignment, squares))
    sizes = {task: sorted(set(cells[cells["task"] == task]["n"])) for task in tasks}
    notes = ", ".join(
        f"{task_label(task)} {'/'.join(map(str, numbers))}" for task, numbers in sizes.items()
    )
    return Grid(
        study,
        title,
        rows,
        {task: [short_condition(name) for name in names] for task, names in conditions.items()},
        {task: task_label(task) for task in tasks},
        f"Items per cell: {notes}.",
    )


def colours(share: float) -> str:
    """The background of a share, and black or white on it, whichever can be read better, as CSS declarations."""
    shade = _SHADE(share)
    ink = "#000" if luminance(shade) > 0.179 else "#fff"
    return f"background:{to_hex(shade)};color:{ink}"


def luminance(colour: Sequence[float]) -> float:
    """Relative luminance of a colour with parts from 0 to 1 (WCAG 2.2); at 0.179 black and white have the same contrast to it."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _square(row: Any, study: str, label: str, condition: str) -> Square:
    name = f"{label}, {short_condition(condition)}"
    if row is None:
        return Square("missing", "", f"{name}: not run")
    parts = (study, row.model, row.precision, row.task, row.condition)
    address = "/".join(quote(part, safe="") for part in parts)
    name = f"{label} on {task_label(row.task)}, {short_condition(condition)}"
    if row.rank == 0:
        right = f"{percent(row.accuracy)} right, {counted(row.n_correct, row.n)}"
        return Square("accuracy", f"{100 * row.accuracy:.0f}", f"{name}: {right}", address)
    if pd.isna(row.retention):
        none = (
            "the baseline was not run"
            if pd.isna(row.n_baseline_correct)
            else "no item is right at baseline"
        )
        return Square("undefined", NOT_DEFINED, f"{name}: {none}", address)
    kept = f"{percent(row.retention)} retained, {counted(row.n_retained, row.n_baseline_correct)}"
    return Square(
        "retention",
        f"{100 * row.retention:.0f}",
        f"{name}: {kept}",
        address,
        colours(row.retention),
    )
