"""The cells of one (study, model, precision, task) as the data of the pages that show them."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tokenizers import Tokenizer

from taboo.figures.style import task_label
from taboo.files import write_text
from taboo.site.curves import curves_svg
from taboo.site.gold import gold_answer
from taboo.site.marks import Names, packed_marks, split
from taboo.site.words import counted, number, percent, rate, short_condition
from taboo.stats.tables import CellInput, cell_table, item_table


def group_data(
    cells: Sequence[CellInput],
    sample: Sequence[Mapping[str, Any]],
    tokenizer: Tokenizer,
    label: str,
) -> dict[str, Any]:
    """What `cell.html` and `item.html` show of the cells of one group, as JSON-able values.

    `cells` are all cells of one study, model, precision and task, `sample` the lines of their sample, `tokenizer` the model's and `label` its name. Every list of a cell has one entry per item in sample order; `correct` and `before` (right at baseline) have one character per item: `1`, `0`, or `-` where the baseline was not run. Raises ValueError where the sample has other items than the cells.
    """
    first = cells[0]
    ids = list(first.cell["item_id"])
    lines = list(sample)[: len(ids)]
    if [line["item_id"] for line in lines] != ids:
        raise ValueError(f"the sample does not hold the items of {first.name} in their order")
    items = item_table(cells)
    table = cell_table(items)
    rows = {row.condition: row for row in table.itertuples()}
    names = Names(tokenizer)
    shown = [
        _cell(cell, items[items["condition"] == cell.condition.name], rows, tokenizer, names)
        for cell in cells
    ]
    drawn = curves_svg(table)
    return {
        "study": first.study,
        "model": first.model,
        "label": label,
        "precision": first.precision,
        "task": first.task,
        "task_label": task_label(first.task),
        "items": [
            {
                "id": line["item_id"],
                "question": line["prompt"][len(line["prefix"]) :].strip(),
                "gold": gold_answer(first.task, line["item"]),
            }
            for line in lines
        ],
        "cells": shown,
        "nominal": names.texts,
        "curves": f"data:image/svg+xml;base64,{b64encode(drawn).decode()}",
    }


def write_data(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write `data` as a script that hands it to the page.

    All but ASCII is escaped, so no text can end the script's string, whatever a model wrote.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    write_text(path, f"taboo.receive({text});\n")


def facts(row: Any) -> list[tuple[str, str]]:
    """The numbers of a cell's row in the cell table, each with its name; a baseline has those alone that compare with nothing."""
    right = rate(row.n_correct, row.n, row.accuracy, row.accuracy_low, row.accuracy_high)
    of_baseline = (row.n_retained, row.n_baseline_correct, row.retention)
    against_baseline = [
        ("right at baseline", counted(row.n_baseline_correct, row.n)),
        (
            "of these still right (retention)",
            rate(*of_baseline, row.retention_low, row.retention_high),
        ),
        ("marginal retention", percent(row.marginal_retention)),
        ("wrong at baseline, right here", counted(row.n_recovered, row.n_baseline_wrong)),
        ("interventions per item", number(row.interventions)),
        ("ΔS per intervention", number(row.delta_s_per_intervention, 2, "bits")),
        ("ΔS per item", number(row.delta_s_total, 1, "bits")),
        ("length over baseline", number(row.length_expansion, 2)),
    ]
    return [
        ("right", right),
        *(against_baseline if row.rank else []),
        ("tokens per item", number(row.tokens)),
        ("ran to the budget", percent(row.truncation_rate)),
        ("ends in a loop", percent(row.repetition_rate)),
    ]


def _cell(
    cell: CellInput,
    items: pd.DataFrame,
    rows: Mapping[str, Any],
    tokenizer: Tokenizer,
    names: Names,
) -> dict[str, Any]:
    texts, marks, read_to = [], [], []
    for generation in cell.cell.itertuples():
        parts = split(generation.token_ids, tokenizer)
        whole = "".join(parts)
        texts.append(whole)
        # What was cut off (a stop string, the end-of-text token) was not scored.
        is_start = whole.startswith(generation.text)
        read_to.append(len(generation.text) if is_start else len(whole))
        marks.append(
            packed_marks(
                parts, generation.nominal_ids, generation.delta_s, generation.intervened, names
            )
        )
    row = rows[cell.condition.name]
    return {
        "name": cell.condition.name,
        "short": short_condition(cell.condition.name),
        "series": cell.condition.baseline_name,
        "rank": cell.condition.rank,
        "facts": [list(fact) for fact in facts(row)],
        "retention": percent(row.retention),
        "correct": "".join("1" if right else "0" for right in items["correct"]),
        "before": "".join("-" if pd.isna(b) else str(int(b)) for b in items["baseline_correct"]),
        "outcome": list(items["outcome"]),
        "rule": list(items["rule"]),
        "read": [None if pd.isna(answer) else str(answer) for answer in cell.scores["extracted"]],
        "failure": [mode.replace("_", " ") for mode in items["failure"]],
        "ended": list(items["finish_reason"]),
        "tokens": [int(count) for count in items["tokens"]],
        "interventions": [int(count) for count in items["interventions"]],
        "bits": [round(float(bits), 2) for bits in items["delta_s_total"]],
        "text": texts,
        "read_to": read_to,
        "marks": marks,
    }
