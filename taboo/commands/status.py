"""`taboo status`: the grid of cells, what is done and what is missing."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Column, Table

from taboo.commands.configuration import add_config_option, configuration, generating_code
from taboo.plan import Cell, Group, groups
from taboo.states import KINDS, State, cell_states, cells_of

MARKS = {
    "done": "[green]●[/]",
    "partial": "[yellow]◐[/]",
    "invalid": "[red]✗[/]",
    "missing": "[dim]○[/]",
}
SINGLE = 8
"""More conditions than this are counted, not shown one by one."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "status", help="the grid of cells: done, partial, invalid, missing"
    )
    add_config_option(parser)
    parser.add_argument("-m", "--model", help="name each condition of this model")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the grid, one row per model and precision; exit status 1 unless all is done."""
    config = configuration(options.config)
    states = cell_states(config, generating_code())
    planned = groups(config)
    if options.model and options.model not in {group.model for group in planned}:
        raise ValueError(f"no study to run has a model {options.model!r}")
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)
    if options.model:
        console.print(detail([g for g in planned if g.model == options.model], states))
    else:
        console.print(grid(config, planned, states))
    counts = Counter(state.kind for state in states.values())
    console.print(", ".join(f"{MARKS[kind]} {counts[kind]} {kind}" for kind in KINDS))
    return 0 if counts["done"] == counts.total() else 1


def grid(
    config: Mapping[str, Any], planned: Iterable[Group], states: Mapping[Cell, State]
) -> Table:
    """One row per model and precision, one column per task, models in the order of the configuration."""
    order = list(config["models"])
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for group in sorted(planned, key=lambda g: order.index(g.model)):
        row = rows.setdefault((group.model, group.precision), {})
        marks = summary([states[cell] for cell in cells_of(group)])
        row.setdefault(group.task, []).append(f"{marks} [dim]n={group.n}[/]")
    tasks = [task for task in config["tasks"] if any(task in row for row in rows.values())]
    headers = [task.replace("_", " ") for task in tasks]
    table = Table(Column("model", no_wrap=True), "precision", *headers, box=box.SIMPLE_HEAD)
    for names, row in rows.items():
        table.add_row(*names, *("\n".join(row.get(task, [])) for task in tasks))
    return table


def detail(planned: Iterable[Group], states: Mapping[Cell, State]) -> Table:
    """One row per condition."""
    table = Table("precision", "task", "condition", "items", box=box.SIMPLE_HEAD)
    for group in planned:
        for cell in cells_of(group):
            state = states[cell]
            name = f"{MARKS[state.kind]} {cell.condition}"
            table.add_row(cell.precision, cell.task, name, f"{state.items} of {state.n}")
    return table


def summary(states: list[State]) -> str:
    """A mark per condition, or where there are many a number per kind; and the share of items if some are there."""
    kinds = [state.kind for state in states]
    if len(states) <= SINGLE:
        marks = "".join(MARKS[kind] for kind in kinds)
    else:
        marks = " ".join(f"{MARKS[kind]}{kinds.count(kind)}" for kind in KINDS if kind in kinds)
    if "partial" not in kinds:
        return marks
    share = sum(state.items for state in states) / sum(state.n for state in states)
    return f"{marks} {share:.0%}"
