"""What needs the network is fetched first, and generation then runs without one."""

import io
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from taboo.files import read_jsonl
from taboo.models import verify_snapshot
from taboo.tasks import load_task
from taboo.tasks.sampling import load_items
from tests.cluster.workspace import Workspace
from tests.hub_server import Hub, serving

STUDY = {"tasks": {"gsm8k": 2}, "tokens": 4}
CELL = "results/cells/smollm2/bf16/gsm8k/taboo_i2.parquet"
GSM8K = load_task("gsm8k").hub


@pytest.fixture(scope="module")
def hub(root, smollm2_path):
    """A hub with a real model, one that no study names, and a data set."""
    items = load_items(load_task("gsm8k"), root / "config" / "demo_items")
    parquet = io.BytesIO()
    table = pa.Table.from_pylist([{k: i[k] for k in ("question", "answer")} for i in items])
    pq.write_table(table, parquet)
    files = {path.name: path.read_bytes() for path in smollm2_path.iterdir()}
    repositories = {
        "org/smollm2": files,
        "org/other": {"model.safetensors": b"x"},
        f"datasets/{GSM8K.dataset}": {"main/test-0.parquet": parquet.getvalue()},
    }
    with serving(Hub(repositories, commit=GSM8K.revision)) as hub:
        yield hub


@pytest.fixture(scope="module")
def work(hub, smollm2_path, tmp_path_factory):
    """A working copy whose model and data come from the hub, locked."""
    work = Workspace(tmp_path_factory.mktemp("offline") / "work", smollm2_path, STUDY)
    overlay = yaml.safe_load((work.folder / "small.yaml").read_text())
    model = overlay["models"]["smollm2"]
    overlay["models"] = {
        "smollm2": {**model, "source": {"hub": "org/smollm2"}},
        "other": {**model, "source": {"hub": "org/other"}},
    }
    overlay["mirror"] = None
    (work.folder / "small.yaml").write_text(yaml.safe_dump(overlay))
    call(work, hub, "-m", "taboo.cli", "lock", "--config", "small.yaml")
    return work


def call(work, hub, *arguments, before=()):
    """Run Python in the working copy, with an empty home; what it printed."""
    environment = {**hub.environment(work.folder / "home"), **work.environment}
    environment.pop("TABOO_MIRROR", None)
    done = subprocess.run(
        [*before, sys.executable, *arguments],
        cwd=work.folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-4000:]
    return output


def without_network() -> tuple[str, ...]:
    """A command that cuts the network off, or a skip."""
    command = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--net")  # fmt: skip
    try:
        done = subprocess.run([*command, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `unshare` here to cut the network off")
    if done.returncode:
        pytest.skip(f"the network can't be cut off here: {done.stderr.strip()}")
    return command


def test_fetch_all_plans_downloads_and_nothing_else(work, hub):
    output = call(work, hub, *work.command("--profile", "slurm", "--dry-run", "fetch_all")[1:])
    counts = dict(line.split() for line in output.split("---\n")[1].splitlines()[:4])
    assert counts == {"fetch_all": "1", "fetch_model": "1", "sample": "1", "total": "3"}


@pytest.fixture(scope="module")
def fetched(work, hub):
    """The working copy after `fetch_all`, and the paths that it asked the hub for."""
    hub.requests.clear()
    call(work, hub, *work.command("--profile", "slurm", "fetch_all")[1:])
    return work, list(hub.requests)


def test_fetch_all_fetches_what_is_locked_and_nothing_else(root, fetched, hub):
    work, requests = fetched
    assert not any("org/other" in path or path.startswith("/api/") for path in requests)
    snapshot = verify_snapshot(work.results / "snapshots" / "smollm2")
    assert snapshot["source"] == {"hub": "org/smollm2", "revision": hub.commit}
    items = {item["item_id"] for item in load_items(load_task("gsm8k"), root / "config/demo_items")}
    sample = read_jsonl(work.results / "samples/gsm8k/n2.jsonl")
    assert len(sample) == 2
    assert {line["item_id"] for line in sample} <= items
    assert not (work.results / "word_starts").exists()
    again = call(work, hub, *work.command("--profile", "slurm", "fetch_all")[1:])
    assert "Nothing to be done" in again


def test_after_fetch_all_generation_needs_no_network(fetched, hub):
    cut_off = without_network()
    work, _ = fetched
    hub.requests.clear()
    call(work, hub, *work.command("--cores=1", CELL)[1:], before=cut_off)
    assert (work.folder / CELL).is_file()
    assert hub.requests == []
