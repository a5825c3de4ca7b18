"""Outputs that are not what was recorded: found when a run starts, and set aside so that they are made again.

Snakemake looks at times and parameters, not at bytes: an output changed in place would pass unnoticed.
"""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from taboo.provenance.records import (
    DamagedRecord,
    is_intact,
    name_of,
    read_record,
    record_path,
    recorded_outputs,
    stat_of,
    write_record,
)

STAGES = (
    *("samples", "word_starts", "cells", "scores", "judge", "tables", "figures", "claims"),
    "site",
)
"""The folders in which every file is the output of a job and has a record."""

_log = logging.getLogger("taboo")


def damage(results: str | Path) -> Iterator[tuple[Path, str]]:
    """Outputs that are not what was recorded, and what is wrong with each.

    An output whose size and times are those recorded counts as intact here; `taboo audit` reads everything.
    """
    known = set()
    for output in recorded_outputs(results):
        known.add(output)
        if not output.is_file():
            continue
        try:
            record = read_record(results, output)
        except DamagedRecord:
            yield output, "its record is damaged"
            continue
        if record is not None and not is_intact(output, record):
            yield output, "it is not what was recorded"
    for output in unrecorded_outputs(results, known):
        yield output, "there is no record of how it was made"


def unrecorded_outputs(results: str | Path, known: set[Path]) -> Iterator[Path]:
    """Files among the outputs that no record speaks of. Hidden files are those being written."""
    for stage in STAGES:
        for path in sorted((Path(results) / stage).rglob("*")):
            if path.is_file() and path not in known and not path.name.startswith("."):
                yield path


def damaged_outputs(results: str | Path) -> Iterator[Path]:
    """The outputs that `damage` finds."""
    return (output for output, _ in damage(results))


def report_damage(results: str | Path) -> list[Path]:
    """Log what is damaged and change nothing; returns the outputs."""
    found = list(damage(results))
    for output, reason in found:
        _log.warning("%s: %s; a run will set it aside and make it again", output, reason)
    return [output for output, _ in found]


def set_damaged_aside(results: str | Path) -> list[Path]:
    """Move every damaged output out of the way, so that it is made again; nothing is deleted.

    A file that was only touched (other times, same bytes) gets its recorded time back, so that nothing is made again for it. The record of a file that is gone goes too: the run makes the file again, or nobody wants it any more. Returns the new places, `<results>/damaged/<name>.<time>`, and logs each.
    """
    moved = [set_aside(results, output, reason) for output, reason in list(damage(results))]
    for output in list(recorded_outputs(results)):
        if output.is_file():
            _restore_times(results, output)
        else:
            record_path(results, output).unlink()
    return moved


def set_aside(results: str | Path, output: Path, reason: str) -> Path:
    """Move one output and its record to `<results>/damaged/`; returns the output's new place."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    target = _free(Path(results) / "damaged" / f"{name_of(results, output)}.{stamp}")
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(output, target)
    record = record_path(results, output)
    if record.is_file():
        os.replace(record, target.with_name(f"{target.name}.record"))
    _log.warning("%s: %s; moved to %s and made again", output, reason, target)
    return target


def _restore_times(results: str | Path, output: Path) -> None:
    record = read_record(results, output)
    if record is None or stat_of(output) == record["volatile"]["stat"]:
        return
    modified = record["volatile"]["stat"][1]
    os.utime(output, ns=(modified, modified))
    record["volatile"]["stat"] = stat_of(output)
    write_record(results, record)


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        free, number = path.with_name(f"{path.name}.{number}"), number + 1
    return free
