"""The command line: `taboo show | status | try | score | audit`."""

import argparse
import sys
from collections.abc import Sequence

from taboo.commands import audit, show, status, try_model
from taboo.scoring import command as score

COMMANDS = (show, status, try_model, score, audit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Errors of the user are one line, without a trace."""
    parser = argparse.ArgumentParser(prog="taboo", description="Decoding-Level Taboo")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except (ValueError, FileNotFoundError) as error:
        print(f"taboo {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
