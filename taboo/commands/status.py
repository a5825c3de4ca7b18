"""`taboo status`: the grid of cells, what is done and what is missing."""

import argparse
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from taboo.commands.configuration import add_config_option, configuration
from taboo.plan import Group, groups
from taboo.provenance.damage import damaged_outputs

MARKS = {"done": "[green]●[/]", "missing": "[dim]○[/]", "invalid": "[red]✗[/]"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("status", help="the grid of cells: done, missing, invalid")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one row per (model, precision, task), one mark per condition."""
    config = configuration(options.config)
    results = Path(config["results"])
    damaged = set(damaged_outputs(results))
    table = Table("model", "precision", "task", "n", "conditions")
    counts: Counter[str] = Counter()
    for group in groups(config):
        states = {name: _state(results, group, name, damaged) for name in group.conditions}
        counts.update(states.values())
        marks = "  ".join(f"{MARKS[state]} {name}" for name, state in states.items())
        table.add_row(group.model, group.precision, group.task, str(group.n), marks)
    console = Console()
    console.print(table)
    console.print(", ".join(f"{counts[state]} {state}" for state in MARKS))
    return 0 if counts["done"] == counts.total() else 1


def _state(results: Path, group: Group, condition: str, damaged: set[Path]) -> str:
    folder = results / "cells" / group.model / group.precision / group.task
    path = folder / f"{condition}.parquet"
    return "invalid" if path in damaged else "done" if path.is_file() else "missing"
