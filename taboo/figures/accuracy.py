"""Accuracy against taboo rank, with each model's baseline (paper figure 6)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import styled

CURVE = Curve(
    y="accuracy",
    y_label="accuracy (%)",
    low="accuracy_low",
    high="accuracy_high",
    reference="baseline_accuracy",
    percent=True,
    y_limits=(-0.03, 1.03),
)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and dose, with the accuracy of the model's baseline beside it."""
    shown = chosen.select(cells, options)
    rows = chosen.complete(shown, "accuracy")
    baselines = shown[shown["rank"] == 0][["model", "task", "accuracy"]]
    rows = rows.merge(
        baselines.rename(columns={"accuracy": "baseline_accuracy"}),
        on=["model", "task"],
        how="left",
    )
    return rows[
        [
            *(*chosen.SHOWN, "task", "rank", "n", "n_correct", "accuracy"),
            *("accuracy_low", "accuracy_high", "baseline_accuracy", "status"),
        ]
    ]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw accuracy curves and thin baselines."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    return chosen.sentences(
        [
            "Accuracy against taboo rank i; thin horizontal lines are the models' unmasked baselines.",
            "Dashed: base; solid: instruct. Bars: 95 % Wilson intervals.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
