"""`taboo score`: score generations that were made elsewhere."""

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taboo.config import MIRROR_VARIABLE
from taboo.files import read_jsonl
from taboo.scoring import SCORERS, Verdict, score
from taboo.scoring.sandbox import SANDBOXES
from taboo.tasks import load_task
from taboo.tasks.sampling import load_items

Item = Mapping[str, Any]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "score",
        help="score texts that were generated elsewhere",
        description="One verdict per line of FILE, as JSON, in order; a summary on standard error.",
    )
    parser.add_argument("--task", required=True, choices=SCORERS)
    parser.add_argument(
        "--generations",
        required=True,
        metavar="FILE",
        help="one JSON object per line: `text`, and `item` (a record) or `item_id`",
    )
    parser.add_argument(
        "--items",
        metavar="FILE",
        help="the records that `item_id` refers to, or a sample file; default: the task's data",
    )
    parser.add_argument(
        "--mirror",
        metavar="FOLDER",
        default=os.environ.get(MIRROR_VARIABLE) or None,
        help=f"where the task's data is as files (default: ${MIRROR_VARIABLE}, else the hub)",
    )
    parser.add_argument(
        "--sandbox",
        choices=SANDBOXES,
        default="namespaces",
        help="for humaneval; `none` runs the programs unprotected, with all you may do",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, score, print. Raises ValueError naming the file and line of what can't be scored."""
    path = Path(options.generations)
    lines = read_jsonl(path)
    for number, line in enumerate(lines, start=1):
        _check(line, f"{path}, line {number}")
    by_id: dict[str, Item] = {}
    if any("item" not in line for line in lines):
        by_id = _items_by_id(options)
    items = [
        _item(line, by_id, f"{path}, line {number}") for number, line in enumerate(lines, start=1)
    ]
    texts = [line["text"] for line in lines]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        verdicts = score(options.task, items, texts, sandbox=options.sandbox)
    for item, verdict in zip(items, verdicts, strict=True):
        print(json.dumps(_as_json(item, verdict), ensure_ascii=False))
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    print("\n".join(summary(options.task, verdicts)), file=sys.stderr)
    return 0


def summary(task: str, verdicts: Sequence[Verdict]) -> list[str]:
    """Lines that sum up a file: how many are right, the outcomes, the other readings."""
    n = len(verdicts)
    lines = [f"{task}: {_share(sum(v.correct for v in verdicts), n)} correct"]
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    lines += [f"  {outcome}: {count}" for outcome, count in sorted(outcomes.items())]
    details = [verdict.details for verdict in verdicts]
    if task == "gsm8k":
        for reading in ("strict", "flexible"):
            lines.append(f"  {reading}: {_share(sum(d[reading] for d in details), n)}")
        differ = sum(d["strict"] != d["flexible"] for d in details)
        lines.append(f"  strict and flexible differ: {differ}")
    if task.startswith("ifeval"):
        for kind in ("strict", "loose"):
            prompts = sum(d[f"prompt_{kind}"] for d in details)
            flat = [followed for d in details for followed in d[kind]]
            lines.append(
                f"  {kind}: {_share(prompts, n)} prompts, {_share(sum(flat), len(flat))} instructions"
            )
    return lines


def _share(count: int, total: int) -> str:
    return f"{count} of {total}" + (f" ({100 * count / total:.1f} %)" if total else "")


def _check(line: Any, where: str) -> None:
    if not isinstance(line, dict) or not isinstance(line.get("text"), str):
        raise ValueError(f"{where}: expected an object with a `text`")
    if "item" in line and not isinstance(line["item"], dict):
        raise ValueError(f"{where}: `item` must be an object")
    if "item" not in line and "item_id" not in line:
        raise ValueError(f"{where}: expected an `item` or an `item_id`")


def _item(line: Mapping[str, Any], by_id: Mapping[str, Item], where: str) -> Item:
    named = {"item_id": line["item_id"]} if "item_id" in line else {"item_id": where}
    if "item" in line:
        return {**named, **line["item"]}
    item = by_id.get(str(line["item_id"]))
    if item is None:
        raise ValueError(f"{where}: there is no item {line['item_id']!r}")
    return item


def _items_by_id(options: argparse.Namespace) -> dict[str, Item]:
    """The items under their id, and under its last part: `gsm8k/17` is also `17`."""
    task = load_task(options.task)
    if options.items is None:
        items = load_items(task, options.mirror)
    else:
        records = read_jsonl(options.items)
        items = [
            {"item_id": record["item_id"], **record.get("item", record)}
            if isinstance(record, dict) and "item_id" in record
            else task.read(record, position)
            for position, record in enumerate(records)
        ]
    short = {item["item_id"].rsplit("/", 1)[-1]: item for item in items}
    return short | {item["item_id"]: item for item in items}


def _as_json(item: Item, verdict: Verdict) -> dict[str, Any]:
    return {
        "item_id": item["item_id"],
        "correct": verdict.correct,
        "outcome": verdict.outcome,
        "extracted": verdict.extracted,
        "rule": verdict.rule,
        **verdict.details,
    }
