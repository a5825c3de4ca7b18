"""Conditional retention against taboo rank, families × tasks (paper figure 2)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import styled

CURVE = Curve(
    y="retention",
    y_label="conditional retention (%)",
    low="retention_low",
    high="retention_high",
    percent=True,
    y_limits=(-0.03, 1.03),
)
COLUMNS = ["n", "n_baseline_correct", "n_retained", "retention", "retention_low", "retention_high"]


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and dose."""
    rows = chosen.complete(chosen.select(cells, options), "retention")
    return rows[[*chosen.SHOWN, "task", "rank", *COLUMNS, "status"]]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw retention curves with their intervals."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    return chosen.sentences(
        [
            "Conditional retention (of the items a model gets right at baseline, the share it still gets right under taboo) against taboo rank i.",
            "Dashed: base; solid: instruct. Bars: 95 % Wilson intervals over the items right at baseline.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
