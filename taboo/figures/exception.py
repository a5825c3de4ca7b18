"""One family where alignment does not sharpen the distribution, across its sizes (paper figure 5)."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from taboo.figures import cells as chosen
from taboo.figures import style
from taboo.figures.lines import Curve, draw_panel

CURVE = Curve(
    y="delta_s_per_intervention",
    y_label="injected surprisal\nper intervention (bits)",
    undefined="no step was masked",
)
FAMILY = "llama-3"


def prepare(cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per model and dose: the injected surprisal and the marginal retention.

    Options: `family` (without it Llama-3, or every family where that one is absent) and `task` (without it GSM8K, or the first there is).
    """
    shown = chosen.select(cells, options)
    task = options.get("task") or next(iter(style.ordered_tasks(shown["task"])), None)
    family = options.get("family", FAMILY)
    if "family" in options or (shown["family"] == family).any():
        shown = shown[shown["family"] == family]
    rows = chosen.complete(shown[shown["task"] == task], CURVE.y)
    return rows[
        [
            *(*chosen.SHOWN, "task", "rank", "n", "delta_s_per_intervention"),
            *("marginal_retention", "status"),
        ]
    ]


@style.styled
def draw(data: pd.DataFrame, options: dict[str, Any]) -> Figure:
    """Draw one panel per family and size; each names its marginal retention at the lowest dose."""
    sizes = data[["family", "size_b", "size_name"]].drop_duplicates(["family", "size_b"])
    order = style.ordered_families(data["family"])
    sizes = sorted(
        sizes.itertuples(index=False, name=None), key=lambda s: (order.index(s[0]), s[1])
    )
    figure = style.new_figure(2.3, width=min(style.WIDTH, 0.9 + 2.5 * max(len(sizes), 1)))
    if not sizes:
        axes = figure.subplots()
        axes.set_axis_off()
        style.head(figure, options)
        style.say(axes, "no cell of this figure has been run")
        return figure
    grid = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for axes, (family, size_b, size) in zip(grid, sizes, strict=True):
        panel = data[(data["family"] == family) & (data["size_b"] == size_b)]
        draw_panel(axes, panel, CURVE, {})
        axes.set_title(f"{style.family_label(family)} {size}")
        axes.set_ylim(bottom=0)
        axes.text(
            0.97,
            0.05,
            _retention_note(panel),
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            fontsize=6.5,
        )
        style.rank_axis(axes, sorted(set(data["rank"])))
    figure.supxlabel("taboo rank i", fontsize=8)
    figure.supylabel(CURVE.y_label, fontsize=8, multialignment="center")
    style.head(figure, options, style.alignment_handles(sorted(set(data["alignment"]))))
    return figure


def caption(data: pd.DataFrame, options: dict[str, Any]) -> str:
    """Return the caption, built from what is drawn."""
    tasks = " and ".join(style.task_label(task) for task in style.ordered_tasks(data["task"]))
    pairs = data.groupby(["family", "size_name"])["alignment"].nunique()
    single = [
        f"{style.family_label(family)} {size}"
        for (family, size), count in pairs.items()
        if count < 2
    ]
    return chosen.sentences(
        [
            f"Injected surprisal per intervention (bits) against taboo rank i on {tasks or 'no task'}, by model size.",
            "Dashed: base; solid: instruct. The note in each panel is the marginal retention (accuracy under taboo over accuracy at baseline) at the lowest rank.",
            f"No pair of base and instruct: {', '.join(single)}." if single else "",
            chosen.count_sentence(data),
            chosen.gap_sentence(data, "no step was masked"),
            options.get("notice", ""),
        ]
    )


def _retention_note(panel: pd.DataFrame) -> str:
    lowest = panel[panel["rank"] == panel["rank"].min()].set_index("alignment")
    parts = []
    for alignment in ("base", "instruct"):
        if alignment not in lowest.index:
            parts.append(f"no {alignment} model")
            continue
        value = lowest["marginal_retention"][alignment]
        parts.append(f"{alignment} " + ("n/a" if pd.isna(value) else f"{100 * value:.0f} %"))
    return f"marginal retention at i = {panel['rank'].min():g}\n" + ", ".join(parts)
