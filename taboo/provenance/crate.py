"""A Workflow Run RO-Crate of a results folder: which job made which file from which, as JSON-LD.

Follows RO-Crate 1.1 and the profiles Process Run Crate 0.5, Workflow Run Crate 0.5 and Workflow RO-Crate 1.0. The crate's root is the results folder, since a crate can describe only what lies below its metadata file.
"""

import mimetypes
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from taboo.files import sha256_file, sha256_json, write_json
from taboo.provenance.records import OUTSIDE, name_of, read_record, recorded_outputs

METADATA = "ro-crate-metadata.json"
SNAKEFILE = "provenance/workflow/workflow/Snakefile"
_LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_TYPES = {".parquet": "application/vnd.apache.parquet", ".jsonl": "application/jsonl"}

Entity = dict[str, Any]


def write_crate(
    results: str | Path,
    name: str,
    licence: str,
    version: str,
    own: Iterable[str] = (),
) -> int:
    """Write `<results>/ro-crate-metadata.json`; returns the number of files it describes.

    `licence` is a URL, `version` Snakemake's. `own` are the files of the job that writes the crate, which have no record as yet. Raises ValueError if the results hold no record or no copy of the workflow.
    """
    results = Path(results)
    records = {}
    for output in recorded_outputs(results):
        record = read_record(results, output)
        if record is not None and output.is_file():
            records[name_of(results, output)] = record
    others = [n for n in own if n != METADATA]
    records = {n: r for n, r in records.items() if n not in others and n != METADATA}
    if not records or not (results / SNAKEFILE).is_file():
        raise ValueError(f"{results} holds no records or no {SNAKEFILE} to describe")
    digests = {n: (r["sha256"], r["size"]) for n, r in records.items()}
    for n in others:
        digests[n] = (sha256_file(results / n), (results / n).stat().st_size)
    actions = _actions(records)
    ends = [action["endTime"] for action in actions]
    shown = [n for n in records if n.startswith(("figures/", "tables/", "claims/"))]
    run: Entity = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": "Run of the workflow",
        "description": "From model snapshots and samples to tables and figures.",
        "instrument": _ref(SNAKEFILE),
        "object": _refs(n for n in records if n.startswith(("snapshots/", "samples/"))),
        "result": _refs(shown),
        "startTime": min(action["startTime"] for action in actions),
        "endTime": max(ends),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    outside = sorted({i for r in records.values() for i in r["inputs"] if i.startswith(OUTSIDE)})
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": "Results of the workflow: cells, scores, tables and figures, with the job that made each.",
        "datePublished": max(ends)[:10],
        "license": _ref(licence),
        "conformsTo": _refs(_PROFILES),
        "mainEntity": _ref(SNAKEFILE),
        "hasPart": _refs(sorted(digests)),
        "mentions": _refs(["#run", *(action["@id"] for action in actions)]),
    }
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": _ref("./"),
            "conformsTo": _refs(
                [
                    "https://w3id.org/ro/crate/1.1",
                    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
                ]
            ),
        },
        root,
        *({"@id": i, "@type": "CreativeWork", "name": n, "version": v} for i, (n, v) in _PROFILES.items()),
        {"@id": licence, "@type": "CreativeWork", "name": licence.rpartition("/")[2], "description": "Licence of the workflow."},
        {
            "@id": _LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": _ref("https://doi.org/10.1093/bioinformatics/bts480"),
            "url": _ref("https://snakemake.github.io"),
            "version": version,
        },
        *(_file(n, *digests[n], licence) for n in sorted(digests)),
        *(
            {"@id": f"#{n}", "@type": "CreativeWork", "name": n.removeprefix(OUTSIDE), "description": "A file of the workflow's repository."}
            for n in outside
        ),
        *(
            {"@id": f"#rule-{rule}", "@type": "SoftwareApplication", "name": rule, "url": _ref(SNAKEFILE), "softwareVersion": version}
            for rule in sorted({record["rule"] for record in records.values()})
        ),
        run,
        *actions,
    ]  # fmt: skip
    context = [
        "https://w3id.org/ro/crate/1.1/context",
        {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
    ]
    write_json(results / METADATA, {"@context": context, "@graph": graph})
    return len(digests)


def _actions(records: Mapping[str, Mapping[str, Any]]) -> list[Entity]:
    """One CreateAction per job, in the order in which they started."""
    jobs: dict[str, list[str]] = {}
    for name, record in records.items():
        volatile = record["volatile"]
        job = [record["rule"], record["inputs"], record["params"], volatile["started"]]
        jobs.setdefault(sha256_json(job)[:16], []).append(name)
    actions = []
    for key, names in jobs.items():
        record = records[names[0]]
        started, seconds = record["volatile"]["started"], record["volatile"]["seconds"]
        actions.append(
            {
                "@id": f"#job-{key}",
                "@type": "CreateAction",
                "name": f"{record['rule']}: {names[0]}",
                "description": f"One job of the rule {record['rule']}.",
                "instrument": _ref(f"#rule-{record['rule']}"),
                "object": _refs(
                    f"#{name}" if name.startswith(OUTSIDE) else name
                    for name in record["inputs"]
                    if name in records or name.startswith(OUTSIDE)
                ),
                "result": _refs(names),
                "startTime": _time(started),
                "endTime": _time(started + seconds),
                "actionStatus": "http://schema.org/CompletedActionStatus",
            }
        )
    return sorted(actions, key=lambda action: (action["startTime"], action["@id"]))


def _file(name: str, digest: str, size: int, licence: str) -> Entity:
    entity: Entity = {
        "@id": name,
        "@type": "File",
        "name": name,
        "sha256": digest,
        "contentSize": str(size),
        "encodingFormat": _TYPES.get(Path(name).suffix)
        or mimetypes.guess_type(name)[0]
        or "application/octet-stream",
    }
    if name == SNAKEFILE:
        entity |= {
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "Decoding-Level Taboo",
            "programmingLanguage": _ref(_LANGUAGE),
            "license": _ref(licence),
        }
    return entity


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _ref(identifier: str) -> Entity:
    return {"@id": identifier}


def _refs(identifiers: Iterable[str]) -> Entity | list[Entity]:
    """References; a single one stands alone, as RO-Crate asks."""
    found = [_ref(identifier) for identifier in identifiers]
    return found[0] if len(found) == 1 else found
