"""Agreement of the LLM judge with the deterministic scorers (paper section 3.3)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from taboo.figures import cells as chosen
from taboo.figures import style

COLUMNS = ["task", "group", "n", "agreement", "low", "high", "kappa", "ac1"]
COEFFICIENTS = {
    "kappa": ("Cohen's kappa", "#d55e00", "o"),
    "ac1": ("Gwet's AC1", "#009e73", "D"),
}


def prepare(agreement: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per task and group of judged items.

    `agreement` is the judge's table: `group` is `all`, `baseline`, `taboo` or a condition, `agreement` the share of its `n` items on which judge and scorer agree, `low` and `high` its 95 % Wilson interval, `kappa` and `ac1` the chance-corrected coefficients (missing where not estimable).
    """
    rows = agreement.reset_index(drop=True)
    if options.get("tasks") is not None:
        rows = rows[rows["task"].isin(options["tasks"])]
    tasks = {task: index for index, task in enumerate(style.ordered_tasks(rows["task"]))}
    groups = {"all": 0, "baseline": 1, "taboo": 2}
    order = pd.DataFrame(
        {
            "task": [tasks[task] for task in rows["task"]],
            "group": [groups.get(group, len(groups)) for group in rows["group"]],
            "name": list(rows["group"]),
        },
        index=rows.index,
    ).sort_values(["task", "group", "name"], kind="stable")
    return rows.loc[order.index, COLUMNS].reset_index(drop=True)


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw agreement and its coefficients, one line of dots per task and group."""
    figure = style.new_figure(1.1 + 0.22 * max(len(data), 3))
    if data.empty:
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no item has been judged")
        return figure
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.4, 1])
    y = np.arange(len(data), dtype=float) + 0.6 * (data["task"] != data["task"].shift()).cumsum()
    left.hlines(y, data["low"], data["high"], color=style.COLOURS["instruct"])
    left.plot(
        data["agreement"],
        y,
        linestyle="none",
        marker="s",
        color=style.COLOURS["instruct"],
        markeredgecolor="white",
        markeredgewidth=0.4,
        markersize=4.5,
    )
    for column, (_, colour, marker) in COEFFICIENTS.items():
        right.plot(
            data[column].astype(float),
            y,
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=4,
            fillstyle="full" if column == "ac1" else "none",
        )
    for place, row in zip(y, data.itertuples(), strict=True):
        if pd.isna(row.kappa) and pd.isna(row.ac1):
            right.text(0.5, place, "not estimable", fontsize=6, color=style.MUTED, va="center")
    names = [
        f"{style.task_label(str(row.task))} {row.group} (n = {row.n})" for row in data.itertuples()
    ]
    left.set_yticks(list(y), names, fontsize=7)
    left.set_ylim(y.max() + 0.7, y.min() - 0.7)
    left.set_xlim(min(0.5, float(data["low"].min())) - 0.02, 1.02)
    left.set_xlabel("agreement of judge and scorer")
    lowest = np.nanmin([0.0, *data["kappa"].astype(float), *data["ac1"].astype(float)])
    right.set_xlim(lowest - 0.05, 1.05)
    right.set_xlabel("agreement beyond chance")
    for axes in (left, right):
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            color=colour,
            marker=marker,
            label=label,
            fillstyle="full" if column == "ac1" else "none",
        )
        for column, (label, colour, marker) in COEFFICIENTS.items()
    ]
    style.head(figure, options, handles)
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    if data.empty:
        return chosen.sentences(["No item has been judged.", options.get("notice", "")])
    overall = data[data["group"] == "all"]
    parts = [
        f"{style.task_label(row.task)} {100 * row.agreement:.0f} % of {row.n}"
        for row in overall.itertuples()
    ]
    return chosen.sentences(
        [
            "Left: share of items on which the LLM judge and the deterministic scorer agree, with 95 % Wilson intervals; right: the same corrected for chance, by Cohen's kappa and by Gwet's AC1, which holds up where nearly all verdicts are alike.",
            f"All items: {'; '.join(parts)}." if parts else "",
            options.get("notice", ""),
        ]
    )
