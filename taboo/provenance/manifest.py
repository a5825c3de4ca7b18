"""The manifest: every recorded output with its digest and what it was made from."""

from pathlib import Path

from taboo.files import write_json
from taboo.provenance.records import name_of, read_record, recorded_outputs


def write_manifest(path: str | Path, results: str | Path) -> int:
    """Write the manifest of all records whose output exists; returns how many there are.

    It holds stable facts alone (no times, no hosts), so two equal runs have equal manifests.
    """
    entries = {}
    for output in recorded_outputs(results):
        record = read_record(results, output)
        if record is not None and output.is_file() and output != Path(path):
            entries[name_of(results, output)] = {
                key: record[key] for key in ("sha256", "size", "rule", "inputs", "facts")
            }
    write_json(path, {"files": entries})
    return len(entries)
