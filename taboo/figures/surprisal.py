"""Mean injected surprisal per intervention against taboo rank (paper figure 4)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import styled

CURVE = Curve(
    y="delta_s_per_intervention",
    y_label="injected surprisal per intervention (bits)",
    undefined="no step was masked",
)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task and dose."""
    rows = chosen.complete(chosen.select(cells, options), "delta_s_per_intervention")
    return rows[
        [*chosen.SHOWN, "task", "rank", "n", "interventions", "delta_s_per_intervention", "status"]
    ]


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw surprisal curves."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    return chosen.sentences(
        [
            "Injected surprisal per intervention (mean over all interventions of a cell, in bits of the model's own unmasked distribution) against taboo rank i.",
            "Dashed: base; solid: instruct.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data, "no step was masked"),
            options.get("notice", ""),
        ]
    )
