"""The state of each cell: what the files say, without a model being loaded or a digest taken anew."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from taboo.files import canonical_json, read_json
from taboo.plan import Cell, Group, condition, groups
from taboo.provenance.damage import damaged_outputs
from taboo.provenance.records import DamagedRecord, read_record

Kind = Literal["done", "partial", "invalid", "missing"]
KINDS: tuple[Kind, ...] = ("done", "partial", "invalid", "missing")


@dataclass(frozen=True)
class State:
    """What there is of a cell: `items` of the `n` that the studies need.

    `done`: its file is there, made by this code. `partial`: some items are in its journal, or the file is of a smaller sample. `invalid`: the file is damaged, or was made by other code. `missing`: nothing.
    """

    kind: Kind
    items: int
    n: int


def cell_states(config: Mapping[str, Any], code: str) -> dict[Cell, State]:
    """The state of every cell of the studies to run. `code` is the source digest of the generating code."""
    results = Path(config["results"])
    damaged = set(damaged_outputs(results)) if results.is_dir() else set()
    journals = _journals(results, code)
    return {
        cell: _state(config, results, group, cell, code, damaged, journals)
        for group in groups(config)
        for cell in cells_of(group)
    }


def cells_of(group: Group) -> Iterator[Cell]:
    """The cells of a group, in order."""
    for name in group.conditions:
        yield Cell(group.model, group.precision, group.task, name)


def _state(
    config: Mapping[str, Any],
    results: Path,
    group: Group,
    cell: Cell,
    code: str,
    damaged: set[Path],
    journals: Mapping[bytes, Path],
) -> State:
    path = results / "cells" / f"{cell.path}.parquet"
    if path.is_file():
        if path in damaged or _made_by(results, path) != code:
            return State("invalid", 0, group.n)
        rows = min(pq.read_metadata(path).num_rows, group.n)
        return State("done" if rows == group.n else "partial", rows, group.n)
    snapshot = results / "snapshots" / cell.model / "snapshot.json"
    items = 0
    if journals and snapshot.is_file():
        wanted = _key(
            asdict(condition(config, cell.task, cell.condition)),
            cell.task,
            cell.precision,
            read_json(snapshot)["sha256"],
        )
        if wanted in journals:
            items = min(_lines(journals[wanted]), group.n)
    return State("partial" if items else "missing", items, group.n)


def _made_by(results: Path, path: Path) -> str | None:
    try:
        record = read_record(results, path)
    except DamagedRecord:
        return None
    return record["params"].get("generating_code") if record else None


def _journals(results: Path, code: str) -> dict[bytes, Path]:
    """The journals of this code, by what they are of. Where several machines wrote one, the longest."""
    found: dict[bytes, Path] = {}
    for path in sorted((results / "journal").glob("*.json")):
        recipe = read_json(path)
        journal = path.with_suffix(".jsonl")
        if recipe["code"] != code or not journal.is_file():
            continue
        parts = (recipe["task"]["name"], recipe["engine"]["precision"], recipe["snapshot"])
        key = _key(recipe["condition"], *parts)
        if key not in found or journal.stat().st_size > found[key].stat().st_size:
            found[key] = journal
    return found


def _key(condition_parts: Mapping[str, Any], task: str, precision: str, snapshot: str) -> bytes:
    parts = {k: v for k, v in condition_parts.items() if k != "named_budget"}
    return canonical_json([json.loads(canonical_json(parts)), task, precision, snapshot])


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")
