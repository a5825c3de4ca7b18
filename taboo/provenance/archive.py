"""Results packed into one archive, and brought back: figures redraw from it without generating.

The archive is a plain tar without compression, with the files in order of their names and no owner or time, so the same results give the same bytes with every version of every library. (What is large in it, cells and pictures, is compressed already.)
"""

import io
import os
import shutil
import tarfile
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from taboo.files import sha256_file, write_atomic
from taboo.provenance.records import (
    DamagedRecord,
    read_record,
    recorded_outputs,
    records_folder,
    stat_of,
    write_record,
)

_NOTES = "snakemake"
"""The folder in the archive with Snakemake's own notes on the outputs, by which it sees what changed."""


def export_results(results: str | Path, archive: str | Path, journals: bool = False) -> int:
    """Pack all recorded outputs with their records, and the journals and a judge's replies if asked for; no weights.

    Returns the number of outputs. Raises ValueError naming an output that is missing or not what was recorded, so that nothing damaged is passed on.
    """
    results = Path(results)
    outputs = list(recorded_outputs(results))
    if not outputs:
        raise FileNotFoundError(f"{results} has no records: nothing was made there yet")
    members: dict[str, Path] = {}
    for output in outputs:
        record = read_record(results, output)
        if not output.is_file():
            raise ValueError(f"{output} is missing; run snakemake, then export")
        if record is None or sha256_file(output) != record["sha256"]:
            raise ValueError(f"{output} is not what was recorded; `taboo audit` says what changed")
        name = output.relative_to(results).as_posix()
        members[f"results/{name}"] = output
        members[f"results/provenance/records/{name}.json"] = (
            records_folder(results) / f"{name}.json"
        )
        if (note := _note_path(output)).is_file():
            members[f"{_NOTES}/{name}"] = note
    if journals:
        for folder in ("journal", "replies"):
            for path in (results / folder).glob("*.json*"):
                members[f"results/{folder}/{path.name}"] = path
    write_atomic(archive, lambda file: _pack(file, members, str(results)))
    return len(outputs)


def import_results(archive: str | Path, results: str | Path) -> int:
    """Unpack an archive into a results folder that is empty or not there; returns the number of outputs.

    Every output is held against its record on the way. The folder appears in one step, and the outputs have the times that were recorded, so that Snakemake sees them in order. Raises ValueError naming what is wrong with the archive.
    """
    results = Path(results)
    if results.is_dir() and any(path.name != ".running" for path in results.iterdir()):
        raise ValueError(f"{results} is not empty; name another folder or move it away first")
    results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=results.parent, prefix=f".{results.name}.") as temporary:
        folder = Path(temporary)
        try:
            with tarfile.open(archive, "r:") as tar:
                tar.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise ValueError(f"{archive} is no archive of results: {error}") from error
        unpacked = folder / "results"
        outputs = list(recorded_outputs(unpacked))
        if not outputs:
            raise ValueError(f"{archive} is no archive of results: it holds no records")
        for output in outputs:
            _check_and_date(archive, unpacked, output)
        origin = (folder / "origin").read_text(encoding="utf-8")
        shutil.rmtree(results, ignore_errors=True)
        os.replace(unpacked, results)
        # Snakemake's notes name the outputs by their paths, so they hold for the same place alone.
        if origin == str(results):
            for name, note in _notes(folder / _NOTES):
                target = _note_path(results / name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(note, target)
    return len(outputs)


def _pack(file: IO[bytes], members: dict[str, Path], origin: str) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(members.items()):
            _add(tar, name, content.read_bytes())
        _add(tar, "origin", origin.encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, io.BytesIO(content))


def _check_and_date(archive: str | Path, unpacked: Path, output: Path) -> None:
    name = output.relative_to(unpacked)
    try:
        record = read_record(unpacked, output)
    except DamagedRecord as error:
        raise ValueError(f"{archive}: {error}") from error
    if record is None or not output.is_file() or sha256_file(output) != record["sha256"]:
        raise ValueError(f"{archive}: {name} is missing or not what was recorded")
    modified = record["volatile"]["stat"][1]
    os.utime(output, ns=(modified, modified))
    record["volatile"]["stat"] = stat_of(output)
    write_record(unpacked, record)


def _notes(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield PurePosixPath(path.relative_to(folder).as_posix()), path


def _note_path(output: Path) -> Path:
    """Where Snakemake keeps its note on an output, below the folder that it runs in."""
    name = urlsafe_b64encode(str(output).encode()).decode()
    folder = Path(".snakemake") / "metadata"
    longest = os.pathconf(folder, "PC_NAME_MAX") if folder.is_dir() else 255
    *heads, tail = [name[i : i + longest - 1] for i in range(0, len(name), longest - 1)]
    return folder.joinpath(*(f"@{head}" for head in heads), tail)
