"""Loading from the hub, against a server on this machine that answers as the hub does."""

import io
import json
from fnmatch import fnmatch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taboo.tasks import load_task
from taboo.tasks.sampling import digest, load_items
from tests.hub_server import TOKEN, Hub, serving, sha256

MIRRORED = {
    "gsm8k": "main/test-00000-of-00001.parquet",
    "mmlu": "all/test-00000-of-00001.parquet",
    "triviaqa": "rc.wikipedia.nocontext/validation-00000-of-00001.parquet",
    "humaneval": "openai_humaneval/test-00000-of-00001.parquet",
    "ifeval": "ifeval_input_data.jsonl",
}


@pytest.fixture
def hub(root):
    """The demo items as data sets of a hub."""
    files = {}
    for name, path in MIRRORED.items():
        task = load_task(name)
        items = load_items(task, root / "config" / "demo_items")
        files[f"datasets/{task.hub.dataset}"] = _as_published(name, path, items)
    with serving(Hub(files)) as hub:
        yield hub


def _as_published(name, path, items):
    """The files of a data set: two parquet parts and files of other splits, or JSON lines."""
    records = [{k: v for k, v in item.items() if k != "item_id"} for item in items]
    if name == "triviaqa":
        records = [{**record, "entity_pages": [], "search_results": []} for record in records]
    if name == "ifeval":
        keys = {key for record in records for entry in record["kwargs"] for key in entry}
        for record in records:
            record["kwargs"] = [{**dict.fromkeys(keys), **entry} for entry in record["kwargs"]]
            for entry in record["kwargs"]:
                if entry.get("num_words"):
                    entry["num_words"] = float(entry["num_words"])
        text = "".join(json.dumps(record) + "\n" for record in records)
        return {path: text.encode(), "README.md": b"x"}
    first, second = path, path.replace("00000-of-00001", "00001-of-00002")
    half = len(records) // 2
    return {
        first: _parquet(records[:half]),
        second: _parquet(records[half:]),
        path.replace("test-", "train-").replace("validation-", "train-"): _parquet(records[:1]),
        ".gitattributes": b"x",
    }


def _parquet(records):
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), buffer)
    return buffer.getvalue()


def fetch(hub, home, name, files=None, token=None, **environment):
    """Load a task's items from the hub in a process that knows nothing but its address."""
    code = (
        "import json, sys\nfrom taboo.tasks import load_task\n"
        "from taboo.tasks.sampling import load_items\n"
        "try:\n"
        f"    items = load_items(load_task({name!r}), revision={hub.commit!r}, files={files!r})\n"
        "except (ValueError, OSError) as error:\n"
        "    sys.exit(f'{type(error).__name__}: {error}')\n"
        "print(json.dumps(items))"
    )
    return hub.python(home, code, token, **environment)


def locked(hub, name):
    """What a lock says of a task's files."""
    task = load_task(name)
    published = hub.files[f"datasets/{task.hub.dataset}"]
    return {
        path: {"sha256": sha256(data), "size": len(data)}
        for path, data in published.items()
        if fnmatch(path, task.hub.files)
    }


@pytest.mark.parametrize("name", MIRRORED)
def test_the_hub_gives_the_same_items_as_a_mirror(root, tmp_path, hub, name):
    """Same records, same order, same digest: null padding, float counts and unused fields go."""
    done = fetch(hub, tmp_path, name)
    assert done.returncode == 0, done.stderr
    mirrored = load_items(load_task(name), root / "config" / "demo_items")
    assert json.loads(done.stdout) == mirrored
    assert digest(json.loads(done.stdout)) == digest(mirrored)
    assert not any("train-" in request for request in hub.requests)


def test_locked_files_are_taken_as_they_are_and_once(root, tmp_path, hub):
    files = locked(hub, "gsm8k")
    assert len(files) == 2
    done = fetch(hub, tmp_path, "gsm8k", files)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == load_items(load_task("gsm8k"), root / "config/demo_items")
    assert not any(path.startswith("/api/") for path in hub.requests)
    again = fetch(hub, tmp_path, "gsm8k", files, HF_HUB_OFFLINE="1")
    assert again.stdout == done.stdout


def test_a_file_with_other_bytes_is_refused_by_name_and_taken_anew(tmp_path, hub):
    files = locked(hub, "gsm8k")
    name = MIRRORED["gsm8k"]
    hub.wrong.add(name)
    done = fetch(hub, tmp_path, "gsm8k", files)
    assert f"TaskError: datasets/openai/gsm8k at {hub.commit}: {name} came with" in done.stderr
    hub.wrong.clear()
    assert fetch(hub, tmp_path, "gsm8k", files).returncode == 0


def test_a_gated_data_set_says_where_to_accept_and_never_the_token(tmp_path, hub):
    repository = f"datasets/{load_task('mmlu').hub.dataset}"
    hub.gated.add(repository)
    files = locked(hub, "mmlu")
    done = fetch(hub, tmp_path, "mmlu", files)
    assert (
        f"{repository} is gated: accept its licence at {hub.endpoint}/{repository}" in done.stderr
    )
    hub.granted = False
    done = fetch(hub, tmp_path, "mmlu", files, TOKEN)
    assert "the account of HF_TOKEN has no access to it" in done.stderr
    assert TOKEN not in done.stdout + done.stderr


def test_no_room_is_noticed_before_anything_is_asked_for(tmp_path, hub):
    files = {"main/test-0.parquet": {"sha256": "0" * 64, "size": 10**16}}
    assert "datasets/openai/gsm8k needs 10000000.0 GB in" in fetch(hub, tmp_path, "gsm8k", files).stderr  # fmt: skip
    assert hub.requests == []


def test_an_unknown_revision_says_what_to_do(tmp_path, hub):
    asked, hub.commit = hub.commit, "f" * 40
    code = (
        "from taboo.tasks import load_task\nfrom taboo.tasks.sampling import load_items\n"
        f"load_items(load_task('gsm8k'), revision={asked!r})"
    )
    done = hub.python(tmp_path, code)
    assert f"datasets/openai/gsm8k has no commit {asked}" in done.stderr
    assert "set `mirror` to a folder with gsm8k/test.jsonl" in done.stderr


def test_no_network_says_what_to_do(tmp_path, hub):
    done = fetch(hub, tmp_path, "mmlu", HF_HUB_OFFLINE="1")
    assert done.returncode != 0
    assert "set `mirror` to a folder with mmlu/test.jsonl" in done.stderr


@pytest.mark.parametrize("name", MIRRORED)
def test_the_pins_are_full_commits(name):
    task = load_task(name)
    assert len(task.hub.revision) == 40
    assert set(task.hub.revision) <= set("0123456789abcdef")
