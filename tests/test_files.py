"""Files are whole or absent, and same values give same bytes."""

import errno
import json
import os
import subprocess
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.files import (
    canonical_json,
    parse_jsonl,
    read_json,
    read_jsonl,
    sha256_file,
    sha256_json,
    sha256_text,
    write_atomic,
    write_bytes,
    write_json,
    write_jsonl,
    write_text,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_text(tmp_path / "x", "old")

    def fail(file):
        file.write(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomic(path, fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_full_disk_names_the_file_and_the_way_out(small_disk):
    path = write_bytes(small_disk / "x", b"old")
    with pytest.raises(OSError, match="free some space and run again") as error:
        write_bytes(path, bytes(1 << 20))
    assert str(path) in str(error.value)
    assert error.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"old"
    assert os.listdir(small_disk) == ["x"]


def test_a_read_only_disk_names_the_file_and_the_way_out(small_disk):
    path = write_bytes(small_disk / "x", b"old")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for target in (path, small_disk / "y", small_disk / "folder" / "z"):
        with pytest.raises(OSError, match="name another results folder") as error:
            write_bytes(target, b"new")
        assert str(target) in str(error.value)
    assert path.read_bytes() == b"old"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_readers_never_see_half_a_file(tmp_path):
    path = write_bytes(tmp_path / "x", b"a" * 100_000)
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            data = path.read_bytes()
            seen.add((len(data), len(set(data))))

    reader = threading.Thread(target=read)
    reader.start()
    for letter in b"bcdefgh" * 5:
        write_bytes(path, bytes([letter]) * 100_000)
    stop.set()
    reader.join()
    assert seen == {(100_000, 1)}


def test_new_files_have_the_permissions_of_ordinary_ones(tmp_path):
    (tmp_path / "plain").touch()
    written = write_text(tmp_path / "new" / "x", "")
    assert written.stat().st_mode == (tmp_path / "plain").stat().st_mode


@given(json_values)
def test_canonical_json_reads_back_and_ignores_key_order(value):
    assert json.loads(canonical_json(value)) == value
    if isinstance(value, dict):
        turned = dict(reversed(value.items()))
        assert sha256_json(turned) == sha256_json(value)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


@given(st.lists(st.dictionaries(st.text(), st.text(), min_size=1), max_size=5))
def test_jsonl_splits_on_newline_alone(values):
    values = [*values, {"separators": "a\u2028b\u0085c\u001ed\r"}]
    data = b"".join(canonical_json(value) + b"\n" for value in values)
    assert parse_jsonl(data, "x") == values


def test_bad_lines_are_named(tmp_path):
    path = write_bytes(tmp_path / "x.jsonl", b'{"a": 1}\n{"a":\n')
    with pytest.raises(ValueError, match=r"x\.jsonl, line 2"):
        read_jsonl(path)
    with pytest.raises(ValueError, match=r"x\.jsonl is not valid JSON"):
        read_json(path)


def test_round_trips_and_digests(tmp_path):
    assert read_json(write_json(tmp_path / "a", {"b": [1, "ü"]})) == {"b": [1, "ü"]}
    assert read_jsonl(write_jsonl(tmp_path / "c", [1, {"d": 2}])) == [1, {"d": 2}]
    assert sha256_file(write_text(tmp_path / "e", "f\r\n")) == sha256_text("f\r\n")
