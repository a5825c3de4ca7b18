"""`taboo audit`: re-hash every output and compare it with its record."""

import argparse
from pathlib import Path

from taboo.commands.configuration import add_config_option, configuration
from taboo.files import sha256_file
from taboo.models import verify_snapshot
from taboo.provenance.damage import unrecorded_outputs
from taboo.provenance.records import DamagedRecord, read_record, recorded_outputs


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("audit", help="re-hash all outputs: intact, changed, missing")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what is changed or missing; exit status 1 if anything is."""
    results = Path(configuration(options.config)["results"])
    outputs = list(recorded_outputs(results))
    if not outputs:
        raise FileNotFoundError(f"{results} has no records: nothing was made there yet")
    findings = [f"missing  {output}" for output in outputs if not output.is_file()]
    for output in outputs:
        try:
            record = read_record(results, output)
        except DamagedRecord as error:
            findings.append(f"changed  {error}")
            continue
        if record and output.is_file() and sha256_file(output) != record["sha256"]:
            findings.append(f"changed  {output}")
    findings += [f"unknown  {path}" for path in unrecorded_outputs(results, set(outputs))]
    for snapshot in sorted(results.glob("snapshots/*/snapshot.json")):
        try:
            verify_snapshot(snapshot.parent)
        except ValueError as error:
            findings.append(f"changed  {error}")
    print("\n".join([*findings, f"{len(outputs)} outputs, {len(findings)} not intact"]))
    return 1 if findings else 0
