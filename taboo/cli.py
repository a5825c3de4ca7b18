"""The command line: one module per command."""

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "plan": "taboo.commands.plan",
    "lock": "taboo.commands.lock",
    "status": "taboo.commands.status",
    "show": "taboo.commands.show",
    "claims": "taboo.commands.claims",
    "try": "taboo.commands.try_model",
    "score": "taboo.commands.score",
    "audit": "taboo.commands.audit",
    "explain": "taboo.commands.explain",
    "export": "taboo.commands.export_results",
    "import": "taboo.commands.import_results",
}
"""Each command's module; it has `add_parser(subparsers)` and `run(options)`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Errors of the user are one line, without a trace."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="taboo", description="Decoding-Level Taboo")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # Only the module asked for is loaded: some take seconds.
    for command in [*filter(COMMANDS.__contains__, arguments[:1])] or COMMANDS:
        importlib.import_module(COMMANDS[command]).add_parser(subparsers)
    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except BrokenPipeError:
        return 1
    except (ValueError, OSError) as error:
        print(f"taboo {options.command}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
