"""Curves over the taboo rank: the grid of panels that most figures share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from taboo.figures import style

DODGE = 0.05  # steps of log2 rank


@dataclass(frozen=True)
class Curve:
    """What the curves of a figure show: columns of its data and their labels.

    `low` and `high` are the bounds of an interval, `reference` a value drawn as a thin horizontal line; `percent` shows the y axis in per cent, `label_ranks` writes the rank beside each point (for an x axis that is not the rank), `line_at` draws a dotted line, `undefined` says why a value can be undefined. `column` is what the columns of panels are.
    """

    y: str
    y_label: str
    x: str = "rank"
    x_label: str = "taboo rank i"
    low: str | None = None
    high: str | None = None
    reference: str | None = None
    percent: bool = False
    label_ranks: bool = False
    line_at: float | None = None
    undefined: str = "none right at baseline"
    column: str = "task"
    y_limits: tuple[float | None, float | None] | None = None


def draw_grid(data: pd.DataFrame, options: dict[str, Any], curve: Curve) -> Figure:
    """Return a figure with one panel per family (row) and task (or whatever `curve.column` names); with one column, families side by side.

    A curve is a model: dashed where base, solid where instruct, coloured by alignment, or by size where a family has several. Breaks in a curve with a cross on the axis are missing cells.
    """
    families = style.ordered_families(data["family"])
    columns = _columns(data, curve)
    if not families:
        figure = style.new_figure(1.6)
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no cell of this figure has been run")
        return figure
    across = len(columns) == 1
    shape = (1, len(families)) if across else (len(families), len(columns))
    figure = style.new_figure(0.75 + shape[0] * (style.PANEL_HEIGHT + 0.4 * across))
    grid = figure.subplots(*shape, squeeze=False, sharex=True, sharey=True)
    sized = _sizes_vary(data)
    colours = style.size_colours(sorted(set(data["size_b"]))) if sized else {}
    for family_index, family in enumerate(families):
        of_family = data[data["family"] == family]
        for column_index, (column, title) in enumerate(columns.items()):
            place = (0, family_index) if across else (family_index, column_index)
            axes = grid[place]
            panel = of_family[of_family[curve.column] == column]
            draw_panel(axes, panel, curve, colours)
            if across:
                axes.set_title(family_title(of_family, sized, " "))
                if sized:
                    _size_legend(axes, of_family, colours, beside=False)
            elif family_index == 0:
                axes.set_title(title)
        if not across:
            grid[family_index, 0].set_ylabel(family_title(of_family, sized, "\n"))
            if sized:
                _size_legend(grid[family_index, -1], of_family, colours, beside=True)
    for axes in grid.flat:
        _set_y(axes, curve)
        if curve.x == "rank":
            style.rank_axis(axes, sorted(set(data["rank"])))
    figure.supxlabel(curve.x_label, fontsize=8)
    figure.supylabel(curve.y_label, fontsize=8, multialignment="center")
    handles = style.alignment_handles(sorted(set(data["alignment"])), neutral=sized)
    style.head(figure, options, handles + extra_handles(data, curve))
    return figure


def draw_panel(axes: Axes, panel: pd.DataFrame, curve: Curve, colours: dict[float, Any]) -> None:
    """Draw the curves of one panel, and mark what is missing or not defined."""
    if panel.empty or (panel["status"] == "missing").all():
        style.say(axes, "not run")
        return
    ranks = sorted(set(panel["rank"]))
    undefined = []
    for _, rows in panel.sort_values("rank").groupby(["size_b", "alignment", "model"], sort=True):
        first = rows.iloc[0]
        colour = colours.get(first["size_b"], style.COLOURS[first["alignment"]])
        if curve.x == "rank":
            x = np.array([style.rank_position(rank, ranks) for rank in rows["rank"]])
            if curve.low and curve.high:  # so that intervals do not hide each other
                x = x + (-DODGE if first["alignment"] == "base" else DODGE)
        else:
            x = rows[curve.x].to_numpy(float)
        y = rows[curve.y].to_numpy(float)
        if curve.reference and rows[curve.reference].notna().any():
            axes.axhline(
                rows[curve.reference].dropna().iat[0],
                color=colour,
                linestyle=style.LINES[first["alignment"]],
                linewidth=0.6,
                alpha=0.8,
            )
        if curve.low and curve.high:
            low, high = rows[curve.low].to_numpy(float), rows[curve.high].to_numpy(float)
            axes.vlines(x, low, high, color=colour, linewidth=1.0)
        axes.plot(
            x,
            y,
            color=colour,
            linestyle=style.LINES[first["alignment"]],
            marker=style.MARKERS[first["alignment"]],
            markeredgecolor="white",
            markeredgewidth=0.4,
        )
        if curve.label_ranks:
            _write_ranks(axes, x, y, rows["rank"], colour, first["alignment"] == "instruct")
        lost = rows["status"].to_numpy() == "missing"
        if curve.x == "rank" and lost.any():
            axes.plot(
                x[lost],
                np.zeros(lost.sum()),
                marker="x",
                linestyle="none",
                color=colour,
                markersize=3.5,
                transform=axes.get_xaxis_transform(),
                clip_on=False,
                zorder=5,
            )
        if "n/a" in set(rows["status"]) and "ok" not in set(rows["status"]):
            undefined.append(first["alignment"])
    if undefined:
        names = " and ".join(sorted(set(undefined)))
        if (panel["status"] != "ok").all():
            style.say(axes, f"{names}: n/a\n({curve.undefined})")
            return
        axes.text(
            0.97,
            0.95,
            f"{names}: n/a\n({curve.undefined})",
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=6,
            color=style.MUTED,
        )
    if curve.line_at is not None:
        axes.axhline(curve.line_at, color=style.MUTED, linestyle=":", linewidth=0.8, zorder=0.5)


def extra_handles(data: pd.DataFrame, curve: Curve) -> list[Line2D]:
    """Return the legend entries for reference lines and missing cells, where there are any."""
    handles = []
    if curve.reference and data[curve.reference].notna().any():
        handles.append(Line2D([], [], color="#333333", linewidth=0.6, label="own baseline"))
    if curve.x == "rank" and (data["status"] == "missing").any():
        handles.append(
            Line2D([], [], color="#333333", marker="x", linestyle="none", label="missing cell")
        )
    return handles


def _columns(data: pd.DataFrame, curve: Curve) -> dict[Any, str]:
    if curve.column == "task":
        return {task: style.task_label(task) for task in style.ordered_tasks(data["task"])}
    return {value: f"{curve.column} {value:g}" for value in sorted(set(data[curve.column]))}


def _sizes_vary(data: pd.DataFrame) -> bool:
    return bool((data.groupby(["family", "alignment"])["size_b"].nunique() > 1).any())


def family_title(rows: pd.DataFrame, sized: bool, gap: str) -> str:
    """Return `Qwen2.5 7B`, without the size where sizes are told apart otherwise, and name an alignment that is absent."""
    title = style.family_label(rows["family"].iat[0])
    if not sized:
        sizes = rows.sort_values("size_b")["size_name"].drop_duplicates()
        title += " " + " / ".join(sizes)
    absent = {"base", "instruct"} - set(rows["alignment"])
    return title + (f"{gap}(no {absent.pop()} model)" if absent else "")


def _set_y(axes: Axes, curve: Curve) -> None:
    if curve.label_ranks:
        axes.margins(y=0.2)  # room for the numbers
    if curve.y_limits:
        axes.set_ylim(*curve.y_limits)
    if curve.percent:
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100"])


def _size_legend(axes: Axes, rows: pd.DataFrame, colours: dict[float, Any], beside: bool) -> None:
    sizes = rows[["size_b", "size_name"]].drop_duplicates("size_b").sort_values("size_b")
    handles = [
        Line2D([], [], color=colours[size_b], linewidth=2, label=size)
        for size_b, size in sizes.itertuples(index=False, name=None)
    ]
    axes.legend(
        handles=handles,
        loc="center left" if beside else "best",
        bbox_to_anchor=(1.0, 0.5) if beside else None,
        fontsize=6.5,
        handlelength=1.0,
        labelspacing=0.25,
        borderpad=0.2,
    )


def _write_ranks(
    axes: Axes, x: np.ndarray, y: np.ndarray, ranks: pd.Series, colour: Any, above: bool
) -> None:
    for across, up, rank in zip(x, y, ranks, strict=True):
        if np.isfinite(across) and np.isfinite(up):
            axes.annotate(
                f"{rank:g}",
                (across, up),
                xytext=(0, 3.5 if above else -3.5),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=5.5,
                color=colour,
            )
