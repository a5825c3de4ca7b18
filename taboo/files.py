"""Files that are either whole or absent: write to a temporary name, fsync, rename."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any


def write_atomic(path: str | Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Call `write` with an open binary file, then move it to `path` in one step.

    The temporary file lies in the same folder, so the rename stays within one file system. If `write` raises, `path` is left as it was and the temporary file is removed. Raises OSError naming `path` where the disk is full or read-only, or the folder can't be written to.
    """
    path = Path(path)
    try:
        return _write_atomic(path, write)
    except OSError as error:
        if error.errno not in _WAYS_OUT:
            raise
        way_out = _WAYS_OUT[error.errno]
        raise OSError(
            error.errno,
            f"{path} can't be written ({error.strerror}); what was there is kept, so {way_out} and "
            "run again",
        ) from error


_WAYS_OUT = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "mount the disk for writing, or name another results folder,",
    errno.EACCES: "give yourself the right to write there, or name another results folder,",
}


def _write_atomic(path: Path, write: Callable[[IO[bytes]], object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return path


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write `data` to `path` atomically."""
    return write_atomic(path, lambda file: file.write(data))


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` to `path` atomically, as UTF-8 with its newlines as they are."""
    return write_bytes(path, text.encode())


def write_json(path: str | Path, value: Any) -> Path:
    """Write `value` to `path` atomically as indented JSON with sorted keys."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")


def write_jsonl(path: str | Path, values: Iterable[Any]) -> Path:
    """Write one canonical JSON line per value to `path`, atomically."""
    return write_bytes(path, b"".join(canonical_json(value) + b"\n" for value in values))


def read_json(path: str | Path) -> Any:
    """Read a JSON file; an error names the file."""
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from error


def parse_jsonl(data: bytes, name: str | Path) -> list[Any]:
    """Parse JSON lines, split on b"\\n" alone (U+2028 and U+0085 occur inside strings).

    Raises ValueError naming `name` and the line number of the first bad line.
    """
    values = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{name}, line {number}, is not valid JSON: {error}") from error
    return values


def read_jsonl(path: str | Path) -> list[Any]:
    """Read a JSON-lines file, see `parse_jsonl`."""
    return parse_jsonl(Path(path).read_bytes(), path)


def canonical_json(value: Any) -> bytes:
    """JSON bytes that depend on the value alone: sorted keys, no spaces, UTF-8, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_json(value: Any) -> str:
    """Hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def sha256_text(text: str) -> str:
    """Hex sha256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: str | Path) -> str:
    """Hex sha256 of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: str | Path) -> None:
    """Make a rename or a new file in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
