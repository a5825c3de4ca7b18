"""`taboo import`: an archive of results into an empty results folder."""

import argparse

from taboo.commands.configuration import add_config_option, configuration
from taboo.provenance.archive import import_results


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("import", help="unpack an archive into an empty results folder")
    parser.add_argument("archive", metavar="FILE.tar")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Unpack and check; the weights are not part of an archive and are fetched when needed."""
    results = configuration(options.config)["results"]
    count = import_results(options.archive, results)
    print(f"{results}: {count} outputs, each what its record says")
    return 0
