"""Marginal retention against injected surprisal, the dose that was absorbed (paper figure 7)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import styled

CURVE = Curve(
    y="marginal_retention",
    y_label="marginal retention (accuracy / baseline accuracy)",
    x="delta_s_per_intervention",
    x_label="injected surprisal per intervention (bits); numbers at the points: taboo rank i",
    label_ranks=True,
)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and dose."""
    rows = chosen.complete(chosen.select(cells, options), "marginal_retention")
    return rows[
        [
            *(*chosen.SHOWN, "task", "rank", "n", "n_correct"),
            *("delta_s_per_intervention", "marginal_retention", "status"),
        ]
    ]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw retention over the absorbed dose."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    return chosen.sentences(
        [
            "Marginal retention (accuracy under taboo over accuracy at baseline) against the injected surprisal that was measured; each point is a taboo rank, named beside it.",
            "Dashed: base; solid: instruct. Above 1 a model is more often right under taboo than without.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
