"""`taboo explain`: which parts of two keys differ, or what one is made of."""

import argparse

from taboo.commands.configuration import add_config_option, configuration
from taboo.provenance.keys import differences, parts_of_key


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("explain", help="what a cell's key is made of, how two differ")
    parser.add_argument("key", metavar="KEY1", help="a cell file, or the beginning of a key")
    parser.add_argument("other", metavar="KEY2", nargs="?", help="another; the parts that differ")
    add_config_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one line per part; with two keys exit status 1 if they differ."""
    results = configuration(options.config)["results"]
    parts = parts_of_key(results, options.key)
    if options.other is None:
        for line in differences(parts, {}):
            print(line.removesuffix(" / (none)"))
        return 0
    lines = differences(parts, parts_of_key(results, options.other))
    print("\n".join(lines) or "the keys are the same")
    return 1 if lines else 0
