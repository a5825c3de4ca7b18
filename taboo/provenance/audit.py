"""The audit: from any output back to the weights, every file read again and held against what was recorded."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taboo.cells import read_cell
from taboo.conditions import parse_condition
from taboo.files import read_json, sha256_file, sha256_json, write_json
from taboo.provenance.damage import unrecorded_outputs
from taboo.provenance.journals import cell_problems, read_journal
from taboo.provenance.keys import differences
from taboo.provenance.records import (
    OUTSIDE,
    lineage,
    name_of,
    path_of,
    recorded_outputs,
    stat_of,
)
from taboo.provenance.replies import FOLDER, damaged_reply, reply_problems

LARGE = 64 * 2**20
"""Files of at least so many bytes (weights) are read again only if their size, a time or their inode has changed since an audit read them, or if asked for."""


@dataclass(frozen=True)
class Node:
    """One file of the audit: its name, its inputs' names, and what is wrong, as (state, line) pairs.

    States are `missing`, `changed`, `unrecorded`, `outdated` (made from another version of an input) and `unlocked` (made with other packages than pinned).
    """

    name: str
    inputs: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


class Hashes:
    """sha256 of files, remembered for large ones in `<results>/provenance/hashed.json`."""

    def __init__(self, results: str | Path, full: bool = False):
        self._file = Path(results) / "provenance" / "hashed.json"
        try:
            self._known = {} if full else read_json(self._file)
        except (OSError, ValueError):
            self._known = {}

    def of(self, path: Path) -> str:
        """The file's digest."""
        status = path.stat()
        if status.st_size < LARGE:
            return sha256_file(path)
        stamp = [*stat_of(path), status.st_ino]
        known = self._known.get(str(path))
        if not known or known[0] != stamp:
            self._known[str(path)] = known = [stamp, sha256_file(path)]
        return known[1]

    def check(self, path: Path, expected: str) -> bool:
        """Whether the file has this digest; what is remembered can't make a good file bad."""
        if self.of(path) == expected:
            return True
        self._known.pop(str(path), None)
        return self.of(path) == expected

    def save(self) -> None:
        """Remember for the next audit, where the folder can be written."""
        if self._known:
            try:
                write_json(self._file, self._known)
            except OSError:
                return


def audit(
    results: str | Path,
    targets: Iterable[str] = (),
    pins: Mapping[str, str] | None = None,
    full: bool = False,
    locks: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Node]:
    """Check the targets (names of outputs, all if none is given) and all that they were made from.

    `pins` are the versions that packages should have had, `locks` those of images, by the digest of the lock that an image was built from. With `full`, weights are read again even if nothing about them has changed. Returns a node per file, targets first.
    """
    results = Path(results)
    everything = [name_of(results, output) for output in recorded_outputs(results)]
    records, damaged = lineage(results, list(targets) or everything)
    hashes = Hashes(results, full)
    with ThreadPoolExecutor() as pool:
        digests = dict(zip(records, pool.map(lambda n: _digest(results, n), records), strict=True))

        def check(name: str) -> Node:
            record = records[name]
            problems = (
                [("changed", damaged[name])]
                if name in damaged
                else _problems(
                    results, name, record, records, digests, pins or {}, locks or {}, hashes
                )
            )
            return Node(name, tuple(record["inputs"]) if record else (), tuple(problems))

        nodes = {node.name: node for node in pool.map(check, records)}
    if not targets:
        nodes.update(_rest(results, set(everything)))
    hashes.save()
    return nodes


def _digest(results: Path, name: str) -> str | None:
    path = path_of(results, name)
    return sha256_file(path) if path.is_file() else None


def _problems(
    results: Path,
    name: str,
    record: Mapping[str, Any] | None,
    records: Mapping[str, Mapping[str, Any] | None],
    digests: Mapping[str, str | None],
    pins: Mapping[str, str],
    locks: Mapping[str, Mapping[str, str]],
    hashes: Hashes,
) -> list[tuple[str, str]]:
    if digests[name] is None:
        return [("missing", name)]
    if record is None:
        return [] if name.startswith(OUTSIDE) else [("unrecorded", name)]
    problems = []
    if digests[name] != record["sha256"]:
        problems.append(("changed", name))
    for source, digest in record["inputs"].items():
        known = records[source]
        now = digests[source] if known is None else known["sha256"]
        if now not in (None, digest):
            problems.append(("outdated", f"{name} was made from another version of {source}"))
    environment = record["environment"]
    lock = environment.get("lock")
    if lock and lock not in locks:
        problems.append(("unlocked", f"{name} was made in an image of a lock that is not in envs"))
    for package, found in environment["packages"].items():
        pin = locks.get(lock, pins).get(package)
        if found and pin and found.partition("+")[0] != pin:
            problems.append(("unlocked", f"{name} was made with {package} {found}, not {pin}"))
    stage = name.partition("/")[0]
    if stage == "snapshots":
        problems += _snapshot_problems(results / name, hashes)
    elif stage == "cells":
        problems += [("changed", line) for line in _cell_problems(results, name, record, digests)]
    elif stage == "judge" and name.endswith("/judged.jsonl"):
        problems += reply_problems(results, results / name)
    return problems


