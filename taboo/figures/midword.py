"""Masking inside words against masking at word starts (paper section 2.2)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from taboo.figures import cells as chosen
from taboo.figures import style

PLACES = {
    "baseline": ("no mask", "#7f7f7f", "D"),
    "word_start": ("at word starts", "#009e73", "o"),
    "mid_word": ("inside words", "#cc4f8f", "X"),
}
COLUMNS = [
    *(*chosen.SHOWN, "task", "rank", "place", "n", "n_correct"),
    *("accuracy", "accuracy_low", "accuracy_high", "interventions", "delta_s_per_intervention"),
]


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return up to three rows per model that has a mid-word cell: unmasked, masked at word starts, and inside words.

    Options: `task` (without it GSM8K, or the first with a mid-word cell) and `rank` (without it the lowest with one).
    """
    start = chosen.select(cells, options, mode="word_start")
    inside = chosen.select(cells, options, mode="mid_word")
    inside = inside[inside["mode"] == "mid_word"]
    task = options.get("task") or next(iter(style.ordered_tasks(inside["task"])), None)
    inside = inside[inside["task"] == task]
    rank = options.get("rank") or (inside["rank"].min() if len(inside) else 0)
    inside = inside[inside["rank"] == rank]
    start = start[start["rank"].isin([0, rank]) & (start["task"] == task)]
    start = start[start["model"].isin(inside["model"])]
    rows = pd.concat([start, inside], ignore_index=True)
    rows["place"] = np.where(rows["rank"] == 0, "baseline", rows["mode"])
    rows["size_name"] = [
        style.size_label(*pair) for pair in zip(rows["size_b"], rows["model"], strict=True)
    ]
    order = {family: index for index, family in enumerate(style.ordered_families(rows["family"]))}
    rows["order"] = rows["family"].map(order)
    keys = ["order", "size_b", "alignment", "model"]
    return rows.sort_values(keys, kind="stable", ignore_index=True)[COLUMNS]


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw accuracy and injected surprisal, one line of dots per model."""
    models = list(dict.fromkeys(data["model"]))
    figure = style.new_figure(1.1 + 0.24 * max(len(models), 3))
    if not models:
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no mid-word condition has been run")
        return figure
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.6, 1])
    for place, (_, colour, marker) in PLACES.items():
        rows = data[data["place"] == place]
        y = np.array([models.index(model) for model in rows["model"]], float)
        shift = {"baseline": -0.22, "word_start": 0.0, "mid_word": 0.22}[place]
        look = {"linestyle": "none", "color": colour, "marker": marker, "markersize": 4.5}
        left.hlines(y + shift, rows["accuracy_low"], rows["accuracy_high"], color=colour)
        left.plot(rows["accuracy"], y + shift, markeredgecolor="white", markeredgewidth=0.4, **look)
        if place != "baseline":
            right.plot(rows["delta_s_per_intervention"], y, **look)
    labels = data.drop_duplicates("model")
    left.set_yticks(
        range(len(models)), [chosen.model_label(row) for row in labels.itertuples()], fontsize=7
    )
    left.set_ylim(len(models) - 0.5, -0.5)
    left.set_xlim(-0.02, 1.02)
    left.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100"])
    left.set_xlabel(f"accuracy on {style.task_label(data['task'].iat[0])} (%)")
    right.set_xlabel("injected surprisal per intervention (bits)")
    right.set_xlim(0, 1.08 * right.get_xlim()[1])
    for axes in (left, right):
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
    handles = [
        Line2D([], [], linestyle="none", color=colour, marker=marker, label=label)
        for place, (label, colour, marker) in PLACES.items()
        if (data["place"] == place).any()
    ]
    style.head(figure, options, handles)
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    if data.empty:
        return chosen.sentences(
            ["No condition that masks inside words has been run.", options.get("notice", "")]
        )
    rank = data["rank"].max()
    inside = data[data["place"] == "mid_word"]
    absent = sorted(
        chosen.model_label(row)
        for row in inside.itertuples()
        if not ((data["model"] == row.model) & (data["place"] == "word_start")).any()
    )
    return chosen.sentences(
        [
            f"The top {rank} tokens masked at word starts, or inside words instead (the nominal token continues a word); left accuracy with 95 % Wilson intervals, right the injected surprisal.",
            f"Inside words, accuracy is {inside['accuracy'].min():.2f} to {inside['accuracy'].max():.2f}.",
            chosen.count_sentence(data),
            f"Missing at word starts (not run): {'; '.join(absent)}." if absent else "",
            options.get("notice", ""),
        ]
    )
