"""The curves of one group of cells over the taboo rank."""

import io
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from taboo.figures import style

PANELS = (
    ("retention", "retention (%)", 100),
    ("accuracy", "accuracy (%)", 100),
    ("delta_s_per_intervention", "ΔS per intervention (bits)", 1),
    ("tokens", "tokens per item", 1),
)
_SERIES = ["mode", "temperature", "seed", "max_new_tokens"]


def curves_svg(cells: pd.DataFrame) -> bytes:
    """Draw retention, accuracy (both with their 95 % intervals), ΔS and length over the rank, as SVG bytes; the same table gives the same bytes.

    `cells` is the cell table of one model, precision and task. Each mode, temperature, seed and budget is a curve of its own, from its baseline on.
    """
    buffer = io.BytesIO()
    figure = _draw(cells)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Labels as text: the outlines of their letters would be most of the file.
        matplotlib.rcParams.update({**style.STYLE, "svg.fonttype": "none"})
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


@style.styled
def _draw(cells: pd.DataFrame) -> Figure:
    matplotlib.rcParams.update(
        {"font.size": 9, "axes.labelsize": 9, "xtick.labelsize": 8, "ytick.labelsize": 8}
    )
    figure = style.new_figure(4.2, width=6.4)
    grid: Any = figure.subplots(2, 2)
    ranks = sorted(set(cells["rank"]))
    curves = _curves(cells)
    for axes, (column, label, factor) in zip(grid.flat, PANELS, strict=True):
        axes.set_ylabel(label)
        axes.set_xlabel("taboo rank i")
        drawn = [_line(axes, rows, column, factor, ranks, name) for name, rows in curves.items()]
        if not any(drawn):
            style.say(axes, "not defined here")
        style.rank_axis(axes, ranks)
        if factor == 100:
            axes.set_ylim(-4, 104)
        elif any(drawn):
            axes.set_ylim(0, max(1.08 * axes.dataLim.ymax, 1))
    if len(curves) > 1:
        handles, names = grid[0, 1].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3)
    return figure


def _curves(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each curve's rows by its name; a baseline belongs to every mode that is compared with it."""
    found = {}
    dosed = cells[cells["rank"] > 0]
    for values, rows in (dosed if len(dosed) else cells).groupby(_SERIES, sort=False, dropna=False):
        mode, temperature, seed, budget = values
        same = (cells["temperature"] == temperature) & (cells["max_new_tokens"] == budget)
        same &= cells["seed"].isna() if pd.isna(seed) else cells["seed"] == seed
        baseline = cells[same & (cells["rank"] == 0)]
        words = ["word starts" if mode == "word_start" else "inside words"]
        if temperature:
            words.append(f"T={temperature:g} seed {seed}")
        name = ", ".join(words)
        name = f"{name}, {budget} tokens" if name in found else name
        found[name] = pd.concat([baseline, rows[rows["rank"] > 0]]).sort_values("rank")
    return found


def _line(
    axes: Axes, rows: pd.DataFrame, column: str, factor: int, ranks: list[int], name: str
) -> bool:
    x = np.array([style.rank_position(rank, ranks) for rank in rows["rank"]])
    y = factor * rows[column].to_numpy(float)
    if np.isnan(y).all():
        return False
    (line,) = axes.plot(x, y, marker="o", label=name)
    if f"{column}_low" in rows:
        low, high = (factor * rows[f"{column}_{side}"].to_numpy(float) for side in ("low", "high"))
        axes.vlines(x, low, high, color=line.get_color(), linewidth=1.0)
    return True
