"""`taboo plan`: what the configured studies need, before anything runs."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Column, Table

from taboo.calibration import (
    CPU,
    Calibration,
    calibrated,
    load_calibration,
    runs_of,
    save_calibration,
)
from taboo.commands.configuration import add_config_option, configuration, generating_code
from taboo.cost import Cost, StudyCount, costs, study_counts
from taboo.lock import LOCK, hub_models, read_lock, unlocked
from taboo.plan import groups
from taboo.states import cell_states

CALIBRATION = Path("calibration.yaml")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("plan", help="cells, tokens, memory and GPU-hours of a study")
    add_config_option(parser)
    parser.add_argument(
        "--card",
        action="append",
        metavar="NAME",
        help="a card of calibration.yaml; may be repeated (default: all but CPU)",
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="first write the speeds of the runs in the results folder to calibration.yaml",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is to be generated and what it takes on each card."""
    config = configuration(options.config)
    calibration = load_calibration(CALIBRATION)
    if options.calibrate:
        runs = runs_of(config)
        if not runs:
            raise ValueError(f"{config['results']} has no record of a run that generated anything")
        calibration = calibrated(calibration, runs)
        save_calibration(CALIBRATION, calibration)
        print(f"{CALIBRATION}: speeds of {len(runs)} jobs taken over")
    cards = options.card or [name for name in calibration.cards if name != CPU]
    for name in cards:
        if name not in calibration.cards:
            known = ", ".join(calibration.cards)
            raise ValueError(f"{CALIBRATION} has no card {name!r}; it has {known}")
    states = cell_states(config, generating_code())
    rows = costs(config, states, calibration)
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(study_table(study_counts(config, states)))
    console.print(cost_table(rows, cards, calibration))
    for line in remarks(config, rows, cards, calibration):
        console.print(line, soft_wrap=True, highlight=False)
    return 0


def study_table(counts: Sequence[StudyCount]) -> Table:
    """One row per study; cells that a study before has too are counted there."""
    table = _table("study", "cells", "not in a study above", "to generate")
    for row in counts:
        table.add_row(row.study, *map(str, (row.cells, row.new, row.to_generate)))
    table.add_section()
    totals = (sum(row.new for row in counts), sum(row.to_generate for row in counts))
    table.add_row("all", "", *map(str, totals))
    return table


def cost_table(rows: Sequence[Cost], cards: Sequence[str], calibration: Calibration) -> Table:
    """One row per model and precision (`new`: cells to generate), one column of hours per card."""
    headers = ("new", "reused", "items", "10⁶\ntokens", "GPU\nGB")
    table = _table("model", "precision", *headers, *(f"hours\n{name}" for name in cards))
    for row in rows:
        numbers = (row.to_generate, row.reused, row.items, f"{row.tokens / 1e6:.2f}")
        hours = [_hours(row, name, calibration) for name in cards]
        names = (row.model, row.precision)
        table.add_row(*names, *map(str, numbers), f"{row.memory_gb:.0f}", *hours)
    table.add_section()
    sums = (
        sum(row.to_generate for row in rows),
        sum(row.reused for row in rows),
        sum(row.items for row in rows),
        f"{sum(row.tokens for row in rows) / 1e6:.2f}",
    )
    hours = [_brief(sum(row.hours[name] or 0 for row in rows)) for name in cards]
    table.add_row("all that fit", "", *map(str, sums), "", *hours)
    return table


def remarks(
    config: Mapping[str, Any],
    rows: Sequence[Cost],
    cards: Sequence[str],
    calibration: Calibration,
) -> list[str]:
    """What does not fit, what the hours rest on, and what must be done before fetching."""
    lines = [f"{len(groups(config))} jobs; tokens are expected ones, hours leave out loading."]
    for name in cards:
        too_large = [row for row in rows if row.hours[name] is None]
        if too_large:
            listed = ", ".join(
                f"{row.model} in {row.precision} ({row.memory_gb:.0f} GB)" for row in too_large
            )
            memory = calibration.cards[name].memory_gb
            lines.append(f"Does not fit {name} ({memory:g} GB): {listed}.")
    if any(
        not calibration.cards[name].is_measured(row.precision) for row in rows for name in cards
    ):
        lines.append(
            "~ rests on an estimate of the card's speed; `taboo plan --calibrate` takes it from runs."
        )
    hub = hub_models(config)
    missing = unlocked(config, read_lock(LOCK))
    if missing:
        lines.append(
            f"Not in {LOCK}: {len(missing)} of {len(hub)} models of the hub; run `taboo lock`."
        )
    gated = sorted(name for name, model in hub.items() if model.get("gated"))
    if gated:
        lines.append(f"Gated, so HF_TOKEN and an accepted licence are needed: {', '.join(gated)}.")
    return lines


def _hours(row: Cost, card: str, calibration: Calibration) -> str:
    hours = row.hours[card]
    if hours is None:
        return "[red]–[/]"
    estimated = "" if calibration.cards[card].is_measured(row.precision) else "~"
    return estimated + _brief(hours)


def _brief(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 1 or not hours else f"{hours:.1g}"


def _table(first: str, *others: str) -> Table:
    right = [
        Column(name, justify="left" if name == "precision" else "right", no_wrap=True)
        for name in others
    ]
    return Table(Column(first, no_wrap=True), *right, box=box.SIMPLE_HEAD)
