"""How items that were right at baseline fail under taboo (paper, appendix A)."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from taboo.figures import cells as chosen
from taboo.figures import style
from taboo.figures.lines import family_title
from taboo.stats.failure_modes import FAILURE_MODES

COLOURS = dict(
    zip(FAILURE_MODES, ("#56b4e9", "#d55e00", "#f2d64b", "#999999", "#cc79a7"), strict=True)
)
COLUMNS = [
    *(*chosen.SHOWN, "task", "rank", "failure", "count", "n_failed", "n_baseline_correct"),
    *("share", "status"),
]


def prepare(failures: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model, task, dose and failure mode: its share of the items right at baseline.

    `failures` is the failure analysis of the figure's studies, of which greedy word-start cells are shown. The option `models` names the models, without it all are shown.
    """
    rows = failures.reset_index(drop=True)
    rows = rows[(rows["temperature"] == 0) & (rows["mode"] == "word_start")]
    if options.get("tasks") is not None:
        rows = rows[rows["task"].isin(options["tasks"])]
    if options.get("models") is not None:
        rows = rows[rows["model"].isin(options["models"])]
    rows = rows.sort_values("n_baseline_correct", ascending=False, kind="stable")
    rows = rows.drop_duplicates(["model", "precision", "task", "condition", "failure"]).sort_index()
    rows = rows.assign(
        size_name=[
            style.size_label(*pair) for pair in zip(rows["size_b"], rows["model"], strict=True)
        ],
        share=rows["count"].astype(float) / rows["n_baseline_correct"].astype(float),
        status=np.where(rows["n_baseline_correct"].fillna(0) > 0, "ok", "n/a"),
    )
    rows.loc[rows["n_baseline_correct"].isna(), "status"] = "no baseline"
    rows.loc[(rows["n_failed"] == 0) & (rows["status"] == "ok"), "share"] = 0.0
    return rows[COLUMNS].reset_index(drop=True)


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw stacked bars, families × tasks; hatched bars are base models."""
    families = style.ordered_families(data["family"])
    tasks = style.ordered_tasks(data["task"])
    figure = style.new_figure(0.9 + (style.PANEL_HEIGHT + 0.1) * max(len(families), 1))
    if not families:
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no taboo cell has been run")
        return figure
    grid = figure.subplots(len(families), len(tasks), squeeze=False, sharey=True)
    for family, line in zip(families, grid, strict=True):
        for task, axes in zip(tasks, line, strict=True):
            panel = data[(data["family"] == family) & (data["task"] == task)]
            _panel(axes, panel)
            if family == families[0]:
                axes.set_title(style.task_label(task))
        line[0].set_ylabel(family_title(data[data["family"] == family], False, "\n"))
    figure.supxlabel("taboo rank i", fontsize=8)
    figure.supylabel("share of items right at baseline (%)", fontsize=8)
    handles = [
        Patch(facecolor=COLOURS[mode], label=mode.replace("_", " ")) for mode in FAILURE_MODES
    ]
    handles.append(Patch(facecolor="white", edgecolor="#333333", hatch="/////", label="base model"))
    style.head(figure, options, handles)
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    cells = data.drop_duplicates(["model", "task", "rank"])
    known = cells[cells["status"] == "ok"]
    return chosen.sentences(
        [
            "Items right at baseline and wrong under taboo, by how they fail, as shares of the items right at baseline; what is missing to 100 % is retained.",
            "Derailment: the text ends without an answer; repetition loop: a fragment repeats until the end; wrong answer: an answer is stated; truncation: the budget ran out; other: no verdict.",
            "Plain bars: instruct; hatched: base; sizes grow from left to right.",
            chosen.model_sentence(data),
            f"Failures classified: {int(known['n_failed'].sum())}." if len(known) else "",
            chosen.gap_sentence(cells),
            options.get("notice", ""),
        ]
    )


def _panel(axes: Axes, panel: pd.DataFrame) -> None:
    if panel.empty:
        style.say(axes, "not run")
        axes.set_xticks([])
        return
    if (panel["status"] != "ok").all():
        style.say(axes, "n/a\n(none right at baseline)")
        axes.set_xticks([])
        return
    ranks = sorted(set(panel["rank"]))
    bars = panel[["size_b", "alignment", "model"]].drop_duplicates()
    bars = bars.sort_values(["size_b", "alignment"], kind="stable").reset_index(drop=True)
    width = 0.8 / len(bars)
    for bar in bars.itertuples():
        x = np.arange(len(ranks)) + (int(bar.Index) - (len(bars) - 1) / 2) * width
        foot = np.zeros(len(ranks))
        rows = panel[panel["model"] == bar.model]
        for mode in FAILURE_MODES:
            part = rows[rows["failure"] == mode].set_index("rank")["share"].reindex(ranks)
            height = part.fillna(0.0).to_numpy(float)
            with matplotlib.rc_context({"hatch.linewidth": 0.4, "hatch.color": "#333333"}):
                axes.bar(
                    x,
                    height,
                    0.9 * width,
                    bottom=foot,
                    color=COLOURS[mode],
                    edgecolor="#333333",
                    linewidth=0.3,
                    hatch="/////" if bar.alignment == "base" else None,
                )
            foot += height
        for place, rank in zip(x, ranks, strict=True):
            cell = rows[rows["rank"] == rank]
            if cell.empty or cell["status"].iat[0] != "ok":
                word = "not run" if cell.empty else "n/a"
                axes.text(place, 0.02, word, rotation=90, ha="center", va="bottom", fontsize=5.5)
    axes.set_xticks(range(len(ranks)), [str(rank) for rank in ranks])
    axes.set_ylim(0, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25", "50", "75", "100"])
    axes.grid(False, axis="x")
