"""The figures: one module each, found by name.

A figure module has `prepare(table, options) -> DataFrame` (exactly what is drawn, written as the figure's csv), `draw(data, options) -> Figure` and `caption(data, options) -> str`. `table` is the concatenated cell table of the figure's studies, or the analysis table named in `INPUTS`.
"""

from importlib import import_module
from types import ModuleType

FIGURES = (
    "heatmap",
    "retention",
    "ladder",
    "surprisal",
    "exception",
    "accuracy",
    "dose",
    "length",
    "precision",
    "midword",
    "temperature",
    "judge",
    "failures",
)

# Figures that are drawn from another table than the cells: the table's name.
INPUTS = {"judge": "judge", "failures": "failures"}


def load_figure(name: str) -> ModuleType:
    """Import and return the module of a figure. Raises ValueError naming the known figures."""
    if name not in FIGURES:
        raise ValueError(f"unknown figure {name!r}, known are {', '.join(FIGURES)}")
    return import_module(f"taboo.figures.{name}")


def figure_input(name: str) -> str:
    """Return the name of the table that a figure is drawn from: `cells` or an analysis."""
    return INPUTS.get(name, "cells")
