"""`taboo audit`: re-hash every output and compare it with its record."""

import argparse
from pathlib import Path

from taboo.commands.configuration import add_config_option, configuration
from taboo.files import read_json, sha256_file
from taboo.models import verify_snapshot
from taboo.provenance.records import records_folder


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("audit", help="re-hash all outputs: intact, changed, missing")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is changed or missing; exit status 1 if anything is."""
    results = Path(configuration(options.config)["results"])
    files = sorted(records_folder(results).rglob("*.json"))
    if not files:
        raise FileNotFoundError(f"{results} has no records: nothing was made there yet")
    findings = []
    for file in files:
        record = read_json(file)
        output = Path(record["output"])
        if not output.is_file():
            findings.append(f"missing  {output}")
        elif sha256_file(output) != record["sha256"]:
            findings.append(f"changed  {output}")
    for snapshot in sorted(results.glob("snapshots/*/snapshot.json")):
        try:
            verify_snapshot(snapshot.parent)
        except ValueError as error:
            findings.append(f"changed  {error}")
    print("\n".join([*findings, f"{len(files)} outputs, {len(findings)} not intact"]))
    return 1 if findings else 0
