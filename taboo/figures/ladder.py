"""Accuracy against dose for every model size (paper figure 3)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import styled

CURVE = Curve(
    y="accuracy",
    y_label="accuracy (%)",
    x_label="taboo rank i (0: baseline)",
    percent=True,
    y_limits=(-0.03, 1.03),
)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and dose, the baseline among them."""
    rows = chosen.complete(chosen.select(cells, options), "accuracy", doses_only=False)
    return rows[
        [
            *(*chosen.SHOWN, "task", "rank", "n", "n_correct"),
            *("accuracy", "accuracy_low", "accuracy_high", "status"),
        ]
    ]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw accuracy curves, coloured by size where a family has several."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    ladders = data.groupby("family")["size_b"].nunique()
    several = (ladders > 1).any()
    return chosen.sentences(
        [
            "Accuracy against taboo rank i, from the unmasked baseline on, for every model size.",
            "Light: small, dark: large; dashed: base, solid: instruct."
            if several
            else "No family has more than one size here, so there is no ladder to see. Dashed: base; solid: instruct.",
            "Intervals are left out for legibility; they are in the figure's csv (95 % Wilson).",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
