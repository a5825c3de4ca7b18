"""From a validated configuration to the cells it needs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from taboo.conditions import Condition, parse_condition


@dataclass(frozen=True, order=True)
class Cell:
    """One unit of generation."""

    model: str
    precision: str
    task: str
    condition: str

    @property
    def path(self) -> str:
        """The cell's place in `cells/`, `scores/` and the like, without an ending."""
        return f"{self.model}/{self.precision}/{self.task}/{self.condition}"


@dataclass(frozen=True, order=True)
class Group:
    """The cells that one job generates: weights are loaded once, prompts computed once."""

    model: str
    precision: str
    task: str
    n: int
    conditions: tuple[str, ...]


def study_cells(study: Mapping[str, Any]) -> Iterator[Cell]:
    """The cells of one study, in the order of the configuration."""
    for model in study["models"]:
        for precision in study["precisions"]:
            for task in study["tasks"]:
                for condition in study["conditions"]:
                    yield Cell(model, precision, task, condition)


def groups(config: Mapping[str, Any]) -> list[Group]:
    """All cells of the studies to run, each once, grouped by (model, precision, task).

    A cell that several studies share is generated for the largest of their samples; samples are nested, so each study reads its own first n items.
    """
    sizes: dict[tuple[str, str, str], int] = {}
    conditions: dict[tuple[str, str, str], dict[str, None]] = {}
    for name in config["run"]:
        study = config["studies"][name]
        for cell in study_cells(study):
            key = (cell.model, cell.precision, cell.task)
            sizes[key] = max(sizes.get(key, 0), study["tasks"][cell.task])
            conditions.setdefault(key, {})[cell.condition] = None
    return sorted(Group(*key, sizes[key], tuple(conditions[key])) for key in sizes)


def condition(config: Mapping[str, Any], task: str, name: str) -> Condition:
    """The condition `name` with the budget and the stop strings of `task`."""
    settings = config["tasks"][task]
    return parse_condition(name, settings["max_new_tokens"], tuple(settings["stop"]))
