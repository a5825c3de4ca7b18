"""The lock of the models and data sets: the commit of each on the hub, and the sha256 of every file taken from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from taboo.files import write_text
from taboo.tasks import load_task

LOCK = Path("models.lock.yaml")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEAD = "# Written by `taboo lock`: commits on the hub, and sha256 and size of every file taken.\n"

Lock = dict[str, dict[str, Any]]
"""By repository (`org/name` of a model, `datasets/org/name` of a data set): `revision`, and `files`: by name, `sha256` and `size` in bytes."""


class LockError(ValueError):
    """The lock is not what it must be, or does not go with the configuration."""


@dataclass(frozen=True)
class DataSet:
    """A data set of the hub: the commit (or branch) that its tasks name, and globs over the paths of the files that they read."""

    revision: str
    files: tuple[str, ...]

    def takes(self, name: str) -> bool:
        """Whether a task reads that file."""
        return any(fnmatch(name, pattern) for pattern in self.files)


def read_lock(path: str | Path) -> Lock:
    """The lock in a file, empty where there is none. Raises LockError naming the entry that is wrong."""
    if not Path(path).is_file():
        return {}
    try:
        lock = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise LockError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(lock, dict):
        raise LockError(f"{path} must be a mapping of repositories")
    for repository, entry in lock.items():
        if not _is_entry(entry):
            raise LockError(
                f"{path}: {repository} needs a `revision` of 40 hex digits, and `files` with "
                "`sha256` and `size`; `taboo lock --update` writes it anew"
            )
    return lock


def write_lock(path: str | Path, lock: Lock) -> Path:
    """Write a lock in order of names, one line per file."""
    text = yaml.dump(lock, Dumper=_WithoutAliases, default_flow_style=None, width=1000)
    return write_text(path, _HEAD + text)


class _WithoutAliases(yaml.SafeDumper):
    """Writes equal entries out, each at its place."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def hub_models(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The models of the studies to run that come from the hub, by repository."""
    names = {name for study in config["run"] for name in config["studies"][study]["models"]}
    if config.get("judge") and config["judge"].get("provider") == "local":
        names.add(config["judge"]["model"])
    names.update(config["repro"]["models"] if config.get("repro") else [])
    chosen = (config["models"][name] for name in sorted(names))
    return {model["source"]["hub"]: model for model in chosen if "hub" in model["source"]}


def hub_datasets(config: Mapping[str, Any]) -> dict[str, DataSet]:
    """The data sets of the studies to run, by repository; none where a mirror has them.

    Raises LockError where two tasks name different commits of one data set.
    """
    if config["mirror"]:
        return {}
    names = {name for study in config["run"] for name in config["studies"][study]["tasks"]}
    if config.get("repro"):
        names.add(config["repro"]["task"])
    found: dict[str, DataSet] = {}
    for name in sorted(names):
        hub = load_task(name).hub
        repository, revision = hub.repository, _revision(config, name)
        known = found.setdefault(repository, DataSet(revision, ()))
        if known.revision != revision:
            raise LockError(
                f"tasks.{name} names commit {revision} of {repository}, another task "
                f"{known.revision}: `revision` must be the same for both"
            )
        found[repository] = DataSet(revision, tuple(sorted({*known.files, hub.files})))
    return found


def unlocked(config: Mapping[str, Any], lock: Lock) -> list[str]:
    """The repositories of the studies to run that the lock does not name."""
    return sorted(repository for repository in hub_models(config) if repository not in lock)


def apply_lock(config: Mapping[str, Any], lock: Lock) -> dict[str, Any]:
    """The configuration with `revision` and `files` of each locked model in its source, and of each locked data set in its tasks.

    A model of the hub that is not locked gets `unlocked: true` where the configuration allows that; else it is left as it is, and fetching it is refused. A task whose data set is not locked, or comes from a mirror, is left as it is: its own commit and the digest of its records pin it. Raises LockError where a model or a task names another commit than its lock.
    """
    models = {}
    for name, model in config["models"].items():
        source = model["source"]
        if "hub" in source:
            source = _locked_source(name, source, lock, config["allow_unlocked"])
        models[name] = {**model, "source": source}
    tasks = {name: _locked_task(config, name, lock) for name in config["tasks"]}
    return {**config, "models": models, "tasks": tasks}


def _revision(config: Mapping[str, Any], task: str) -> str:
    """The commit (or branch) of a task's data set."""
    return config["tasks"][task]["revision"] or load_task(task).hub.revision


def _locked_task(config: Mapping[str, Any], name: str, lock: Lock) -> dict[str, Any]:
    task, hub = config["tasks"][name], load_task(name).hub
    entry = lock.get(hub.repository)
    if entry is None or config["mirror"]:
        return task
    wanted = _revision(config, name)
    if _COMMIT.fullmatch(wanted) and wanted != entry["revision"]:
        raise LockError(
            f"tasks.{name} takes commit {wanted} of {hub.dataset}, but {LOCK} has "
            f"{entry['revision']}: run `taboo lock`"
        )
    files = {file: about for file, about in entry["files"].items() if fnmatch(file, hub.files)}
    if not files:
        raise LockError(
            f"{LOCK} has no file {hub.files} of {hub.dataset}, which tasks.{name} reads: run "
            "`taboo lock --update`"
        )
    return {**task, "revision": entry["revision"], "files": files}


def _locked_source(
    name: str, source: Mapping[str, Any], lock: Lock, allow_unlocked: bool
) -> dict[str, Any]:
    entry = lock.get(source["hub"])
    if entry is None:
        return {**source, "unlocked": True} if allow_unlocked else dict(source)
    wanted = source.get("revision", entry["revision"])
    if wanted != entry["revision"]:
        raise LockError(
            f"models.{name} names commit {wanted} of {source['hub']}, but {LOCK} has "
            f"{entry['revision']}: run `taboo lock`"
        )
    return {**source, **entry}


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"revision", "files"}:
        return False
    files = entry["files"]
    return (
        isinstance(entry["revision"], str)
        and _COMMIT.fullmatch(entry["revision"]) is not None
        and isinstance(files, dict)
        and bool(files)
        and all(
            isinstance(file, dict)
            and isinstance(file.get("sha256"), str)
            and _SHA256.fullmatch(file["sha256"]) is not None
            and type(file.get("size")) is int
            for file in files.values()
        )
    )
