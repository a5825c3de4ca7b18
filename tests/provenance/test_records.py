"""Records find what was changed, and set it aside without losing it."""

import os

import pytest

from taboo.files import read_json, sha256_file, write_bytes
from taboo.provenance.damage import damaged_outputs, report_damage, set_damaged_aside
from taboo.provenance.hold import ResultsInUse, hold
from taboo.provenance.machine import Usage, installed
from taboo.provenance.manifest import write_manifest
from taboo.provenance.records import (
    DamagedRecord,
    input_digests,
    read_record,
    record_path,
    write_records,
)

OUT = "results/tables/out.csv"


def make() -> None:
    write_records(
        "results",
        "make",
        input_digests("results", ["results/in.txt", "other.txt"]),
        [OUT],
        {"p": 1},
        {"k": 2},
        {"packages": installed(["pytest", "no-such-package"])},
        Usage().facts(),
    )


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bytes("results/in.txt", b"input")
    write_bytes("other.txt", b"outside")
    write_bytes(OUT, b"a,b\n1,2\n")
    make()
    return "results"


def test_record_says_what_was_made_from_what(results):
    record = read_record(results, OUT)
    assert record["rule"] == "make"
    assert record["inputs"] == {
        "in.txt": sha256_file("results/in.txt"),
        "repository/other.txt": sha256_file("other.txt"),
    }
    assert record["sha256"] == sha256_file(OUT)
    assert (record["params"], record["facts"]) == ({"p": 1}, {"k": 2})
    assert record["environment"]["packages"]["no-such-package"] is None
    assert record["volatile"]["seconds"] >= 0


def test_intact_touched_and_missing_files_are_not_damaged(results):
    assert list(damaged_outputs(results)) == []
    before = os.stat(OUT).st_mtime_ns
    os.utime(OUT, (1, 1))
    assert list(damaged_outputs(results)) == []
    assert set_damaged_aside(results) == []
    assert os.stat(OUT).st_mtime_ns == before
    os.remove(OUT)
    assert list(damaged_outputs(results)) == []
    assert set_damaged_aside(results) == []
    assert not record_path(results, OUT).exists()


@pytest.mark.parametrize("content", [b"a,b\n1,3\n", b"", b"a,b\n1,2\n\n"])
def test_changed_file_is_set_aside_whole(results, content, caplog):
    status = os.stat(OUT)
    write_bytes(OUT, content)
    os.utime(OUT, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [str(path) for path in report_damage(results)] == [OUT]
    assert os.path.exists(OUT)
    (moved,) = set_damaged_aside(results)
    assert moved.read_bytes() == content
    assert not os.path.exists(OUT)
    assert f"{OUT}: it is not what was recorded" in caplog.text
    assert set_damaged_aside(results) == []


def test_file_without_a_record_and_damaged_record_are_set_aside(results):
    write_bytes("results/tables/stranger.csv", b"x")
    path = record_path(results, OUT)
    path.write_bytes(path.read_bytes().replace(b'"make"', b'"mark"'))
    with pytest.raises(DamagedRecord, match=r"out\.csv\.json is damaged"):
        read_record(results, OUT)
    assert len(set_damaged_aside(results)) == 2
    assert not os.path.exists(OUT)


def test_changed_input_stops_the_job_that_reads_it(results):
    write_bytes(OUT, b"a,b\n9,9\n")
    with pytest.raises(ValueError, match=r"out\.csv was changed since it was made"):
        input_digests(results, [OUT])


def test_manifest_is_the_same_for_equal_runs(results):
    write_manifest("results/provenance/manifest.json", results)
    first = read_json("results/provenance/manifest.json")
    os.utime(OUT, (1, 1))
    make()
    write_manifest("results/provenance/manifest.json", results)
    assert read_json("results/provenance/manifest.json") == first
    assert list(first["files"]) == ["tables/out.csv"]


def test_results_folder_is_held_by_one_workflow(results):
    with hold(results), pytest.raises(ResultsInUse, match=f"in use by process {os.getpid()}"):
        hold(results)
    hold(results).close()
