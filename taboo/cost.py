"""What is still to be generated, and what it takes: tokens, memory, hours by card."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taboo.calibration import Calibration
from taboo.plan import Cell, condition, study_cells
from taboo.resources import gpu_memory_gb
from taboo.states import State


@dataclass(frozen=True)
class Cost:
    """A model in one precision: cells to generate and to reuse, items and expected new tokens of the former, GPU memory.

    `hours` by card: None where the cell does not fit.
    """

    model: str
    precision: str
    to_generate: int
    reused: int
    items: int
    tokens: float
    memory_gb: float
    hours: Mapping[str, float | None]


@dataclass(frozen=True)
class StudyCount:
    """A study's cells: how many, how many no study before it names, and how many of these are to be generated."""

    study: str
    cells: int
    new: int
    to_generate: int


def costs(
    config: Mapping[str, Any], states: Mapping[Cell, State], calibration: Calibration
) -> list[Cost]:
    """One row per model and precision of the studies to run, models in the order of the configuration.

    A cell that is damaged or of other code is generated anew, a partial one for the items it lacks. The expected tokens are the budget times the share of it that such models take on average.
    """
    order = list(config["models"])
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(states, key=lambda cell: (order.index(cell.model), cell.precision)):
        cells.setdefault((cell.model, cell.precision), []).append(cell)
    return [_cost(config, *key, states, members, calibration) for key, members in cells.items()]


def study_counts(config: Mapping[str, Any], states: Mapping[Cell, State]) -> list[StudyCount]:
    """One row per study to run."""
    seen: set[Cell] = set()
    counts = []
    for name in config["run"]:
        cells = list(study_cells(config["studies"][name]))
        new = [cell for cell in cells if cell not in seen]
        seen.update(new)
        open_ones = sum(states[cell].kind != "done" for cell in new)
        counts.append(StudyCount(name, len(cells), len(new), open_ones))
    return counts


def _cost(
    config: Mapping[str, Any],
    model: str,
    precision: str,
    states: Mapping[Cell, State],
    cells: list[Cell],
    calibration: Calibration,
) -> Cost:
    size_b = config["models"][model]["size_b"]
    share = calibration.budget_share[config["models"][model]["alignment"]]
    lacking = {cell: states[cell].n - states[cell].items for cell in cells}
    tokens = share * sum(
        items * condition(config, cell.task, cell.condition).max_new_tokens
        for cell, items in lacking.items()
    )
    memory = gpu_memory_gb(size_b, precision, config["engine"]["slots"])
    hours = {
        name: tokens / card.tokens_per_s(precision, size_b) / 3600
        if card.memory_gb is None or card.memory_gb >= memory
        else None
        for name, card in calibration.cards.items()
    }
    open_ones = sum(states[cell].kind != "done" for cell in cells)
    return Cost(
        model,
        precision,
        open_ones,
        len(cells) - open_ones,
        sum(lacking.values()),
        tokens,
        memory,
        hours,
    )
