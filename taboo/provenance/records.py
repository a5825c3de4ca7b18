"""Records: what was made from what, by which code, with which packages, and with which bytes.

Each output `<results>/<name>` has a record `<results>/provenance/records/<name>.json`. Names are relative to the results folder, so a results folder can be moved; an input from elsewhere is `repository/<path>`. The facts that may differ between two equal runs (times, host, memory) are under `volatile`. A record holds a sha256 over itself, so damage to it is found too.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from taboo.files import read_json, sha256_file, sha256_json, write_json

OUTSIDE = "repository/"
"""Begins the name of an input that is not in the results folder."""


class DamagedRecord(ValueError):
    """A record that was changed after it was written, or is no record."""


def records_folder(results: str | Path) -> Path:
    """The folder of all records."""
    return Path(results) / "provenance" / "records"


def record_path(results: str | Path, output: str | Path) -> Path:
    """Where the record of an output lies."""
    name = name_of(results, output)
    if name.startswith(OUTSIDE):
        raise ValueError(f"{output} is not in {results}, so it has no record")
    return records_folder(results) / f"{name}.json"


def name_of(results: str | Path, path: str | Path) -> str:
    """A file's name in records."""
    path = Path(path)
    if path.is_relative_to(results):
        return path.relative_to(results).as_posix()
    return OUTSIDE + Path(os.path.relpath(path)).as_posix()


def path_of(results: str | Path, name: str) -> Path:
    """The file that a name in a record stands for."""
    if name.startswith(OUTSIDE):
        return Path(name.removeprefix(OUTSIDE))
    return Path(results) / name


def read_record(results: str | Path, output: str | Path) -> dict[str, Any] | None:
    """The record of an output, None if there is none. Raises DamagedRecord naming the file."""
    path = record_path(results, output)
    if not path.is_file():
        return None
    try:
        record = read_json(path)
        content = {key: value for key, value in record.items() if key != "record_sha256"}
        intact = record["record_sha256"] == sha256_json(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        intact = False
    if not intact or record["output"] != name_of(results, output):
        raise DamagedRecord(f"{path} is damaged: it is not what was written")
    return record


def recorded_outputs(results: str | Path) -> Iterator[Path]:
    """The outputs that have a record, in order of their names."""
    folder = records_folder(results)
    names = sorted(path.relative_to(folder) for path in folder.rglob("*.json"))
    return (Path(results) / name.with_suffix("") for name in names)


def figure_outputs(names: Iterable[str], figure: str) -> list[str]:
    """Those of the names that are a figure's files: its picture in each format, csv and caption."""
    return [name for name in names if name.rpartition(".")[0] == f"figures/{figure}"]


def lineage(
    results: str | Path, names: Iterable[str]
) -> tuple[dict[str, dict[str, Any] | None], dict[str, str]]:
    """The records of the outputs named and of all that they were made from, and a line on each damaged record.

    None stands for a file without a record (or with a damaged one).
    """
    records: dict[str, dict[str, Any] | None] = {}
    damaged: dict[str, str] = {}
    waiting = list(names)[::-1]
    while waiting:
        name = waiting.pop()
        if name in records:
            continue
        records[name] = None
        if name.startswith(OUTSIDE):
            continue
        try:
            record = read_record(results, Path(results) / name)
        except DamagedRecord as error:
            damaged[name] = str(error)
            continue
        records[name] = record
        waiting += list(record["inputs"]) if record else []
    return records, damaged


def write_record(results: str | Path, record: Mapping[str, Any]) -> Path:
    """Write a record with its own digest."""
    content = {key: value for key, value in record.items() if key != "record_sha256"}
    path = record_path(results, Path(results) / content["output"])
    return write_json(path, {**content, "record_sha256": sha256_json(content)})


def write_records(
    results: str | Path,
    rule: str,
    inputs: Mapping[str, str],
    outputs: Iterable[str | Path],
    params: Mapping[str, Any],
    facts: Mapping[str, Any],
    environment: Mapping[str, Any],
    volatile: Mapping[str, Any],
) -> None:
    """Record the outputs of one finished job.

    `inputs` are digests by name (see `input_digests`), `params` the rule's parameters, `facts` what else the job knows (cell keys, for example), `environment` the installed packages and the container, `volatile` what may differ between two equal runs.
    """
    for output in map(Path, outputs):
        digest = sha256_file(output)
        record = {
            "output": name_of(results, output),
            "sha256": digest,
            "size": output.stat().st_size,
            "rule": rule,
            "inputs": dict(inputs),
            "params": dict(params),
            "facts": dict(facts),
            "environment": dict(environment),
            "volatile": {**volatile, "stat": stat_of(output)},
        }
        write_record(results, record)


def input_digests(results: str | Path, paths: Iterable[str | Path]) -> dict[str, str]:
    """sha256 of each input by its name, each held against its record on the way.

    A file whose size and times are those recorded is not read again. Raises ValueError naming an input that is not what was recorded, and what to do.
    """
    digests = {}
    for path in paths:
        name = name_of(results, path)
        record = None if name.startswith(OUTSIDE) else read_record(results, path)
        if record is None:
            digests[name] = sha256_file(path)
        elif not is_intact(path, record):
            raise ValueError(
                f"{path} was changed since it was made; run snakemake again, which sets it aside "
                "and makes it anew"
            )
        else:
            digests[name] = record["sha256"]
    return digests


def is_intact(path: str | Path, record: Mapping[str, Any]) -> bool:
    """Whether a file is what its record says. It is read only if its size or a time has changed."""
    if stat_of(path) == record["volatile"]["stat"]:
        return True
    return os.stat(path).st_size == record["size"] and sha256_file(path) == record["sha256"]


def stat_of(path: str | Path) -> list[int]:
    """Size, modification time and change time (ns). A write moves the last one and no tool sets it."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
