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
    """All cells of the studies to run, each once, grouped by (model, precision, task, n).

    A cell that several studies share is generated for the largest of their samples; samples are nested, so each study reads its own first n items. Cells with samples of different sizes are different jobs.
    """
    sizes: dict[Cell, int] = {}
    for name in config["run"]:
        study = config["studies"][name]
        for cell in study_cells(study):
            sizes[cell] = max(sizes.get(cell, 0), study["tasks"][cell.task])
    members: dict[tuple[str, str, str, int], list[str]] = {}
    for cell, n in sizes.items():
        members.setdefault((cell.model, cell.precision, cell.task, n), []).append(cell.condition)
    return sorted(Group(*key, tuple(conditions)) for key, conditions in members.items())


def condition(config: Mapping[str, Any], task: str, name: str) -> Condition:
    """The condition `name` with the budget and the stop strings of `task`."""
    settings = config["tasks"][task]
    return parse_condition(name, settings["max_new_tokens"], tuple(settings["stop"]))


def most_tokens(config: Mapping[str, Any], group: Group) -> int:
    """The most new tokens that a group can take: every item to its budget."""
    budgets = (condition(config, group.task, name).max_new_tokens for name in group.conditions)
    return group.n * sum(budgets)
