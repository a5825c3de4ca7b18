"""The hub: what a commit of a model or a data set holds, and downloading it.

A repository is named as in its address: `org/name` is a model, `datasets/org/name` a data set. The hub is the one that huggingface_hub knows, or what HF_ENDPOINT names. Gated models need a token in HF_TOKEN; the client reads it, and it appears in no message.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from taboo.files import sha256_file

DATASETS = "datasets/"
"""Begins the name of a repository that is a data set."""

PATTERNS = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt", "LICENSE*", "NOTICE*")
"""What is taken from a repository's top folder; weights in other formats are left out."""

DOWNLOADS = 4
"""Files downloaded at once."""


class HubError(OSError):
    """The hub does not give what was asked for; the message says what to do."""


def is_taken(name: str) -> bool:
    """Whether a file of a model's repository is part of a snapshot."""
    return "/" not in name and any(fnmatch(name, pattern) for pattern in PATTERNS)


def look_up(
    repository: str, revision: str | None = None, taken: Callable[[str], bool] = is_taken
) -> dict[str, Any]:
    """A commit of a repository: `revision` (40 hex digits) and `files`, the sha256 and size of each file that is `taken`.

    Without `revision` the newest commit. The hub knows the sha256 of large files; small ones are downloaded to take it, and held against their git id. Raises HubError.
    """
    from huggingface_hub import HfApi, hf_hub_download

    name_there, kind = _kind(repository)
    files: dict[str, dict[str, Any]] = {}
    with _explained(repository, revision), tempfile.TemporaryDirectory() as temporary:
        info: Any = HfApi().repo_info(
            name_there, repo_type=kind, revision=revision, files_metadata=True
        )
        for entry in info.siblings or []:
            name = entry.rfilename
            if not taken(name):
                continue
            if entry.lfs:
                files[name] = {"sha256": entry.lfs.sha256, "size": entry.lfs.size}
                continue
            path = Path(
                hf_hub_download(
                    name_there, name, repo_type=kind, revision=info.sha, local_dir=temporary
                )
            )
            if entry.blob_id != _git_id(path):
                raise HubError(f"{repository}: {name} is not what the hub says of it; try again")
            files[name] = {"sha256": sha256_file(path), "size": path.stat().st_size}
    if not files:
        raise HubError(f"{repository} at {info.sha} has none of the files that are looked for")
    if kind == "model" and not any(name.endswith(".safetensors") for name in files):
        raise HubError(f"{repository} at {info.sha} has no .safetensors weights")
    return {"revision": info.sha, "files": dict(sorted(files.items()))}


def cached(
    repository: str, revision: str, files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Path]:
    """The `files` (see `look_up`) of a commit, downloaded into the client's cache unless they are there.

    A file that is not what its sha256 says is removed. Raises HubError, and OSError where the disk has too little room.
    """
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache

    name_there, kind = _kind(repository)
    missing = [
        name
        for name in files
        if not isinstance(
            try_to_load_from_cache(name_there, name, repo_type=kind, revision=revision), str
        )
    ]
    folder = Path(constants.HF_HUB_CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    _need_room(repository, sum(files[name]["size"] for name in missing), folder)
    paths = {}
    for name, wanted in files.items():
        with _explained(repository, revision):
            path = Path(hf_hub_download(name_there, name, repo_type=kind, revision=revision))
        _verify(repository, revision, name, path, wanted["sha256"])
        paths[name] = path
    return paths


def download(
    repository: str, revision: str, files: Mapping[str, Mapping[str, Any]], folder: Path
) -> None:
    """Bring `files` (see `look_up`) of a commit into `folder`, which then holds them and nothing else.

    Files already there are not taken again, so a download that was interrupted goes on; a cut connection goes on inside the file. A file that is not what its sha256 says is removed. Raises HubError, and OSError where the disk has too little room.
    """
    from huggingface_hub import hf_hub_download

    folder.mkdir(parents=True, exist_ok=True)
    # Parts of files that a killed process left; another process of the client does not use them.
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    missing = [name for name in files if not (folder / name).is_file()]
    _need_room(repository, sum(files[name]["size"] for name in missing), folder)

    def take(name: str) -> None:
        hf_hub_download(repository, name, revision=revision, local_dir=folder)

    with _explained(repository, revision), ThreadPoolExecutor(DOWNLOADS) as pool:
        list(pool.map(take, missing))
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    for path in list(folder.iterdir()):
        wanted = files.get(path.name)
        if wanted is None:
            path.unlink()
        else:
            _verify(repository, revision, path.name, path, wanted["sha256"])


def _kind(repository: str) -> tuple[str, str]:
    """The repository as the client names it, and what it is to the client."""
    name = repository.removeprefix(DATASETS)
    return name, "model" if name == repository else "dataset"


def _need_room(repository: str, needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"{repository} needs {needed / 1e9:.1f} GB in {folder}, and {free / 1e9:.1f} GB are free"
        )


def _verify(repository: str, revision: str, name: str, path: Path, expected: str) -> None:
    """Remove a file, and what it is a link to in the cache, unless it has the expected sha256."""
    if (found := sha256_file(path)) == expected:
        return
    path.resolve().unlink()
    path.unlink(missing_ok=True)
    raise HubError(
        f"{repository} at {revision}: {name} came with sha256 {found}, expected {expected}. "
        "It was removed; run again to fetch it anew"
    )


def _git_id(path: Path) -> str:
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def _explained(repository: str, revision: str | None) -> Iterator[None]:
    """Turn the client's errors into a HubError that says what to do."""
    from huggingface_hub import constants, errors

    try:
        yield
    except HubError:
        raise
    except (errors.HTTPError, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # of the file system: a full disk, for example
        # The client wraps some errors of a download into one that speaks of its cache.
        wrapped = isinstance(error, errors.LocalEntryNotFoundError) and error.__cause__
        reason = _reason(wrapped or error, f"{constants.ENDPOINT}/{repository}", revision)
        raise HubError(f"{repository} {reason}") from error


def _reason(error: BaseException, page: str, revision: str | None) -> str:
    from huggingface_hub import errors, get_token

    accept = f"accept its licence at {page} and set HF_TOKEN to a token of that account"
    response = getattr(error, "response", None)
    if isinstance(error, errors.GatedRepoError):
        if get_token():
            return f"is gated, and the account of HF_TOKEN has no access to it: {accept}"
        return f"is gated: {accept}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"is not on the hub under this name, or is private or gated: {accept}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"has no commit {revision}"
    if isinstance(error, errors.EntryNotFoundError) and response is not None:
        name = str(response.url).rpartition("/")[2]
        return f"has no file {name} at {revision}; `taboo lock --update` locks it anew"
    if response is not None and response.status_code == 401:
        return "can't be read: the hub does not accept the token in HF_TOKEN"
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"can't be fetched from {page}: {first}. Is there a network here? HF_ENDPOINT names another hub"
