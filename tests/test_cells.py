"""Keys, journal and cell files: resume, damage, foreign records, two writers."""

import json
import logging
import multiprocessing
import os
import signal

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.cells import Journal, JournalInUse, cell_key, read_cell, recipe_key, write_cell
from taboo.conditions import Condition
from taboo.engine.base import Generation

LOG = logging.getLogger("test")
KEY = recipe_key({"weights": "a"})
CONDITION = Condition(1)


def generation(item_id: str, n: int = 3) -> Generation:
    return Generation(
        item_id=item_id,
        condition=CONDITION,
        prompt_sha256=f"digest of {item_id}",
        token_ids=tuple(range(n)),
        nominal_ids=tuple(range(1, n + 1)),
        delta_s=tuple(float(np.float32(0.1) * i) for i in range(n)),
        intervened=tuple(i % 2 == 0 for i in range(n)),
        text=f"text\u2028of {item_id}\nline",
        finish_reason="length",
        n_prompt_tokens=7,
    )


def filled(folder, ids):
    with Journal(folder, KEY, LOG) as journal:
        for item_id in ids:
            journal.append(generation(item_id))
    return folder / f"{KEY}.jsonl"


def item(item_id):
    return (item_id, f"digest of {item_id}")


def test_reopened_journal_has_every_record(tmp_path):
    filled(tmp_path, "abc")
    with Journal(tmp_path, KEY, LOG) as journal:
        assert [key[0] for key in journal.records] == ["a", "b", "c"]
        assert journal.missing([item("b"), item("d"), item("a")]) == [item("d")]
        assert journal.missing([("a", "another prompt")]) == [("a", "another prompt")]


def test_every_cut_loses_at_most_the_record_that_was_cut(tmp_path, caplog):
    path = filled(tmp_path / "whole", "abc")
    data = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 0x0A]
    for cut in [0, 1, ends[0] - 1, *ends, ends[1] + 40, len(data) - 1]:
        folder = tmp_path / str(cut)
        folder.mkdir(exist_ok=True)
        (folder / path.name).write_bytes(data[:cut])
        with Journal(folder, KEY, LOG) as journal:
            whole = sum(end <= cut for end in ends)
            assert len(journal.records) == whole
            for name in "abc"[whole:]:
                journal.append(generation(name))
        assert (folder / path.name).read_bytes() == data
    assert "torn last line" in caplog.text


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_flipped_byte_is_found_and_set_aside(tmp_path_factory, where, flip):
    folder = tmp_path_factory.mktemp("journal")
    path = filled(folder, "abc")
    data = bytearray(path.read_bytes())
    data[where % len(data)] ^= flip
    path.write_bytes(data)
    with Journal(folder, KEY, LOG) as journal:
        for key, record in journal.records.items():
            assert record["text"] == generation(key[0]).text
            assert record["delta_s"] == list(generation(key[0]).delta_s)
        lost = journal.missing([item(name) for name in "abc"])
        assert 1 <= len(lost) <= 2  # a broken newline costs two
    aside = path.with_suffix(".rejected.jsonl")
    assert aside.exists() or data[-1] != 0x0A


def test_record_of_another_recipe_is_never_served(tmp_path, caplog):
    other = recipe_key({"weights": "b"})
    path = filled(tmp_path, "a")
    (tmp_path / f"{other}.jsonl").write_bytes(path.read_bytes())
    with Journal(tmp_path, other, LOG) as journal:
        assert journal.records == {}
    assert "damaged line" in caplog.text


def test_second_writer_is_refused_by_name(tmp_path):
    with Journal(tmp_path, KEY, LOG), pytest.raises(JournalInUse, match=f"process {os.getpid()}"):
        Journal(tmp_path, KEY, LOG).__enter__()
    with Journal(tmp_path, KEY, LOG) as journal:
        assert journal.records == {}


def append_for_ever(folder, started):
    with Journal(folder, KEY, LOG) as journal:
        started.set()
        for number in range(10**6):
            journal.append(generation(str(number), n=200))


def test_killed_writer_leaves_whole_records_and_no_lock(tmp_path):
    context = multiprocessing.get_context("fork")
    started = context.Event()
    writer = context.Process(target=append_for_ever, args=(tmp_path, started))
    writer.start()
    started.wait()
    path = tmp_path / f"{KEY}.jsonl"
    while path.stat().st_size < 50_000:
        pass
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with Journal(tmp_path, KEY, LOG) as journal:
        assert len(journal.records) > 5
        numbers = [int(key[0]) for key in journal.records]
        assert numbers == list(range(len(numbers)))


def test_cell_file_reads_back_and_same_records_same_bytes(tmp_path):
    with Journal(tmp_path, KEY, LOG) as journal:
        for name in "ba":
            journal.append(generation(name))
        records = [journal.records[item(name)] for name in "ab"]
    with Journal(tmp_path, KEY, LOG) as journal:
        again = [journal.records[item(name)] for name in "ab"]
    key = write_cell(tmp_path / "x.parquet", records, {"weights": "a"}, "s")
    write_cell(tmp_path / "y.parquet", again, {"weights": "a"}, "s")
    assert (tmp_path / "x.parquet").read_bytes() == (tmp_path / "y.parquet").read_bytes()
    table, metadata = read_cell(tmp_path / "x.parquet")
    assert key == metadata["cell_key"] == cell_key(KEY, "s")
    assert metadata["recipe"] == {"weights": "a"}
    assert table.column("item_id").to_pylist() == ["a", "b"]
    assert table.column("text")[0].as_py() == generation("a").text
    assert table.column("delta_s")[0].as_py() == list(generation("a").delta_s)


def test_file_that_is_no_cell_is_named(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match=r"x\.parquet is not a readable cell"):
        read_cell(tmp_path / "x.parquet")


def test_cell_whose_parts_do_not_give_its_key_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    write_cell(path, [], {"weights": "aaaa"}, "s")
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, b"recipe": b'{"weights":"aaab"}'}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(ValueError, match=r"x\.parquet: its cell key does not follow"):
        read_cell(path)


@given(st.dictionaries(st.text(), st.text(), min_size=1), st.text())
def test_every_part_counts_in_the_key(parts, change):
    key = recipe_key(parts)
    for name in parts:
        if parts[name] != change:
            assert recipe_key({**parts, name: change}) != key
    assert recipe_key(json.loads(json.dumps(parts))) == key
