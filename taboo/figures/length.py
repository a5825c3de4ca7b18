"""Growth of the answers' length under taboo (paper figure 8)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import ordered_tasks, styled, task_label

CURVE = Curve(y="length_expansion", y_label="generated tokens\n(multiple of baseline)", line_at=1.0)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model and dose of the option `task` (without it: GSM8K, or the first task there is)."""
    shown = chosen.select(cells, options)
    task = options.get("task") or next(iter(ordered_tasks(shown["task"])), None)
    rows = chosen.complete(shown[shown["task"] == task], "length_expansion")
    return rows[
        [
            *(*chosen.SHOWN, "task", "rank", "n", "tokens", "length_expansion"),
            *("truncation_rate", "status"),
        ]
    ]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw length curves, families side by side."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    tasks = " and ".join(task_label(task) for task in ordered_tasks(data["task"]))
    return chosen.sentences(
        [
            f"Mean number of generated tokens at taboo rank i over the same model's baseline, on {tasks or 'no task'}; the dotted line is no growth.",
            "Dashed: base; solid: instruct. A model that already runs into its token budget at baseline cannot grow.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
