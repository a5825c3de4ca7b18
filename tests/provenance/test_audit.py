"""Whatever is tampered with is found and named."""

import json
import os

import pyarrow.parquet as pq
import pytest

from taboo.commands import audit as command
from taboo.files import read_json, sha256_json, write_bytes, write_json
from taboo.provenance.audit import audit
from taboo.provenance.records import read_record, recorded_outputs, write_record
from tests.provenance.chain import copy_of, make_results

PINS = {"numpy": "2.4.6", "torch": "2.13.0", "transformers": "5.0"}
CELLS = "cells/one/bf16/gsm8k"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("whole") / "results")


@pytest.fixture
def results(whole, tmp_path):
    return copy_of(whole, tmp_path / "results")


def problems(results, *targets, **options) -> list[tuple[str, str]]:
    nodes = audit(results, targets, PINS, **options)
    return list(dict.fromkeys(problem for node in nodes.values() for problem in node.problems))


def flip(path, where: int) -> None:
    """Change one byte and put the old times back."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[where % len(content)] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_intact_results_are_intact_and_one_figure_leads_to_the_weights(results):
    assert problems(results) == []
    nodes = audit(results, ["figures/dose.pdf"], PINS)
    stages = [name.partition("/")[0] for name in nodes]
    expected = ["figures", "tables", "cells", "scores", "samples", "word_starts", "snapshots"]
    assert sorted(set(stages)) == sorted(expected)
    assert not any(node.problems for node in nodes.values())


def test_one_flipped_byte_anywhere_is_found_and_the_file_named(whole, tmp_path):
    files = [p for p in sorted(whole.rglob("*")) if p.is_file() and p.suffix != ".lock"]
    assert len(files) > 25
    for number, path in enumerate(files):
        size = path.stat().st_size
        for where in {0, size // 3, size - 1}:
            results = copy_of(whole, tmp_path / f"{number}.{where}")
            victim = results / path.relative_to(whole)
            flip(victim, where)
            lines = " ".join(line for _, line in problems(results))
            assert victim.name in lines, f"byte {where} of {victim}: {lines}"


def test_replies_that_are_gone_or_another_are_named(results):
    [reply] = (results / "replies").iterdir()
    content = read_json(reply)
    other = {name: value for name, value in content.items() if name != "sha256"}
    other["reply"]["text"] = "VERDICT: wrong"
    write_json(reply, {**other, "sha256": sha256_json(other)})
    lines = [("changed", f"replies/{reply.name} is not the reply that was judged")]
    assert problems(results, "judge/small/judged.jsonl") == lines
    reply.unlink()
    lines = [("missing", f"replies/{reply.name}")]
    assert problems(results, "judge/small/judged.jsonl") == problems(results) == lines


def test_swapped_cells_are_named_even_if_their_records_are_swapped_too(results):
    one, other = (results / CELLS / f"{name}.parquet" for name in ("baseline", "taboo_i1"))
    a, b = one.read_bytes(), other.read_bytes()
    write_bytes(one, b)
    write_bytes(other, a)
    found = problems(results)
    for path in (one, other):
        assert ("changed", f"{CELLS}/{path.name}") in found
        assert any(f"{path.name} holds the cell" in line for _, line in found)


def test_cell_put_in_another_place_with_a_record_to_match_is_named(results):
    from tests.provenance.chain import made

    name = f"{CELLS}/taboo_i2.parquet"
    (results / name).write_bytes((results / CELLS / "taboo_i1.parquet").read_bytes())
    key = pq.read_schema(results / name).metadata[b"cell_key"].decode()
    made(results, "generate", [], [name], cell_keys={"taboo_i2": key})
    assert problems(results, name) == [
        ("changed", f"{name} is not of its place (condition.rank: 1 / 2)")
    ]


def test_edited_table_and_missing_files_are_named(results):
    write_bytes(results / "tables/small/cells.csv", b"a,b\n1,3\n")
    (results / "figures/dose.csv").unlink()
    (results / "snapshots/one/files/config.json").unlink()
    assert set(problems(results)) == {
        ("changed", "tables/small/cells.csv"),
        ("missing", "figures/dose.csv"),
        ("missing", str(results / "snapshots/one/files/config.json")),
    }


def test_swapped_weights_and_new_files_are_named(results):
    write_bytes(results / "snapshots/one/files/model.safetensors", b"others!" * 50)
    write_bytes(results / "snapshots/one/files/adapter.safetensors", b"new")
    write_bytes(results / "figures/mine.pdf", b"drawn by hand")
    folder = results / "snapshots/one/files"
    assert set(problems(results)) == {
        ("changed", str(folder / "model.safetensors")),
        ("unrecorded", str(folder / "adapter.safetensors")),
        ("unrecorded", "figures/mine.pdf"),
    }


def test_large_weights_are_read_again_when_anything_about_them_changes(results, monkeypatch):
    monkeypatch.setattr("taboo.provenance.audit.LARGE", 100)
    weights = results / "snapshots/one/files/model.safetensors"
    assert problems(results) == []
    remembered = read_json(results / "provenance/hashed.json")
    assert list(remembered) == [str(weights)]
    flip(weights, 9)
    assert problems(results) == [("changed", str(weights))]
    flip(weights, 9)
    remembered[str(weights)][1] = "0" * 64
    (results / "provenance/hashed.json").write_text(json.dumps(remembered))
    assert problems(results) == []
    (results / "provenance/hashed.json").write_text("{")
    assert problems(results) == []


@pytest.mark.parametrize("cut", [1, 30, 400])
def test_truncated_journal_is_named_with_the_item_it_lacks(results, cut):
    journal = sorted((results / "journal").glob("*.jsonl"))[0]
    journal.write_bytes(journal.read_bytes()[:-cut])
    lines = [line for _, line in problems(results)]
    assert any(line.startswith(f"{journal} ends within a record") for line in lines)
    assert f"{journal} has no record of item q2" in lines


def test_journal_whose_records_were_exchanged_for_whole_others_is_named(results, tmp_path):
    other = make_results(tmp_path / "other", token=6)
    journal = sorted((results / "journal").glob("*.jsonl"))[0]
    journal.write_bytes((other / "journal" / journal.name).read_bytes())
    assert problems(results) == [
        ("changed", f"{journal} holds other records than those that the cell was made of")
    ]


def test_table_made_again_from_other_cells_outdates_its_figure(results):
    from tests.provenance.chain import made

    write_bytes(results / "tables/small/cells.csv", b"a,b\n1,9\n")
    made(results, "summarise", [f"{CELLS}/baseline.parquet"], ["tables/small/cells.csv"])
    assert ("outdated", "figures/dose.pdf was made from another version of tables/small/cells.csv") in problems(results)  # fmt: skip


def test_package_other_than_its_pin_is_named(results):
    nodes = audit(results, ["samples/gsm8k/n3.jsonl"], {"numpy": "2.5.0"})
    assert nodes["samples/gsm8k/n3.jsonl"].problems == (
        ("unlocked", "samples/gsm8k/n3.jsonl was made with numpy 2.4.6, not 2.5.0"),
    )


def test_what_an_image_made_is_held_against_the_lock_of_the_image(results):
    """Not against the pins of a laptop; and an image of a lock that nobody knows is named."""
    name = "samples/gsm8k/n3.jsonl"
    record = read_record(results, results / name)
    write_record(results, {**record, "environment": {**record["environment"], "lock": "1" * 64}})

    def found(locks):
        return audit(results, [name], {"numpy": "1.0"}, locks=locks)[name].problems

    assert found({"1" * 64: {"numpy": "2.4.6"}}) == ()
    assert found({"1" * 64: {"numpy": "2.5.0"}}) == (
        ("unlocked", f"{name} was made with numpy 2.4.6, not 2.5.0"),
    )
    assert ("unlocked", f"{name} was made in an image of a lock that is not in envs") in found({})


def test_every_output_is_visited(results):
    names = {path.relative_to(results).as_posix() for path in recorded_outputs(results)}
    assert names <= set(audit(results, (), PINS))


def test_tree_and_targets(results, capsys, monkeypatch):
    nodes = audit(results, command.find(results, ["figures/dose.pdf"], "dose"), PINS)
    lines = list(command.tree(nodes.values()))
    assert lines[0] == "✓ figures: dose.pdf"
    assert lines[-2:] == ["               └─ ✓ snapshots: one/snapshot.json", "intact"]
    with pytest.raises(ValueError, match="nothing is neither a figure nor a recorded output"):
        command.find(results, ["figures/dose.pdf"], "nothing")
