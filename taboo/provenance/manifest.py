"""The manifest: every recorded output with its digest and what it was made from."""

from pathlib import Path

from taboo.files import read_json, write_json
from taboo.provenance.records import records_folder


def write_manifest(path: str | Path, results: str | Path) -> int:
    """Write the manifest of all records whose output exists; returns how many there are.

    It holds stable facts alone (no times, no hosts), so two equal runs have equal manifests.
    """
    entries = {}
    for file in sorted(records_folder(results).rglob("*.json")):
        record = read_json(file)
        output = Path(record["output"])
        if output.is_file() and output != Path(path):
            name = output.relative_to(results).as_posix()
            entries[name] = {
                key: record[key] for key in ("sha256", "size", "rule", "inputs", "facts")
            }
    write_json(path, {"files": entries})
    return len(entries)
