"""Records: what was made from what, when, by which code, and with which bytes.

Each output `<results>/<path>` has a record `<results>/provenance/records/<path>.json`. The facts that may differ between two equal runs (times, host, paths) are under `volatile`.
"""

import logging
import os
import platform
import resource
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from taboo.files import read_json, sha256_file, write_json


def records_folder(results: str | Path) -> Path:
    """The folder of all records."""
    return Path(results) / "provenance" / "records"


def record_path(results: str | Path, output: str | Path) -> Path:
    """Where the record of an output lies."""
    relative = Path(output).relative_to(results)
    return records_folder(results) / relative.parent / f"{relative.name}.json"


def write_records(
    results: str | Path,
    rule: str,
    inputs: Iterable[str | Path],
    outputs: Iterable[str | Path],
    params: Mapping[str, Any],
    facts: Mapping[str, Any],
    started: float,
) -> None:
    """Record the outputs of one finished job. `facts` are further stable facts (cell keys, for example)."""
    digests = {str(path): digest(results, path) for path in inputs}
    stopped = time.time()
    for output in map(Path, outputs):
        status = output.stat()
        write_json(
            record_path(results, output),
            {
                "output": str(output),
                "sha256": sha256_file(output),
                "size": status.st_size,
                "rule": rule,
                "inputs": digests,
                "params": params,
                "facts": facts,
                "volatile": {
                    "mtime_ns": status.st_mtime_ns,
                    "started": started,
                    "seconds": round(stopped - started, 3),
                    "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                    "host": platform.node(),
                    "machine": platform.platform(),
                    "python": platform.python_version(),
                    "slurm_job": os.environ.get("SLURM_JOB_ID"),
                    "code": _commit(),
                },
            },
        )


def digest(results: str | Path, path: str | Path) -> str:
    """sha256 of a file; taken from its record where size and modification time still agree."""
    record = _record(results, path)
    status = Path(path).stat()
    if record and _untouched(record, status):
        return record["sha256"]
    return sha256_file(path)


def damaged_outputs(results: str | Path) -> Iterator[Path]:
    """Outputs whose bytes are not those recorded. Unchanged size and time count as intact here; `taboo audit` re-hashes everything."""
    for file in sorted(records_folder(results).rglob("*.json")):
        record = read_json(file)
        output = Path(record["output"])
        if not output.is_file() or _untouched(record, output.stat()):
            continue
        if sha256_file(output) != record["sha256"]:
            yield output


def set_damaged_aside(results: str | Path) -> list[Path]:
    """Move every damaged output out of the way, so that it is made again; nothing is deleted.

    Returns the new places, `<results>/damaged/<path>.<time>`, and logs each.
    """
    moved = []
    for output in list(damaged_outputs(results)):
        stamp = time.strftime("%Y%m%dT%H%M%S")
        target = Path(results) / "damaged" / f"{output.relative_to(results)}.{stamp}"
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(output, target)
        logging.getLogger("taboo").warning(
            "%s is not what was recorded; moved to %s and made again", output, target
        )
        moved.append(target)
    return moved


def _record(results: str | Path, path: str | Path) -> dict[str, Any] | None:
    try:
        return read_json(record_path(results, path))
    except (FileNotFoundError, ValueError):
        return None


def _untouched(record: Mapping[str, Any], status: os.stat_result) -> bool:
    return (record["size"], record["volatile"]["mtime_ns"]) == (status.st_size, status.st_mtime_ns)


def _commit() -> dict[str, Any] | None:
    """The commit of this code and whether it was changed since, None outside a git checkout."""
    root = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()
        dirty = subprocess.run(
            ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "changed": bool(dirty.strip())}
