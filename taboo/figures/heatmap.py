"""Retention as annotated heatmaps, with the lift by scale and by alignment (paper figure 1)."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize, to_rgba
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle

from taboo.figures import cells as chosen
from taboo.figures import style

TITLES = {
    "a": "(a) retention by size",
    "b": "(b) scale lift, instruct",
    "c": "(c) retention by family and task",
    "d": "(d) alignment lift, instruct minus base",
}
EMPTY = {
    "a": "no family has two sizes here",
    "b": "no family has two sizes\nof instruct models here",
    "c": "no cell has been run",
    "d": "no family has a base and an instruct model of one size here",
}
COLUMNS = [
    *("panel", "family", "size_b", "size_name", "alignment", "task", "rank"),
    *("n", "n_baseline_correct", "value", "status"),
]


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per square: panel, row (family, size, alignment), task, rank and value.

    Options: `task` and `ladder_family` of panels a and b (without them: the first task there is, the family with the most sizes), `ladder_from` (the smallest size in 10⁹ parameters there), `representative_size` (panels c and d take of each family the size nearest to it in log size, 8 if not given; sizes with both alignments come first). In panels b and d `value` is a difference.
    """
    rows = chosen.complete(chosen.select(cells, options), "retention")
    rows = rows.rename(columns={"retention": "value"})
    ladder = _ladder(rows, options)
    representatives = _representatives(rows, options)
    parts = [
        ladder.assign(panel="a"),
        _lift_by_scale(ladder).assign(panel="b"),
        representatives.assign(panel="c"),
        _lift_by_alignment(representatives).assign(panel="d"),
    ]
    return pd.concat([part[COLUMNS] for part in parts], ignore_index=True)


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw the four panels; a panel without data says why."""
    counts = {panel: max(len(_row_keys(data, panel)), 3) for panel in TITLES}
    units = max(counts["a"] + counts["b"], counts["c"] + counts["d"])
    figure = style.new_figure(1.25 + 0.19 * units)
    tasks = max(data[data["panel"] == "c"]["task"].nunique(), 1)
    style.head(figure, options)
    parts: Any = figure.subfigures(1, 2, width_ratios=[1.5, 0.75 + 0.95 * tasks])
    left, right = parts
    _column(left, data, ("a", "b"), counts)
    _column(right, data, ("c", "d"), counts)
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    ladder = data[data["panel"] == "a"]
    of = (
        f" ({style.family_label(ladder['family'].iat[0])}, {style.task_label(ladder['task'].iat[0])})"
        if len(ladder)
        else ""
    )
    shown = data[data["panel"].isin(["a", "c"])]
    empty = [TITLES[panel] for panel in TITLES if not (data["panel"] == panel).any()]
    return chosen.sentences(
        [
            "Conditional retention in per cent (of the items right at baseline, the share still right under taboo) at each taboo rank i.",
            f"(a) By size{of}; (b) instruct models of (a) minus the smallest of them, in percentage points; (c) one size per family, by task; (d) instruct minus base of (c), in percentage points.",
            "Hatched squares are cells that were not run; n/a: no item right at baseline.",
            f"Nothing to show in {', '.join(empty)}." if empty else "",
            chosen.count_sentence(shown),
            _baseline_range(shown),
            chosen.gap_sentence(shown.drop_duplicates([*_KEY, "task", "rank"]).assign(model="")),
            options.get("notice", ""),
        ]
    )


_KEY = ["family", "size_b", "alignment", "size_name"]


def _ladder(rows: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    task = options.get("task") or next(iter(style.ordered_tasks(rows["task"])), None)
    rows = rows[(rows["task"] == task) & (rows["size_b"] >= options.get("ladder_from", 0))]
    sizes = rows.groupby("family")["size_b"].nunique()
    families = style.ordered_families(rows["family"])
    family = options.get("ladder_family") or max(families, key=lambda name: sizes[name], default="")
    return rows[rows["family"] == family] if sizes.get(family, 0) > 1 else rows.iloc[:0]


def _representatives(rows: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    target = options.get("representative_size", 8)
    parts = []
    for family in style.ordered_families(rows["family"]):
        of_family = rows[rows["family"] == family]
        alignments = of_family.groupby("size_b")["alignment"].nunique()
        size = min(alignments.index, key=lambda s: (-alignments[s], abs(np.log(s / target)), s))
        parts.append(of_family[of_family["size_b"] == size])
    return pd.concat(parts, ignore_index=True) if parts else rows


def _lift_by_scale(ladder: pd.DataFrame) -> pd.DataFrame:
    instruct = ladder[ladder["alignment"] == "instruct"]
    smallest = instruct[instruct["size_b"] == instruct["size_b"].min()]
    larger = instruct[instruct["size_b"] > instruct["size_b"].min()]
    return _difference(larger, smallest, ["task", "rank"])


def _lift_by_alignment(rows: pd.DataFrame) -> pd.DataFrame:
    instruct = rows[rows["alignment"] == "instruct"]
    base = rows[rows["alignment"] == "base"]
    return _difference(instruct, base, ["family", "size_b", "task", "rank"])


def _difference(rows: pd.DataFrame, others: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    pairs = rows.merge(others[[*on, "value", "status"]], on=on, suffixes=("", "_other"))
    worst = np.where(pairs["status"] != "ok", pairs["status"], pairs["status_other"])
    return pairs.assign(value=pairs["value"] - pairs["value_other"], status=worst)


def _row_keys(data: pd.DataFrame, panel: str) -> list[tuple]:
    rows = data[data["panel"] == panel][_KEY].drop_duplicates()
    order = {family: index for index, family in enumerate(style.ordered_families(rows["family"]))}
    return sorted(rows.itertuples(index=False, name=None), key=lambda key: (order[key[0]], key[1:]))


def _column(
    part: SubFigure, data: pd.DataFrame, panels: tuple[str, str], counts: dict[str, int]
) -> None:
    grid = part.subplots(2, 1, height_ratios=[counts[panel] for panel in panels])
    filled = set(data["panel"])
    lifts = data[data["panel"].isin(["b", "d"])]["value"].abs().max()
    widest = max(20.0, 10 * np.ceil(10 * (0.0 if np.isnan(lifts) else lifts)))
    for axes, panel, colours, limits, label in zip(
        grid,
        panels,
        (style.SEQUENTIAL, style.DIVERGING),
        ((0, 100), (-widest, widest)),
        ("retention (%)", "lift (percentage points)"),
        strict=True,
    ):
        colour_map, norm = matplotlib.colormaps[colours], Normalize(*limits)
        _panel(axes, data, panel, colour_map, norm)
        right = {"a": "c", "b": "d"}.get(panel)
        if panel in filled and right not in filled:  # panels side by side share one bar
            bar = part.colorbar(ScalarMappable(norm, colour_map), ax=axes, aspect=22, pad=0.02)
            bar.set_label(label, fontsize=6.5)
            bar.ax.tick_params(labelsize=6)
            bar.outline.set_visible(False)


def _panel(
    axes: Axes, data: pd.DataFrame, panel: str, colour_map: Colormap, norm: Normalize
) -> None:
    rows = data[data["panel"] == panel]
    axes.set_title(TITLES[panel], loc="left", fontsize=7.5, pad=12 if len(rows) else 4)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if rows.empty:
        axes.set_xticks([])
        axes.set_yticks([])
        style.say(axes, EMPTY[panel])
        return
    keys = _row_keys(data, panel)
    tasks, ranks = style.ordered_tasks(rows["task"]), sorted(set(rows["rank"]))
    for row in rows.itertuples():
        x = tasks.index(row.task) * (len(ranks) + 0.25) + ranks.index(row.rank)
        y = keys.index((row.family, row.size_b, row.alignment, row.size_name))
        _square(axes, x, y, row, panel in "bd", colour_map, norm)
    axes.set_xlim(-0.02, len(tasks) * (len(ranks) + 0.25) - 0.25 + 0.02)
    axes.set_ylim(len(keys), 0)
    centres = [
        block * (len(ranks) + 0.25) + index + 0.5
        for block in range(len(tasks))
        for index in range(len(ranks))
    ]
    axes.set_xticks(centres, [str(rank) for rank in ranks] * len(tasks), fontsize=6.5)
    axes.set_yticks(
        [index + 0.5 for index in range(len(keys))],
        [_row_label(key, panel) for key in keys],
        fontsize=6.5,
    )
    axes.tick_params(length=0)
    for block, task in enumerate(tasks):
        middle = block * (len(ranks) + 0.25) + len(ranks) / 2
        axes.text(middle, -0.12, style.task_label(task), ha="center", va="bottom", fontsize=6.5)
    axes.set_xlabel("taboo rank i", fontsize=6.5, labelpad=1)


def _square(
    axes: Axes,
    x: float,
    y: float,
    row: Any,
    signed: bool,
    colour_map: Colormap,
    norm: Normalize,
) -> None:
    known = row.status == "ok"
    percent = 100 * row.value if known else 0.0
    colour = colour_map(norm(percent)) if known else to_rgba(style.MISSING)
    axes.add_patch(
        Rectangle(
            (x + 0.02, y + 0.03),
            width=0.96,
            height=0.94,
            facecolor=colour,
            edgecolor="#bdbdbd",
            linewidth=0,
            hatch="////" if row.status == "missing" else None,
        )
    )
    if row.status == "missing":
        return
    dark = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.55
    axes.text(
        x + 0.5,
        y + 0.5,
        _number(percent, signed) if known else "n/a",
        ha="center",
        va="center",
        fontsize=6 if known else 5.5,
        color=("white" if dark else "black") if known else style.MUTED,
    )


def _number(percent: float, signed: bool) -> str:
    text = f"{percent:+.0f}" if signed else f"{percent:.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def _row_label(key: tuple, panel: str) -> str:
    family, _, alignment, size = key
    words = [] if panel in "ab" else [style.family_label(family)]
    words.append(size)
    return " ".join(words if panel in "bd" else [*words, alignment])


def _baseline_range(rows: pd.DataFrame) -> str:
    counts = rows["n_baseline_correct"].dropna()
    counts = counts[counts > 0]
    if counts.empty:
        return ""
    return f"Items right at baseline, over which a square is computed: {counts.min():g} to {counts.max():g}."
