"""What machines do to files: nothing is lost, nothing half done counts, errors name the file."""

import logging
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.cells import Journal, recipe_key, write_cell
from taboo.conditions import Condition
from taboo.engine.base import Generation
from taboo.files import sha256_json, write_bytes
from taboo.provenance.archive import export_results
from taboo.provenance.audit import audit
from taboo.provenance.damage import damage, set_aside
from taboo.provenance.hold import hold
from taboo.provenance.journals import cell_problems, read_journal
from tests.provenance.chain import make_results

LOG = logging.getLogger("taboo.test")
PARTS = {"weights": "a"}
KEY = recipe_key(PARTS)


def generation(item: str, text: str = "text") -> Generation:
    return Generation(item, Condition(1), f"p{item}", (1,), (2,), (0.5,), (True,), text, "eos", 3)


def journal_of(folder, texts) -> bytes:
    with Journal(folder, KEY, LOG) as journal:
        for number, text in enumerate(texts):
            journal.append(generation(str(number), text))
    return (folder / f"{KEY}.jsonl").read_bytes()


def test_journal_cut_at_every_byte_of_its_last_two_records_goes_on_to_the_same_bytes(tmp_path):
    whole = journal_of(tmp_path / "whole", "abcd")
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 0x0A]
    for cut in range(ends[1], ends[3]):
        folder = tmp_path / str(cut)
        path = write_bytes(folder / f"{KEY}.jsonl", whole[:cut])
        records, problems = read_journal(path)
        assert len(records) == sum(end <= cut for end in ends)
        assert any("ends within a record" in line for line in problems) == (cut not in ends)
        with Journal(folder, KEY, LOG) as journal:
            for number in range(len(journal.records), 4):
                journal.append(generation(str(number), "abcd"[number]))
        assert path.read_bytes() == whole


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from('\u0085\u2028\u2029\r\n\x0b\x0c\x1c"\\,{}'),
    max_size=40,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_any_text_comes_back_and_is_held_against_the_journal(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("texts")
    texts = [*texts, '","sha256":"' + "0" * 64 + '"', '"item_id":"x","prompt_sha256":"y"']
    journal_of(folder, texts)
    with Journal(folder, KEY, LOG) as journal:
        stored = list(journal.records.values())
    cell = folder / "cell.parquet"
    write_cell(cell, stored, PARTS, "s")
    assert pq.read_table(cell)["text"].to_pylist() == texts
    path = folder / f"{KEY}.jsonl"
    records, problems = read_journal(path)
    assert problems == [f"{path.with_suffix('.json')} is missing"]
    items = [(r["item_id"], r["prompt_sha256"]) for r in stored]
    digest = sha256_json([r["sha256"] for r in stored])
    assert cell_problems(path, records, items, digest) == []


FULL = """
import logging, resource, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from taboo.cells import Journal
from taboo.files import write_bytes
from tests.provenance.test_faults import KEY, LOG, generation
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
folder = Path({folder!r})
try:
    write_bytes(folder / "table.csv", b"x" * 4000)
except OSError as error:
    print("table", error.errno)
with Journal(folder, KEY, LOG) as journal:
    try:
        for number in range(100):
            journal.append(generation(str(number), "t" * 300))
    except OSError as error:
        print(number, error)
"""


def test_no_more_room_keeps_every_whole_record_and_the_old_file(tmp_path, root):
    write_bytes(tmp_path / "table.csv", b"old")
    script = FULL.format(root=str(root), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    table, message = done.stdout.splitlines()
    assert table.startswith("table ")
    assert f"{KEY}.jsonl can't be written" in message
    assert "free some space and run again" in message
    assert (tmp_path / "table.csv").read_bytes() == b"old"
    records, problems = read_journal(tmp_path / f"{KEY}.jsonl")
    stored = int(message.partition(" ")[0])
    assert stored > 2
    assert [item for item, _ in records] == [str(number) for number in range(stored)]
    assert problems == [f"{tmp_path / KEY}.json is missing"]


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from taboo.files import write_bytes
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_bytes({path!r}, b"new")
"""


def test_writer_killed_before_its_rename_leaves_the_old_file_and_nothing_that_counts(
    tmp_path, root, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    results = make_results(tmp_path / "results")
    path = results / "tables/small/cells.csv"
    script = KILLED.format(root=str(root), path=str(path))
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(path.parent.iterdir())) == 2  # the file and what the writer left
    assert list(damage(results)) == []
    assert not any(node.problems for node in audit(results).values())
    export_results(results, tmp_path / "results.tar")


def test_results_that_cannot_be_written_are_named_with_a_way_out():
    with pytest.raises(OSError, match=r"/proc/taboo can't be written .* name another folder"):
        hold("/proc/taboo")


def test_clock_going_backwards_overwrites_nothing(tmp_path, monkeypatch):
    results = make_results(tmp_path / "results")
    path = results / "tables/small/cells.csv"
    monkeypatch.setattr("time.strftime", lambda *_: "20200101T000000")
    places = []
    for content in (b"first", b"second", b"third"):
        write_bytes(path, content)
        places.append(set_aside(results, path, "a reason"))
    assert [place.read_bytes() for place in places] == [b"first", b"second", b"third"]
    os.utime(results / "figures/dose.csv", (1, 1))
    assert list(damage(results)) == []
