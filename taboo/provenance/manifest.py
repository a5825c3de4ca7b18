"""What a finished run is made of: a manifest, checksums, and a lineage for each figure.

Manifest and lineages hold stable facts alone (no times, no hosts), so two equal runs have equal ones.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taboo.files import read_json, sha256_file, write_json, write_text
from taboo.provenance.records import (
    figure_outputs,
    lineage,
    name_of,
    read_record,
    recorded_outputs,
)

Entries = dict[str, dict[str, Any]]


def stable_entries(results: str | Path, without: Iterable[str] = ()) -> Entries:
    """The stable part of every record whose output exists, by the output's name."""
    skipped = set(without)
    entries = {}
    for output in recorded_outputs(results):
        name = name_of(results, output)
        if name in skipped or not output.is_file():
            continue
        record = read_record(results, output)
        if record is not None:
            entries[name] = _stable(record)
    return entries


def write_manifest(path: str | Path, results: str | Path, without: Iterable[str] = ()) -> int:
    """Write the manifest of all recorded outputs but those named; returns how many there are."""
    entries = stable_entries(results, [*without, name_of(results, path)])
    write_json(path, {"files": entries})
    return len(entries)


def write_lineage(path: str | Path, results: str | Path, figure: str) -> None:
    """Write all that a figure was made from, back to the snapshots, as one JSON file.

    Raises ValueError naming an ancestor without an intact record.
    """
    made = (name_of(results, output) for output in recorded_outputs(results))
    names = figure_outputs(made, figure)
    records, damaged = lineage(results, names)
    for line in damaged.values():
        raise ValueError(line)
    known = {name: record for name, record in records.items() if record is not None}
    write_json(
        path,
        {
            "figure": figure,
            "files": {name: known[name]["sha256"] for name in names},
            "made_from": {name: _stable(known[name]) for name in known if name not in names},
            "cells": {
                name: known[name]["facts"]["cell_keys"][Path(name).stem]
                for name in known
                if name.startswith("cells/")
            },
            "models": {
                Path(name).parent.name: _snapshot(Path(results) / name)
                for name in known
                if name.startswith("snapshots/")
            },
            "packages": _union(record["environment"]["packages"] for record in known.values()),
            "containers": sorted(
                {c for record in known.values() if (c := record["environment"]["container"])}
            ),
        },
    )


def write_checksums(path: str | Path, results: str | Path, also: Iterable[str] = ()) -> int:
    """Write `sha256sum -c` lines for all outputs, snapshots and journals, relative to the results folder.

    `also` are files without a record as yet. Returns the number of lines.
    """
    results, own = Path(results), set(also)
    digests = {name: e["sha256"] for name, e in stable_entries(results, own).items()}
    for file in sorted(results.glob("snapshots/*/snapshot.json")):
        folder = f"{name_of(results, file.parent)}/files"
        for name, entry in read_json(file)["files"].items():
            digests[f"{folder}/{name}"] = entry["sha256"]
    journals = [p for p in results.glob("journal/*") if p.suffix in (".json", ".jsonl")]
    for name in [*own, *(name_of(results, p) for p in journals)]:
        if results / name != Path(path):
            digests[name] = sha256_file(results / name)
    digests.pop(name_of(results, path), None)
    write_text(path, "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)))
    return len(digests)


def _stable(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("sha256", "size", "rule", "inputs", "params", "facts", "environment")
    return {key: record[key] for key in kept}


def _snapshot(path: Path) -> dict[str, Any]:
    snapshot = read_json(path)
    return {"source": snapshot["source"], "sha256": snapshot["sha256"]}


def _union(versions: Iterable[Mapping[str, str | None]]) -> dict[str, list[str]]:
    """All versions of each package that were used."""
    found: dict[str, set[str]] = {}
    for packages in versions:
        for name, version in packages.items():
            if version:
                found.setdefault(name, set()).add(version)
    return {name: sorted(found[name]) for name in sorted(found)}


def copy_text(source: str | Path, target: str | Path) -> None:
    """Copy a text file atomically."""
    write_text(target, Path(source).read_text(encoding="utf-8"))


def write_configuration(path: str | Path, config: Mapping[str, Any]) -> None:
    """Write the configuration of the run, without where a mirror lies on this machine."""
    kept = {key: value for key, value in config.items() if key != "mirror"}
    write_json(path, json.loads(json.dumps(kept)))
