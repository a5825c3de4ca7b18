"""Accuracy in each precision against the reference precision (paper section 3.1)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures import style

REFERENCE, TOLERANCE = "bf16", 0.07
COLUMNS = [
    *(*chosen.SHOWN, "task", "condition", "rank", "precision", "reference", "n"),
    *("accuracy", "reference_accuracy", "difference", "within"),
]


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per greedy cell that was run in a precision and in the reference over as many items.

    Options: `reference` (`bf16`) and `tolerance` (0.07).
    """
    reference = options.get("reference", REFERENCE)
    shown = chosen.select(cells, options, one_precision=False)
    key = [*chosen.MODEL, "task", "condition", "rank", "n"]
    known = shown[shown["precision"] == reference][[*key, "accuracy"]]
    others = shown[shown["precision"] != reference]
    rows = others.merge(known.rename(columns={"accuracy": "reference_accuracy"}), on=key)
    rows["reference"] = reference
    rows["difference"] = rows["accuracy"] - rows["reference_accuracy"]
    rows["within"] = rows["difference"].abs() <= options.get("tolerance", TOLERANCE) + 1e-9
    rows["size_name"] = [
        style.size_label(*pair) for pair in zip(rows["size_b"], rows["model"], strict=True)
    ]
    return rows[COLUMNS].sort_values(["precision", *key], kind="stable", ignore_index=True)


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw, per precision, one point per cell around the diagonal; points outside the band are named."""
    precisions = sorted(set(data["precision"]), key=lambda name: (name != "nf4", name))
    figure = style.new_figure(3.2, width=min(style.WIDTH, 3.5 * max(len(precisions), 1)))
    if not precisions:
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no cell was run in two precisions")
        return figure
    grid = figure.subplots(1, len(precisions), squeeze=False, sharex=True, sharey=True)[0]
    for axes, precision in zip(grid, precisions, strict=True):
        _panel(axes, data[data["precision"] == precision], options)
        axes.set_ylabel(f"accuracy in {precision} (%)")
        axes.set_xlabel(f"accuracy in {data['reference'].iat[0]} (%)")
    handles = style.alignment_handles(sorted(set(data["alignment"])))
    for handle in handles:
        handle.set_linestyle("none")
    style.head(figure, options, handles)
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    tolerance = options.get("tolerance", TOLERANCE)
    parts = [
        "Accuracy of the same model, task and condition in two precisions, over the same items; one point per cell, the baselines among them.",
        f"Shaded: a difference of at most {tolerance:g}.",
    ]
    for precision, rows in data.groupby("precision"):
        outside = [
            f"{chosen.model_label(row)} at i = {row.rank} ({row.accuracy:.2f} against {row.reference_accuracy:.2f})"
            for row in rows[~rows["within"]].itertuples()
        ]
        parts.append(
            f"{precision}: {len(rows)} cells, median absolute difference {rows['difference'].abs().median():.3f}, {int(rows['within'].sum())} within {tolerance:g}"
            + (f"; outside: {'; '.join(outside)}." if outside else ".")
        )
    if data.empty:
        parts = ["No cell was run in two precisions, so there is nothing to compare."]
    return chosen.sentences([*parts, chosen.count_sentence(data), options.get("notice", "")])


def _panel(axes: Axes, rows: pd.DataFrame, options: dict[str, Any]) -> None:
    tolerance = options.get("tolerance", TOLERANCE)
    ends = [-0.02, 1.02]
    axes.fill_between(
        ends,
        [end - tolerance for end in ends],
        [end + tolerance for end in ends],
        color="#efefef",
        linewidth=0,
        zorder=0.4,
    )
    axes.plot(ends, ends, color=style.MUTED, linewidth=0.7, zorder=0.5)
    for alignment in ("base", "instruct"):
        part = rows[rows["alignment"] == alignment]
        axes.plot(
            part["reference_accuracy"],
            part["accuracy"],
            linestyle="none",
            marker=style.MARKERS[alignment],
            color=style.COLOURS[alignment],
            markeredgecolor="white",
            markeredgewidth=0.4,
            markersize=4,
        )
    outside = rows[~rows["within"]]
    for (x, y), cells in outside.groupby(["reference_accuracy", "accuracy"]):
        names = [f"{chosen.model_label(row)}, i = {row.rank}" for row in cells.itertuples()]
        below = y < x
        axes.annotate(
            "\n".join(names),
            (x, y),
            xytext=(5 if below else -5, -2 if below else 2),
            textcoords="offset points",
            ha="left" if below else "right",
            va="top" if below else "bottom",
            fontsize=6,
        )
    ticks = [0, 0.25, 0.5, 0.75, 1.0]
    axes.set(xlim=ends, ylim=ends, aspect="equal", xticks=ticks, yticks=ticks)
    axes.set_xticklabels([f"{100 * tick:g}" for tick in ticks])
    axes.set_yticklabels([f"{100 * tick:g}" for tick in ticks])
