"""Load a task's items, draw the seeded sample, write and read sample files."""

import gzip
import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from fractions import Fraction
from pathlib import Path
from typing import Any

from taboo import hub
from taboo.files import canonical_json, parse_jsonl, read_jsonl, write_jsonl
from taboo.tasks.base import Item, Task, TaskError

_log = logging.getLogger(__name__)


def load_items(
    task: Task,
    mirror: str | Path | None = None,
    revision: str | None = None,
    files: Mapping[str, Mapping[str, Any]] | None = None,
    records: int | None = None,
    sha256: str | None = None,
) -> list[Item]:
    """All items of a task in published order, from a local mirror or, without one, from the hub.

    Both routes are brought to the mirror's schema, so `records` (their number) and `sha256` (see `digest`) are the same for both; where given, they are checked. `revision` replaces the task's own pin of the hub data set, and `files` are those to take of it, with their sha256 and size; without them, what the hub has at that commit. Items that the task refuses are left out, with a warning that says why. Raises TaskError saying what was expected, and OSError where the disk has too little room for a download.
    """
    if mirror is None:
        raw, source = _hub_records(task, revision or task.hub.revision, files)
    else:
        raw, source = _mirror_records(task, Path(mirror))
    if not raw:
        raise TaskError(f"{source} holds no records")
    try:
        items = [task.read(record, position) for position, record in enumerate(raw)]
    except TaskError as error:
        raise TaskError(f"{source}: {error}") from error
    if records is not None and len(items) != records:
        raise TaskError(f"{source} holds {len(items)} records, expected {records}")
    if sha256 is not None and (found := digest(items)) != sha256:
        raise TaskError(f"{source}: the records have sha256 {found}, expected {sha256}")
    _check_ids(items, source)
    return _usable(task, items, source)


def digest(items: Iterable[Mapping[str, Any]]) -> str:
    """Hex sha256 over the items' records (without `item_id`), one canonical JSON line each."""
    total = hashlib.sha256()
    for item in items:
        record = {key: value for key, value in item.items() if key != "item_id"}
        total.update(canonical_json(record) + b"\n")
    return total.hexdigest()


def seeded_sample(
    items: Sequence[Item],
    n: int,
    seed: int,
    stratum: Callable[[Item], str | None] = lambda item: None,
) -> list[Item]:
    """The first `n` items of the seed's order, which depends on the seed and the items' ids alone.

    So samples are nested: a smaller one is the beginning of a larger one. Within a stratum items follow each other in the order of sha256(seed, item_id). The strata take turns by the rule of Sainte-Laguë (Webster): the r-th item (from 0) of a stratum of size m comes at (2r + 1)/2m, ties in seeded order. So in every beginning of n items the strata's counts are those that minimise the sum of (count - share)²/m, where the share is n times m over the number of all items; no apportionment of n whole items comes closer. Raises TaskError if there are fewer than `n` items.
    """
    if not 0 < n <= len(items):
        raise TaskError(f"a sample of {n} items was asked for, there are {len(items)}")
    strata: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: _rank(seed, "item", item["item_id"])):
        strata[stratum(item) or ""].append(item)
    order = [
        (Fraction(2 * r + 1, 2 * len(members)), _rank(seed, "stratum", name), member)
        for name, members in strata.items()
        for r, member in enumerate(members)
    ]
    order.sort(key=lambda entry: entry[:2])
    return [item for _, _, item in order[:n]]


def write_sample(path: str | Path, task: Task, items: Iterable[Item]) -> Path:
    """Write the sample file: one line per item with its prompt, in order."""
    lines = []
    for item in items:
        shown = task.render(item)
        record = {key: value for key, value in item.items() if key != "item_id"}
        lines.append(
            {
                "item_id": item["item_id"],
                "prefix": shown.prefix,
                "prompt": shown.prompt,
                "chat": shown.chat,
                "item": record,
            }
        )
    return write_jsonl(path, lines)


def read_sample(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a sample file; TaskError if one lacks a field."""
    lines = read_jsonl(path)
    fields = {"item_id", "prefix", "prompt", "chat", "item"}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, dict) or not fields <= set(line):
            raise TaskError(f"{path}, line {number}: a sample line has {', '.join(sorted(fields))}")
    return lines


def _rank(seed: int, kind: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{kind}\n{name}".encode()).digest()


def _usable(task: Task, items: Sequence[Item], source: str) -> list[Item]:
    usable = []
    for item in filter(task.keep, items):
        if reason := task.refuse(item):
            _log.warning("%s: %s is left out: %s", source, item["item_id"], reason)
        else:
            usable.append(item)
    return usable


def _check_ids(items: Sequence[Item], source: str) -> None:
    seen: dict[str, int] = {}
    for position, item in enumerate(items):
        first = seen.setdefault(item["item_id"], position)
        if first != position:
            raise TaskError(
                f"{source}: records {first} and {position} have the same id {item['item_id']}"
            )


def _mirror_records(task: Task, mirror: Path) -> tuple[list[Any], str]:
    plain = mirror / task.mirror_file
    packed = plain.with_name(plain.name + ".gz")
    for path, unpack in ((plain, bytes), (packed, gzip.decompress)):
        if path.is_file():
            try:
                return parse_jsonl(unpack(path.read_bytes()), path), str(path)
            except (ValueError, OSError, EOFError) as error:
                raise TaskError(f"{path} can't be read: {error}") from error
    raise TaskError(
        f"the mirror has no data for {task.name}: expected {plain} or {packed.name} beside it"
    )


def _hub_records(
    task: Task, revision: str, files: Mapping[str, Mapping[str, Any]] | None
) -> tuple[list[Any], str]:
    repository = task.hub.repository
    try:
        if files is None:
            found = hub.look_up(repository, revision, lambda name: fnmatch(name, task.hub.files))
            revision, files = found["revision"], found["files"]
        paths = hub.cached(repository, revision, files)
    except hub.HubError as error:
        raise TaskError(
            f"{error}. Without a network, set `mirror` to a folder with {task.mirror_file}"
        ) from error
    source = f"{repository} at {revision}"
    return [record for name in sorted(paths) for record in _file_records(paths[name])], source


def _file_records(path: Path) -> list[Any]:
    if path.suffix != ".parquet":
        return parse_jsonl(path.read_bytes(), path)
    import pyarrow.parquet

    # By its path: on a Python file object, pyarrow's threads now and then abort at exit.
    return pyarrow.parquet.read_table(path).to_pylist()
