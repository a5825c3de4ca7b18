"""Marginal retention under temperature sampling, over seeds (paper, limitations)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures.lines import Curve, draw_grid
from taboo.figures.style import ordered_tasks, styled, task_label

CURVE = Curve(
    y="mean",
    y_label="marginal retention (accuracy / baseline accuracy)",
    low="minimum",
    high="maximum",
    column="temperature",
    y_limits=(-0.03, None),
)


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, temperature and dose of one task: mean, range and standard deviation over the seeds.

    Option `task`: without it GSM8K, or the first task there is.
    """
    shown = chosen.select(cells, options, greedy=False)
    shown = shown[shown["temperature"] > 0]
    task = options.get("task") or next(iter(ordered_tasks(shown["task"])), None)
    shown = shown[shown["task"] == task]
    parts = []
    for temperature, rows in shown.groupby("temperature"):
        seeds = rows.groupby([*chosen.MODEL, "task", "rank"], sort=False)
        summary = seeds.agg(
            n=("n", "first"),
            n_baseline_correct=("n_baseline_correct", "sum"),
            n_seeds=("seed", "nunique"),
            mean=("marginal_retention", "mean"),
            sd=("marginal_retention", "std"),
            minimum=("marginal_retention", "min"),
            maximum=("marginal_retention", "max"),
        ).reset_index()
        parts.append(chosen.complete(summary, "mean").assign(temperature=temperature))
    columns = [*chosen.SHOWN, "task", "temperature", "rank", "n", "n_seeds"]
    columns += ["mean", "sd", "minimum", "maximum", "status"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


@styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw retention curves, a column per temperature."""
    return draw_grid(data, options, CURVE)


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    if data.empty:
        return chosen.sentences(
            ["No cell with a temperature above 0 has been run.", options.get("notice", "")]
        )
    tasks = " and ".join(task_label(task) for task in ordered_tasks(data["task"]))
    seeds = sorted({f"{count:g}" for count in data["n_seeds"].dropna()})
    spread = data["sd"].max()
    return chosen.sentences(
        [
            f"Marginal retention on {tasks} when tokens are sampled (top-p 1, no top-k), each seed against its own unmasked baseline.",
            f"Points: mean over seeds ({' or '.join(seeds)} per cell); bars: smallest and largest seed.",
            "" if pd.isna(spread) else f"Largest standard deviation over seeds: {spread:.3f}.",
            "Dashed: base; solid: instruct.",
            chosen.model_sentence(data),
            chosen.count_sentence(data),
            chosen.gap_sentence(data),
            options.get("notice", ""),
        ]
    )
