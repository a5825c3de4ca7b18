"""One look for all figures, and files that are the same bytes each time."""

import io
import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from textwrap import wrap
from typing import Any, ParamSpec

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from taboo.files import write_bytes
from taboo.stats.csvfile import write_csv

WIDTH = 7.0  # inches: the text width of a two-column paper
PANEL_HEIGHT = 1.5

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.4,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "taboo",
    "path.simplify": False,
}

# Two hues that stay apart under every common colour blindness, and in grey print.
COLOURS = {"base": "#d55e00", "instruct": "#0072b2"}
LINES: dict[str, Any] = {"base": (0, (3.5, 1.6)), "instruct": "-"}
MARKERS = {"base": "o", "instruct": "s"}
MUTED = "#6b6b6b"
MISSING = "#ececec"
SEQUENTIAL = "YlGnBu"
DIVERGING = "PuOr"

TASK_LABELS = {
    "gsm8k": "GSM8K",
    "mmlu": "MMLU",
    "triviaqa": "TriviaQA",
    "humaneval": "HumanEval",
    "ifeval": "IFEval",
}
FAMILY_LABELS = {
    "qwen2.5": "Qwen2.5",
    "olmo-2": "OLMo-2",
    "gemma-3": "Gemma-3",
    "llama-3": "Llama-3",
    "smollm2": "SmolLM2",
}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a figure's `draw` run under the project's style, whatever the caller's settings."""

    @wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLE)
            return draw(*args, **kwargs)

    return wrapper


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of `width` × `height` inches."""
    return Figure(figsize=(width, height), layout="constrained")


def head(figure: Figure, options: dict[str, Any], handles: Sequence[Artist] = ()) -> None:
    """Put the legend on top of the figure and, where `options["notice"]` is set, that sentence above it."""
    letters_per_inch = 16  # in the notice's size
    width = int(figure.get_figwidth() * letters_per_inch)
    notice = "\n".join(wrap(options.get("notice") or "", width)) or None
    look = {"size": 7.5, "color": "#a33b00", "style": "italic"}
    if handles:
        legend = figure.legend(handles=handles, loc="outside upper center", ncols=6, title=notice)
        legend.get_title().set(**look)
    elif notice:
        figure.suptitle(notice, **look)


def save(figure: Figure, stem: str | Path, data: pd.DataFrame) -> list[Path]:
    """Write `figure` as `stem`.pdf, .png and .svg and its `data` as `stem`.csv, and return the four paths.

    The same figure gives the same bytes: no dates, no software names, fixed ids.
    """
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
    }
    paths = []
    for kind, entries in metadata.items():
        buffer = io.BytesIO()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLE)
            figure.savefig(buffer, format=kind, metadata=entries)
        paths.append(write_bytes(f"{stem}.{kind}", buffer.getvalue()))
    return [*paths, write_csv(f"{stem}.csv", data)]


def size_label(size_b: float, model: str = "") -> str:
    """Return a model size as people write it: as in the model's name if it says so (`7B`, `135M`), else `size_b` rounded."""
    named = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", model.lower())
    if named:
        return named[1] + named[2].upper()
    return f"{size_b:.2g}B" if size_b >= 0.5 else f"{1000 * size_b:.3g}M"


def task_label(task: str) -> str:
    """Return a task's name as its authors write it."""
    return TASK_LABELS.get(task, task)


def family_label(family: str) -> str:
    """Return a family's name as its authors write it."""
    return FAMILY_LABELS.get(family, family)


def ordered_tasks(tasks: pd.Series) -> list[str]:
    """Return the tasks that occur: first the known ones in the order of the paper's columns, then others by name."""
    return _ordered(tasks, list(TASK_LABELS))


def ordered_families(families: pd.Series) -> list[str]:
    """Return the families that occur: first the paper's in the order of its rows, then others by name."""
    return _ordered(families, list(FAMILY_LABELS))


def _ordered(values: pd.Series, known: list[str]) -> list[str]:
    rank = {value: index for index, value in enumerate(known)}
    return sorted(set(values), key=lambda value: (rank.get(value, len(rank)), value))


def size_colours(sizes: list[float]) -> dict[float, Any]:
    """Return one colour per model size from light (small) to dark (large), evenly apart in log size."""
    colours: Colormap = LinearSegmentedColormap.from_list(
        "sizes", matplotlib.colormaps["viridis_r"](np.linspace(0.12, 1.0, 256))
    )
    logs = np.log(sizes)
    span = (logs.max() - logs.min()) or 1.0
    return {size: colours((np.log(size) - logs.min()) / span) for size in sizes}


def rank_position(rank: float, ranks: list[int]) -> float:
    """Return where a rank stands on the x axis: log2, the baseline one step left of the lowest dose."""
    doses = [value for value in ranks if value > 0]
    return float(np.log2(rank)) if rank > 0 else float(np.log2(min(doses or [1]))) - 1.0


def rank_axis(axes: Axes, ranks: list[int]) -> None:
    """Label the x axis with the ranks that occur; rank 0 is called `base-line`."""
    positions = [rank_position(rank, ranks) for rank in ranks]
    axes.set_xticks(positions, [str(rank) if rank else "0" for rank in ranks])
    margin = 0.06 * max(positions[-1] - positions[0], 1)
    axes.set_xlim(positions[0] - margin - 0.08, positions[-1] + margin + 0.08)


def say(axes: Axes, text: str) -> None:
    """Fill an otherwise empty panel with the reason why it is."""
    axes.text(
        0.5,
        0.5,
        text,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=7,
        color=MUTED,
        style="italic",
    )


def alignment_handles(alignments: list[str], neutral: bool = False) -> list[Line2D]:
    """Return the legend entries of base and instruct; `neutral` where colour means something else."""
    return [
        Line2D(
            [],
            [],
            color="#333333" if neutral else COLOURS[alignment],
            linestyle=LINES[alignment],
            marker=MARKERS[alignment],
            label=alignment,
        )
        for alignment in ("base", "instruct")
        if alignment in alignments
    ]
