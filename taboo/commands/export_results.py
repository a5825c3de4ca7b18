"""`taboo export`: all results but the weights in one archive."""

import argparse
from pathlib import Path

from taboo.commands.configuration import add_config_option, configuration
from taboo.files import sha256_file
from taboo.provenance.archive import export_results


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("export", help="pack the results into one archive")
    parser.add_argument("archive", metavar="FILE.tar")
    parser.add_argument(
        "--journals",
        action="store_true",
        help="pack journals and a judge's replies too, to go on from",
    )
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the archive and print its digest."""
    results = configuration(options.config)["results"]
    count = export_results(results, options.archive, options.journals)
    size = Path(options.archive).stat().st_size / 1e6
    print(f"{options.archive}: {count} outputs, {size:.1f} MB")
    print(f"sha256 {sha256_file(options.archive)}")
    return 0
