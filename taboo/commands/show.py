"""`taboo show`: where to look, and the first results."""

import argparse
from pathlib import Path

import pandas as pd

from taboo.commands.configuration import add_config_option, configuration
from taboo.stats.tables import read_cells


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("show", help="where the results are, and the first of them")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the places of the report, figures and tables, and a line of result per model."""
    config = configuration(options.config)
    results = Path(config["results"])
    missing = [study for study in config["run"] if not _table(results, study).is_file()]
    if missing:
        raise FileNotFoundError(f"{_table(results, missing[0])} is not there yet: run snakemake")
    report = results / "report.html"
    how = " ".join(
        ["snakemake", "--configfile", *options.config] if options.config else ["snakemake"]
    )
    print(f"report   {report}" if report.is_file() else f"report   (none; {how} --report {report})")
    print(f"site     {results / 'site' / 'index.html'}")
    print(f"figures  {results / 'figures'}/*.pdf, .png, .svg, each with its .csv")
    for study in config["run"]:
        table = _table(results, study)
        print(f"tables   {table}")
        for line in summary(
            read_cells(table), {k: v["label"] for k, v in config["models"].items()}
        ):
            print(line)
    if config["notice"]:
        print(config["notice"])
    return 0


def _table(results: Path, study: str) -> Path:
    return results / "tables" / study / "cells.csv"


def summary(cells: pd.DataFrame, labels: dict[str, str]) -> list[str]:
    """A few lines on a study: accuracy at baseline, what is retained, and the dose."""
    greedy = cells[cells["seed"].isna() & (cells["mode"] == "word_start")]
    baseline = greedy[greedy["rank"] == 0]
    taboo = greedy[greedy["rank"] > 0]
    lines = [
        "  right at baseline: "
        + "; ".join(
            f"{labels.get(model, model)} "
            + ", ".join(f"{row.task} {row.accuracy:.0%}" for row in rows.itertuples())
            for model, rows in baseline.groupby("model", sort=False)
        )
    ]
    if taboo.empty:
        return lines
    by_rank = taboo.groupby("rank")
    retained = by_rank["n_retained"].sum() / by_rank["n_baseline_correct"].sum()
    lines.append(
        "  of these still right under taboo, all tasks: "
        + ", ".join(
            f"i={rank} {'n/a' if pd.isna(share) else format(share, '.0%')}"
            for rank, share in retained.items()
        )
    )
    dose = by_rank["delta_s_per_intervention"].mean()
    lines.append(
        "  injected surprisal per intervention, mean over cells: "
        + ", ".join(f"i={rank} {bits:.1f} bits" for rank, bits in dose.items())
    )
    return lines