def _snapshot_problems(path: Path, hashes: Hashes) -> list[tuple[str, str]]:
    try:
        expected = read_json(path)["files"]
    except (ValueError, KeyError, TypeError):
        return []  # the description itself is found to be changed
    folder = path.parent / "files"
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    problems = []
    for name in sorted(expected.keys() | found):
        file = folder / name
        if name not in found:
            problems.append(("missing", str(file)))
        elif name not in expected:
            problems.append(("unrecorded", str(file)))
        elif not hashes.check(file, expected[name]["sha256"]):
            problems.append(("changed", str(file)))
    return problems


def _cell_problems(
    results: Path, name: str, record: Mapping[str, Any], digests: Mapping[str, str | None]
) -> list[str]:
    """Whether a cell is the one that its place and its record name, and what its journal says."""
    _, model, precision, task, file = name.split("/")
    try:
        table, metadata = read_cell(results / name, ["item_id", "prompt_sha256"])
    except ValueError as error:
        return [str(error)]
    parts = metadata["recipe"]
    expected = record["facts"].get("cell_keys", {}).get(Path(file).stem)
    if metadata["cell_key"] != expected:
        return [
            f"{name} holds the cell {metadata['cell_key'][:12]}, not {str(expected)[:12]}; "
            "`taboo explain` says what differs"
        ]
    place = _place(results, model, precision, task, Path(file).stem, parts, digests)
    wrong = differences({key: _part(parts, key) for key in place}, place)
    problems = [f"{name} is not of its place ({line})" for line in wrong]
    items = [
        (item, prompt)
        for item, prompt in zip(
            table["item_id"].to_pylist(), table["prompt_sha256"].to_pylist(), strict=True
        )
    ]
    if sha256_json([list(item) for item in items]) != metadata["sample_sha256"]:
        problems.append(f"{name} holds other items than its key says")
    journal = results / "journal" / f"{metadata['recipe_key']}.jsonl"
    stored, broken = read_journal(journal)
    return [
        *problems,
        *broken,
        *cell_problems(journal, stored, items, metadata.get("records_sha256", "")),
    ]


def _place(
    results: Path,
    model: str,
    precision: str,
    task: str,
    condition: str,
    parts: Mapping[str, Any],
    digests: Mapping[str, str | None],
) -> dict[str, Any]:
    """What the recipe of a cell must say, going by where the cell lies."""
    named = parse_condition(condition, parts["condition"]["max_new_tokens"])
    place = {
        "engine.precision": precision,
        "task.name": task,
        **{f"condition.{key}": getattr(named, key) for key in ("rank", "mode", "seed")},
        "condition.temperature": named.temperature,
        "condition.max_new_tokens": named.max_new_tokens,
    }
    starts = digests.get(f"word_starts/{model}.safetensors")
    if starts:
        place["word_starts"] = starts
    snapshot = results / "snapshots" / model / "snapshot.json"
    try:
        place["snapshot"] = read_json(snapshot)["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return place  # the snapshot's own node says what is wrong with it
    return place


def _part(parts: Mapping[str, Any], name: str) -> Any:
    value: Any = parts
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _rest(results: Path, known: set[str]) -> dict[str, Node]:
    """What no target leads to: files without a record, journals (of larger samples, for example) and a judge's replies."""
    paths = unrecorded_outputs(results, {results / name for name in known})
    nodes = {
        name: Node(name, (), (("unrecorded", name),))
        for name in (name_of(results, path) for path in paths)
    }
    for journal in sorted((results / "journal").glob("*.jsonl")):
        if journal.name.endswith(".rejected.jsonl"):
            continue
        _, broken = read_journal(journal)
        name = name_of(results, journal)
        nodes[name] = Node(name, (), tuple(("changed", line) for line in broken))
    for reply in sorted((results / FOLDER).glob("*.json")):
        line = damaged_reply(reply)
        nodes[name_of(results, reply)] = Node(
            name_of(results, reply), (), (("changed", line),) if line else ()
        )
    return nodes
