"""`taboo claims`: the paper's numbers against those measured here."""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from taboo.claims import evaluate, load_claims
from taboo.claims_page import cell_paths, measured_value, paper_value
from taboo.commands.configuration import add_config_option, configuration
from taboo.stats.collect import read_tables
from taboo.timing import timing

CLAIMS = Path("claims.yaml")
COLOURS = {"reproduced": "green", "differs": "red", "not run": "dim"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("claims", help="the paper's numbers against those measured here")
    parser.add_argument("claim", nargs="?", help="tell all about one claim, by its id")
    add_config_option(parser)
    parser.add_argument(
        "--verdict", choices=list(COLOURS), help="only the claims with this verdict"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print paper, measured and verdict of each claim; exit status 1 if any differs."""
    config = configuration(options.config)
    results = Path(config["results"])
    measured = {**read_tables(tables(config)), "timing": timing(config)}
    verdicts = evaluate(load_claims(CLAIMS), measured)
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)
    if options.claim:
        one = verdicts[verdicts["id"] == options.claim]
        if one.empty:
            raise ValueError(f"{CLAIMS} has no claim {options.claim!r}")
        _detail(console, next(one.itertuples()), results)
        return int((one["verdict"] == "differs").any())
    shown = verdicts[verdicts["verdict"] == options.verdict] if options.verdict else verdicts
    console.print(_table(shown))
    counts = verdicts["verdict"].value_counts()
    console.print(
        ", ".join(f"[{colour}]{counts.get(name, 0)} {name}[/]" for name, colour in COLOURS.items())
    )
    return int((verdicts["verdict"] == "differs").any())


def tables(config: dict[str, Any]) -> list[Path]:
    """The tables there are of the studies to run."""
    folders = (Path(config["results"]) / "tables" / study for study in config["run"])
    return [path for folder in folders for path in sorted(folder.glob("*.csv"))]


def _table(verdicts: pd.DataFrame) -> Table:
    table = Table("id", Column("section", no_wrap=True), "claim", box=box.SIMPLE_HEAD)
    for name in ("paper", "±", "measured"):
        table.add_column(name, justify="right")
    table.add_column("verdict", no_wrap=True)
    for row in verdicts.itertuples():
        colour = COLOURS[row.verdict]
        table.add_row(
            row.id,
            row.section,
            escape(row.claim),
            paper_value(row),
            f"{row.tolerance:g}",
            measured_value(row),
            f"[{colour}]{row.verdict}[/]",
        )
    return table


def _detail(console: Console, row: Any, results: Path) -> None:
    colour = COLOURS[row.verdict]
    console.print(f"[bold]{row.id}[/], section {row.section}: {escape(row.claim)}")
    measured = measured_value(row) or "–"
    console.print(
        f"paper {paper_value(row)} (tolerance {row.tolerance:g}), measured {measured}: "
        f"[{colour}]{row.verdict}[/]"
    )
    for text in (row.reason, row.note):
        if text:
            console.print(escape(text))
    for path in cell_paths(row.cells):
        file = results / "cells" / f"{path}.parquet"
        console.print(f"[link={file.resolve().as_uri()}]{file}[/]", soft_wrap=True, highlight=False)
