"""Cells: their keys, the journal they are built from, and their files.

The recipe key says how an item is generated, the cell key says that and for which items. The journal is named by the recipe key, so a larger sample goes on in the journal of the smaller one.
"""

import fcntl
import json
import logging
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from taboo.files import canonical_json, sha256_json, sync_folder, write_atomic, write_bytes

if TYPE_CHECKING:  # scoring and auditing read cells without loading an engine
    from taboo.engine.base import Generation

CELL_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("prompt_sha256", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("nominal_ids", pa.list_(pa.int32())),
        ("delta_s", pa.list_(pa.float32())),
        ("intervened", pa.list_(pa.bool_())),
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("n_prompt_tokens", pa.int32()),
    ]
)
_FIELDS = CELL_SCHEMA.names


def recipe_key(parts: Mapping[str, Any]) -> str:
    """sha256 over everything that decides how one item is generated."""
    return sha256_json(parts)


def cell_key(recipe: str, sample_sha256: str) -> str:
    """sha256 over everything that decides a cell's bytes: the recipe and the items."""
    return sha256_json({"recipe": recipe, "sample": sample_sha256})


class JournalInUse(RuntimeError):
    """Another process is writing the journal."""


class Journal:
    """The durable record of one recipe's generations: an append-only file of JSON lines.

    Each line holds the recipe key, one generation and a sha256 over both, and is fsynced before `append` returns. Opening cuts off a torn last line and sets damaged or foreign lines aside in `<name>.rejected.jsonl`, both logged, so that their items are generated again. Use it as a context manager: it holds a lock, and a second writer is refused by name.

    Attributes:
        records: what is stored, by (item_id, prompt_sha256).
    """

    def __init__(self, folder: str | Path, recipe: str, log: logging.Logger):
        self.path = Path(folder) / f"{recipe}.jsonl"
        self.recipe = recipe
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        self._log = log
        self._file: Any = None

    def __enter__(self) -> "Journal":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = open(self.path.with_suffix(".lock"), "a+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            self._lock.close()
            raise JournalInUse(
                f"{self.path} is being written by {holder}; let it end, or end it, and run again"
            ) from None
        self._lock.truncate(0)
        job = os.environ.get("SLURM_JOB_ID")
        self._lock.write(
            f"process {os.getpid()} on {socket.gethostname()}" + (f", job {job}" if job else "")
        )
        self._lock.flush()
        self._read()
        self._file = open(self.path, "ab", buffering=0)
        sync_folder(self.path.parent)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.truncate(0)
        self._lock.close()

    def append(self, generation: "Generation") -> None:
        """Store one generation durably. Raises OSError naming the file if it can't be written."""
        record = {
            "recipe": self.recipe,
            **{name: _plain(getattr(generation, name)) for name in _FIELDS},
        }
        record["sha256"] = sha256_json(record)
        self._write(canonical_json(record) + b"\n")
        self.records[record["item_id"], record["prompt_sha256"]] = record

    def _write(self, line: bytes) -> None:
        """Write a whole line durably, or leave the file as it was."""
        file = self._file.fileno()
        end = os.fstat(file).st_size
        try:
            rest = line
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError as error:
            os.ftruncate(file, end)
            raise OSError(
                error.errno,
                f"{self.path} can't be written ({error.strerror}); what it holds is kept, so free "
                "some space and run again",
            ) from error

    def missing(self, items: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of the given (item_id, prompt_sha256) that have no record, in order."""
        return [item for item in items if item not in self.records]

    def _read(self) -> None:
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        body, newline, torn = data.rpartition(b"\n")
        if torn:
            self._log.warning("%s: cut off a torn last line of %d bytes", self.path, len(torn))
        good, bad = [], []
        for line in body.split(b"\n") if newline else []:
            record = _check_record(line, self.recipe)
            if record is None:
                bad.append(line)
            else:
                good.append(line)
                self.records[record["item_id"], record["prompt_sha256"]] = record
        if bad:
            rejected = self.path.with_suffix(".rejected.jsonl")
            self._log.warning(
                "%s: %d damaged line(s) moved to %s; their items are generated again",
                self.path,
                len(bad),
                rejected.name,
            )
            with open(rejected, "ab") as file:
                file.write(b"\n".join(bad) + b"\n")
        if bad or torn:
            write_bytes(self.path, b"".join(line + b"\n" for line in good))


def _check_record(line: bytes, recipe: str) -> dict[str, Any] | None:
    """The record of a journal line, or None if it is damaged or of another recipe."""
    try:
        record = json.loads(line)
        content = {name: value for name, value in record.items() if name != "sha256"}
        intact = (
            record["sha256"] == sha256_json(content)
            and record["recipe"] == recipe
            and canonical_json(record) == line
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return record if intact else None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def write_cell(
    path: str | Path,
    records: Sequence[Mapping[str, Any]],
    parts: Mapping[str, Any],
    sample_sha256: str,
) -> str:
    """Write a cell's file from journal records in sample order; returns the cell key.

    Same records, same bytes. The key and what it is made of are in the file's metadata, and a sha256 over the records' own digests, by which the cell can be held against its journal.
    """
    recipe = recipe_key(parts)
    key = cell_key(recipe, sample_sha256)
    metadata = {
        "cell_key": key,
        "recipe_key": recipe,
        "recipe": canonical_json(parts).decode(),
        "sample_sha256": sample_sha256,
        "records_sha256": sha256_json([record["sha256"] for record in records]),
    }
    table = pa.Table.from_pydict(
        {name: [record[name] for record in records] for name in _FIELDS},
        schema=CELL_SCHEMA.with_metadata(metadata),
    )
    write_atomic(path, lambda file: pq.write_table(table, file))
    return key


def read_cell(
    path: str | Path, columns: Sequence[str] | None = None
) -> tuple[pa.Table, dict[str, Any]]:
    """A cell's table (of the columns named, else all) and metadata (`cell_key`, `recipe_key`, `recipe` as a dict, `sample_sha256`, `records_sha256`).

    Raises ValueError naming the file if it is no cell or its key does not follow from its parts.
    """
    try:
        table = pq.read_table(path, columns=columns)
        raw = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        metadata = {**raw, "recipe": json.loads(raw["recipe"])}
        recipe = recipe_key(metadata["recipe"])
        key = cell_key(recipe, metadata["sample_sha256"])
    except (pa.ArrowInvalid, OSError, KeyError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is not a readable cell: {error}") from error
    if (recipe, key) != (metadata["recipe_key"], metadata["cell_key"]):
        raise ValueError(f"{path}: its cell key does not follow from the parts it names")
    return table, metadata
