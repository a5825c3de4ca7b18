"""Manifest, checksums, lineage and crate describe what is there, and nothing else."""

import subprocess

import pytest

from taboo.files import read_json, sha256_file, write_text
from taboo.provenance.crate import METADATA, SNAKEFILE, write_crate
from taboo.provenance.manifest import (
    write_checksums,
    write_configuration,
    write_lineage,
    write_manifest,
)
from tests.provenance.chain import make_results

LICENCE = "https://spdx.org/licenses/Apache-2.0"


@pytest.fixture
def results(tmp_path):
    return make_results(tmp_path / "results")


def test_checksums_hold_and_find_any_change(results):
    write_text(results / "provenance/manifest.json", "{}\n")
    own = ["provenance/manifest.json", "SHA256SUMS"]
    lines = write_checksums(results / "SHA256SUMS", results, own)
    check = ["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=results, check=False).returncode == 0
    text = (results / "SHA256SUMS").read_text()
    assert text.count("\n") == lines
    for name in ("snapshots/one/files/model.safetensors", "journal/", "provenance/manifest.json"):
        assert name in text
    (results / "figures/dose.csv").write_text("other")
    found = subprocess.run(check, cwd=results, check=False, capture_output=True, text=True)
    assert found.returncode == 1
    assert "figures/dose.csv: FAILED" in found.stdout


def test_equal_runs_have_equal_manifests_and_lineages(results, tmp_path):
    other = make_results(tmp_path / "elsewhere" / "results")
    for folder in (results, other):
        write_manifest(folder / "provenance/manifest.json", folder)
        write_lineage(folder / "provenance/figures/dose.json", folder, "dose")
    for name in ("manifest.json", "figures/dose.json"):
        assert sha256_file(results / "provenance" / name) == sha256_file(
            other / "provenance" / name
        )


def test_lineage_of_a_figure_goes_back_to_the_snapshot(results):
    write_lineage(results / "dose.json", results, "dose")
    found = read_json(results / "dose.json")
    assert sorted(found["files"]) == [f"figures/dose.{ending}" for ending in ("csv", "pdf", "txt")]
    snapshot = read_json(results / "snapshots/one/snapshot.json")["sha256"]
    assert found["models"] == {"one": {"source": {"hub": "some/one"}, "sha256": snapshot}}
    assert len(found["cells"]) == 2
    assert "samples/gsm8k/n3.jsonl" in found["made_from"]
    assert found["packages"]["torch"] == ["2.13.0+cpu"]


def test_crate_describes_every_file_and_every_reference_resolves(results):
    write_text(results / SNAKEFILE, "rule all: ...\n")
    count = write_crate(results, "A study", LICENCE, "9.27.1", [SNAKEFILE])
    crate = read_json(results / METADATA)
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    files = [e for e in entities.values() if "File" in e["@type"]]
    assert len(files) == count
    for entity in files:
        path = results / entity["@id"]
        assert (entity["sha256"], int(entity["contentSize"])) == (
            sha256_file(path),
            path.stat().st_size,
        )
    known = {"https://w3id.org/ro/crate/1.1", "https://snakemake.github.io"}
    known.add("https://doi.org/10.1093/bioinformatics/bts480")
    for entity in entities.values():
        for value in entity.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    assert part["@id"] in entities or part["@id"] in known
    actions = [e for e in entities.values() if e["@type"] == "CreateAction"]
    assert len(actions) == 9  # eight jobs and the run
    made = {r["@id"] for a in actions if a["@id"] != "#run" for r in as_list(a["result"])}
    assert made == {e["@id"] for e in files} - {SNAKEFILE}
    assert entities["./"]["datePublished"] == "2027-01-15"


def as_list(value):
    return value if isinstance(value, list) else [value]


def test_crate_needs_the_workflow_beside_the_results(results):
    with pytest.raises(ValueError, match="Snakefile"):
        write_crate(results, "A study", LICENCE, "9.27.1")


def test_configuration_is_kept_without_the_place_of_a_mirror(tmp_path):
    write_configuration(tmp_path / "c.json", {"seed": 1, "mirror": "/somewhere"})
    assert read_json(tmp_path / "c.json") == {"seed": 1}
