"""Records find what was changed, and set it aside without losing it."""

import os
import time

import pytest

from taboo.files import read_json, write_bytes
from taboo.provenance.manifest import write_manifest
from taboo.provenance.records import (
    damaged_outputs,
    digest,
    record_path,
    set_damaged_aside,
    write_records,
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bytes("results/in.txt", b"input")
    write_bytes("results/tables/out.csv", b"a,b\n1,2\n")
    write_records(
        "results",
        "make",
        ["results/in.txt"],
        ["results/tables/out.csv"],
        {"p": 1},
        {"k": 2},
        time.time(),
    )
    return "results"


def test_record_says_what_was_made_from_what(results):
    record = read_json(record_path(results, "results/tables/out.csv"))
    assert record["rule"] == "make"
    assert record["inputs"] == {"results/in.txt": digest(results, "results/in.txt")}
    assert record["sha256"] == digest(results, "results/tables/out.csv")
    assert (record["params"], record["facts"]) == ({"p": 1}, {"k": 2})


def test_intact_touched_and_missing_files_are_not_damaged(results):
    assert list(damaged_outputs(results)) == []
    os.utime("results/tables/out.csv", (1, 1))
    assert list(damaged_outputs(results)) == []
    os.remove("results/tables/out.csv")
    assert list(damaged_outputs(results)) == []


@pytest.mark.parametrize("content", [b"a,b\n1,3\n", b"", b"a,b\n1,2\n\n"])
def test_changed_file_is_set_aside_whole(results, content, caplog):
    path = write_bytes("results/tables/out.csv", content)
    os.utime(path, (1, 1))
    (moved,) = set_damaged_aside(results)
    assert moved.read_bytes() == content
    assert not path.exists()
    assert "results/tables/out.csv is not what was recorded" in caplog.text
    assert set_damaged_aside(results) == []


def test_manifest_is_the_same_for_equal_runs(results):
    write_manifest("results/provenance/manifest.json", results)
    first = read_json("results/provenance/manifest.json")
    os.utime("results/tables/out.csv", (1, 1))
    write_records(
        "results", "make", ["results/in.txt"], ["results/tables/out.csv"], {"p": 1}, {"k": 2}, 0.0
    )
    write_manifest("results/provenance/manifest.json", results)
    assert read_json("results/provenance/manifest.json") == first
    assert list(first["files"]) == ["tables/out.csv"]
