"""The lock file: what is written is read back, and what does not fit is refused by name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.lock import (
    DataSet,
    LockError,
    apply_lock,
    hub_datasets,
    hub_models,
    read_lock,
    unlocked,
    write_lock,
)
from taboo.tasks import load_task

COMMIT = "0" * 40
TASKS = ("gsm8k", "ifeval", "ifeval_forbidden_words")
FILES = {"config.json": {"sha256": "1" * 64, "size": 12}}


def config(source: dict, allow: bool = False) -> dict:
    """A configuration with one model that is run and one that is not."""
    other = {"source": {"hub": "org/other"}}
    return {
        "run": ["one"],
        "mirror": None,
        "allow_unlocked": allow,
        "tasks": {name: {"revision": None} for name in TASKS},
        "models": {"tiny": {"source": source, "gated": True}, "other": other},
        "studies": {
            "one": {"models": ["tiny"], "tasks": dict.fromkeys(TASKS, 3)},
            "two": {"models": ["other"], "tasks": {"mmlu": 3}},
        },
    }


digests = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.text("abz019._-", min_size=1, max_size=12).map(lambda name: f"{name}.json")
entries = st.fixed_dictionaries(
    {
        "revision": st.text("0123456789abcdef", min_size=40, max_size=40),
        "files": st.dictionaries(
            names,
            st.fixed_dictionaries({"sha256": digests, "size": st.integers(0, 10**12)}),
            min_size=1,
            max_size=4,
        ),
    }
)


repositories = st.sampled_from(["org/tiny", "Org-2/Model.1", "1/2", "datasets/org/tiny"])


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(repositories, entries))
def test_what_is_written_is_read_back(tmp_path_factory, lock):
    """Digests of digits alone, or that look like 1e5, stay text."""
    path = tmp_path_factory.mktemp("lock") / "models.lock.yaml"
    assert read_lock(write_lock(path, lock)) == lock


def test_one_line_per_file_in_order_of_names(tmp_path):
    files = {"b.json": FILES["config.json"], "a.json": FILES["config.json"]}
    path = write_lock(tmp_path / "l.yaml", {"org/b": {"revision": COMMIT, "files": files}})
    lines = path.read_text().splitlines()
    assert [line.split(":")[0].strip() for line in lines if "sha256:" in line] == [
        "a.json",
        "b.json",
    ]


def test_no_file_is_an_empty_lock(tmp_path):
    assert read_lock(tmp_path / "models.lock.yaml") == {}


@pytest.mark.parametrize(
    "entry",
    [
        "main",
        {"revision": "main", "files": FILES},
        {"revision": COMMIT},
        {"revision": COMMIT, "files": {}},
        {"revision": COMMIT, "files": {"a": {"sha256": "12", "size": 1}}},
        {"revision": COMMIT, "files": {"a": {"sha256": "1" * 64}}},
    ],
)
def test_a_wrong_entry_is_named(tmp_path, entry):
    path = write_lock(tmp_path / "models.lock.yaml", {"org/tiny": entry})
    with pytest.raises(LockError, match=r"org/tiny needs a `revision` of 40 hex digits"):
        read_lock(path)


def test_locked_source_has_commit_and_files():
    lock = {"org/tiny": {"revision": COMMIT, "files": FILES}}
    found = apply_lock(config({"hub": "org/tiny"}), lock)
    assert found["models"]["tiny"]["source"] == {"hub": "org/tiny", **lock["org/tiny"]}
    assert found["models"]["other"]["source"] == {"hub": "org/other"}
    same = apply_lock(config({"hub": "org/tiny", "revision": COMMIT}), lock)
    assert same["models"] == found["models"]


def test_another_commit_than_the_lock_is_refused():
    lock = {"org/tiny": {"revision": COMMIT, "files": FILES}}
    with pytest.raises(LockError, match=rf"models\.tiny names commit {'a' * 40}.*has {COMMIT}"):
        apply_lock(config({"hub": "org/tiny", "revision": "a" * 40}), lock)


def test_unlocked_models_are_marked_only_where_that_is_allowed():
    source = {"hub": "org/tiny"}
    assert apply_lock(config(source), {})["models"]["tiny"]["source"] == source
    allowed = apply_lock(config(source, allow=True), {})["models"]["tiny"]["source"]
    assert allowed == {**source, "unlocked": True}
    local = {"path": "models/tiny"}
    assert apply_lock(config(local, allow=True), {})["models"]["tiny"]["source"] == local


def test_only_models_of_studies_to_run_are_to_be_locked():
    assert list(hub_models(config({"hub": "org/tiny"}))) == ["org/tiny"]
    assert unlocked(config({"hub": "org/tiny"}), {}) == ["org/tiny"]
    assert unlocked(config({"path": "models/tiny"}), {}) == []
    judged = {**config({"path": "x"}), "judge": {"provider": "local", "model": "other"}}
    assert unlocked(judged, {}) == ["org/other"]
    repeated = {**config({"path": "x"}), "repro": {"models": ["other"]}}
    assert unlocked(repeated, {}) == ["org/other"]


def test_data_sets_of_studies_to_run_are_to_be_locked_unless_a_mirror_has_them():
    found = hub_datasets(config({"path": "x"}))
    gsm8k, ifeval = load_task("gsm8k").hub, load_task("ifeval").hub
    assert found == {
        f"datasets/{hub.dataset}": DataSet(hub.revision, (hub.files,)) for hub in (gsm8k, ifeval)
    }
    assert found[f"datasets/{gsm8k.dataset}"].takes("main/test-00000-of-00001.parquet")
    assert not found[f"datasets/{gsm8k.dataset}"].takes("main/train-00000-of-00001.parquet")
    assert hub_datasets({**config({"path": "x"}), "mirror": "items"}) == {}
    with_repro = {**config({"path": "x"}), "repro": {"task": "gsm8k"}}
    assert hub_datasets(with_repro) == found


def test_two_commits_of_one_data_set_are_refused():
    two = config({"path": "x"})
    two["tasks"]["ifeval"]["revision"] = "a" * 40
    with pytest.raises(LockError, match=r"tasks\.ifeval_forbidden_words names commit"):
        hub_datasets(two)


def test_locked_data_set_gives_its_tasks_commit_and_files():
    hub = load_task("gsm8k").hub
    about = FILES["config.json"]
    entry = {
        "revision": hub.revision,
        "files": {"main/test-0.parquet": about, "main/train-0.parquet": about},
    }
    lock = {f"datasets/{hub.dataset}": entry}
    found = apply_lock(config({"path": "x"}), lock)["tasks"]
    assert found["gsm8k"] == {"revision": hub.revision, "files": {"main/test-0.parquet": about}}
    assert found["ifeval"] == {"revision": None}
    mirrored = {**config({"path": "x"}), "mirror": "items"}
    assert apply_lock(mirrored, lock)["tasks"] == mirrored["tasks"]
    entry["revision"] = "a" * 40
    with pytest.raises(LockError, match=rf"tasks\.gsm8k takes commit {hub.revision}.* has aaaa"):
        apply_lock(config({"path": "x"}), lock)
    branch = config({"path": "x"})
    branch["tasks"]["gsm8k"]["revision"] = "main"
    assert apply_lock(branch, lock)["tasks"]["gsm8k"]["revision"] == "a" * 40
    del entry["files"]["main/test-0.parquet"]
    with pytest.raises(LockError, match=r"has no file main/test-\*\.parquet of openai/gsm8k"):
        apply_lock(branch, lock)
