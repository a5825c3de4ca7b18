"""Results packed and brought back: the same bytes, and nothing damaged passed on."""

import io
import os
import tarfile

import pytest

from taboo.files import sha256_file
from taboo.provenance.archive import export_results, import_results
from taboo.provenance.damage import damaged_outputs
from taboo.provenance.records import recorded_outputs
from tests.provenance.chain import make_results


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_results(tmp_path / "results")


def digests(results):
    return {p.relative_to(results).as_posix(): sha256_file(p) for p in recorded_outputs(results)}


def test_same_results_give_the_same_archive_and_come_back_whole(results, tmp_path):
    count = export_results(results, tmp_path / "one.tar")
    for path in results.rglob("*"):
        os.utime(path)  # times of the files do not count
    export_results(results, tmp_path / "two.tar")
    assert sha256_file(tmp_path / "one.tar") == sha256_file(tmp_path / "two.tar")
    assert import_results(tmp_path / "one.tar", tmp_path / "back") == count
    assert digests(tmp_path / "back") == digests(results)
    assert list(damaged_outputs(tmp_path / "back")) == []
    with tarfile.open(tmp_path / "one.tar") as tar:
        names = tar.getnames()
    assert not any("files/" in name or "journal/" in name for name in names)
    export_results(tmp_path / "back", tmp_path / "three.tar")
    import_results(tmp_path / "three.tar", tmp_path / "again")
    assert digests(tmp_path / "again") == digests(results)


def test_journals_and_replies_come_along_if_asked_for(results, tmp_path):
    export_results(results, tmp_path / "one.tar", journals=True)
    import_results(tmp_path / "one.tar", tmp_path / "back")
    for folder in ("journal", "replies"):
        names = sorted(path.name for path in results.glob(f"{folder}/*.json*"))
        assert names
        assert sorted(path.name for path in tmp_path.glob(f"back/{folder}/*")) == names


def test_damaged_results_are_not_packed(results, tmp_path):
    (results / "tables/small/cells.csv").write_bytes(b"a,b\n1,7\n")
    with pytest.raises(ValueError, match=r"cells\.csv is not what was recorded"):
        export_results(results, tmp_path / "one.tar")
    (results / "tables/small/cells.csv").unlink()
    with pytest.raises(ValueError, match=r"cells\.csv is missing"):
        export_results(results, tmp_path / "one.tar")
    assert not (tmp_path / "one.tar").exists()


def test_archive_that_was_changed_is_refused_and_nothing_is_left(results, tmp_path):
    export_results(results, tmp_path / "one.tar")
    content = (tmp_path / "one.tar").read_bytes()
    assert content.count(b"a,b\n1,2\n") == 1
    (tmp_path / "one.tar").write_bytes(content.replace(b"a,b\n1,2\n", b"a,b\n1,3\n"))
    with pytest.raises(ValueError, match=r"tables/small/cells\.csv is missing or not what"):
        import_results(tmp_path / "one.tar", tmp_path / "back")
    (tmp_path / "one.tar").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"one\.tar"):
        import_results(tmp_path / "one.tar", tmp_path / "back")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.tar", "results"]


def test_import_never_overwrites_and_never_leaves_its_folder(results, tmp_path):
    export_results(results, tmp_path / "one.tar")
    with pytest.raises(ValueError, match="is not empty"):
        import_results(tmp_path / "one.tar", results)
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        member = tarfile.TarInfo("../outside")
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(ValueError, match=r"evil\.tar is no archive"):
        import_results(tmp_path / "evil.tar", tmp_path / "back")
    assert not (tmp_path / "outside").exists()
