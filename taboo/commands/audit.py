"""`taboo audit`: from any output back to the weights, is everything what was recorded?"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from taboo.commands.configuration import add_config_option, configuration
from taboo.provenance.audit import Node, audit
from taboo.provenance.compare import compare
from taboo.provenance.records import OUTSIDE, name_of, recorded_outputs
from taboo.provenance.sources import PINS, read_locks, read_pins

STAGES = (
    *("provenance", "site", "failures", "figures", "claims", "tables", "judge", "scores", "cells"),
    *("journal", "samples", "word_starts", "snapshots", "repository"),
)
"""From what is shown to what it rests on."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("audit", help="is a result intact, back to the weights?")
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a figure's name or an output's path; all outputs and journals if none is given",
    )
    add_config_option(parser)
    parser.add_argument("--json", action="store_true", help="print every file as JSON")
    parser.add_argument(
        "--full", action="store_true", help="read weights again even if their times are unchanged"
    )
    parser.add_argument(
        "--against", metavar="DIR", help="compare the cells with those of another results folder"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a tree by stage with all that is not as recorded; exit status 1 if anything is."""
    results = Path(configuration(options.config)["results"])
    if options.against:
        return against(results, options.against, options.json)
    known = [name_of(results, output) for output in recorded_outputs(results)]
    if not known:
        raise FileNotFoundError(
            f"{results} has no records: nothing was made there yet (another configuration's results "
            "are named with --config)"
        )
    targets = [name for target in options.targets for name in find(results, known, target)]
    pins = read_pins(PINS) if PINS.is_file() else {}
    nodes = audit(results, targets, pins, options.full, read_locks())
    bad = [node for node in nodes.values() if node.problems]
    if options.json:
        files = {
            node.name: {
                "state": [state for state, _ in node.problems] or ["ok"],
                "problems": [line for _, line in node.problems],
                "inputs": list(node.inputs),
            }
            for node in nodes.values()
        }
        print(json.dumps({"ok": not bad, "files": files}, indent=2))
    else:
        print("\n".join(tree(nodes.values())))
    return 1 if bad else 0


def against(results: Path, other: str, as_json: bool) -> int:
    """Print how each cell compares with another folder's; exit status 1 unless all have the same tokens."""
    found = list(compare(results, other))
    counts = Counter(comparison.state for comparison in found)
    if as_json:
        print(json.dumps([asdict(comparison) for comparison in found], indent=2))
    else:
        for c in found:
            where = f", differs at {c.first} ({c.items} items in all)" if c.items else ""
            where = where or (f", differs at {c.first}" if c.first else "")
            print(f"{c.state:<17} {c.cell}{where}")
        for line in sorted({line for c in found for line in c.keys}):
            print(f"keys differ in    {line}")
        print(", ".join(f"{count} {state}" for state, count in counts.items()))
    same = ("identical bytes", "same generations", "same tokens")
    return 0 if all(state in same for state in counts) else 1


def find(results: Path, known: Iterable[str], target: str) -> list[str]:
    """The outputs that a target names: a figure, a file, or a folder of files."""
    name = name_of(results, target)
    if name.startswith(OUTSIDE):
        name = target
    names = [
        output
        for output in known
        if output == name
        or output.startswith(f"{name.rstrip('/')}/")
        or output.rpartition(".")[0] == f"figures/{name}"
    ]
    if not names:
        raise ValueError(f"{target} is neither a figure nor a recorded output of {results}")
    return names


def tree(nodes: Iterable[Node]) -> Iterator[str]:
    """One line per stage, each below what is made from it, and a line per problem."""
    stages: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        stages[node.name.partition("/")[0]].append(node)
    wrong = 0
    order = sorted(stages, key=lambda s: STAGES.index(s) if s in STAGES else -1)
    for depth, stage in enumerate(order):
        problems = list(dict.fromkeys(p for node in stages[stage] for p in node.problems))
        wrong += len(problems)
        indent = "   " * depth
        mark = "✗" if problems else "✓"
        branch = f"{indent[3:]}└─ " if depth else ""
        yield f"{branch}{mark} {stage}: {_count(stages[stage])}"
        yield from (f"{indent}   {state:<10} {line}" for state, line in problems)
    yield "intact" if not wrong else f"{wrong} not as recorded"


def _count(nodes: list[Node]) -> str:
    if len(nodes) > 1:
        return f"{len(nodes)} files"
    return nodes[0].name.partition("/")[2] or "1 file"
