"""Two results folders compared cell by cell: two machines, two dates, two versions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taboo.cells import read_cell
from taboo.files import sha256_file
from taboo.provenance.keys import differences


@dataclass(frozen=True)
class Comparison:
    """One cell in two folders.

    `state` is `identical bytes`, `same generations` (only the key differs), `same tokens` (surprisal differs), `same verdicts`, `other verdicts`, `only here` or `only there`. `first` says where they part first, `keys` which parts of their keys differ, `items` how many items' tokens differ.
    """

    cell: str
    state: str
    first: str = ""
    items: int = 0
    keys: tuple[str, ...] = ()


def compare(here: str | Path, there: str | Path) -> Iterator[Comparison]:
    """Compare all cells. Raises FileNotFoundError naming a folder without cells."""
    here, there = Path(here), Path(there)
    names: set[str] = set()
    for results in (here, there):
        found = {
            path.relative_to(results / "cells").as_posix()
            for path in (results / "cells").rglob("*.parquet")
        }
        if not found:
            raise FileNotFoundError(f"{results} has no cells")
        names |= found
    for name in sorted(names):
        paths = [results / "cells" / name for results in (here, there)]
        if not paths[0].is_file():
            yield Comparison(name, "only there")
        elif not paths[1].is_file():
            yield Comparison(name, "only here")
        else:
            yield _cell(name, here, there)


def _cell(name: str, here: Path, there: Path) -> Comparison:
    paths = [results / "cells" / name for results in (here, there)]
    if sha256_file(paths[0]) == sha256_file(paths[1]):
        return Comparison(name, "identical bytes")
    (first, one), (second, other) = map(read_cell, paths)
    keys = tuple(
        differences(
            {**one["recipe"], "sample": one["sample_sha256"]},
            {**other["recipe"], "sample": other["sample_sha256"]},
        )
    )
    if first.equals(second):
        return Comparison(name, "same generations", keys=keys)
    where, count = _tokens(first, second)
    if not count:
        return Comparison(name, "same tokens", _surprisal(first, second), keys=keys)
    verdicts = [_verdicts(results / "scores" / name) for results in (here, there)]
    same = None not in verdicts and verdicts[0] == verdicts[1]
    return Comparison(name, "same verdicts" if same else "other verdicts", where, count, keys)


def _tokens(first: pa.Table, second: pa.Table) -> tuple[str, int]:
    """Where the tokens part first, in the order of the items, and in how many items they do."""
    others = _by_item(second, "token_ids")
    where, count = "", 0
    for item, tokens in _by_item(first, "token_ids").items():
        theirs = others.pop(item, None)
        if theirs == tokens:
            continue
        count += 1
        if theirs is None:
            where = where or f"item {item} is only here"
            continue
        token = _first_difference(tokens, theirs)
        where = where or f"item {item}, token {token}"
    if others:
        where = where or f"item {next(iter(others))} is only there"
    return where, count + len(others)


def _surprisal(first: pa.Table, second: pa.Table) -> str:
    others = _by_item(second, "delta_s")
    for item, bits in _by_item(first, "delta_s").items():
        if bits != others[item]:
            return f"item {item}, surprisal of token {_first_difference(bits, others[item])}"
    return ""


def _first_difference(one: list, other: list) -> int:
    """Counted from 0; the length of the shorter where it begins the longer."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _by_item(table: pa.Table, column: str) -> dict[str, list]:
    return dict(zip(table["item_id"].to_pylist(), table[column].to_pylist(), strict=True))


def _verdicts(path: Path) -> dict[str, bool] | None:
    """Right or wrong by item, None without a score file."""
    if not path.is_file():
        return None
    table = pq.read_table(path, columns=["item_id", "correct"])
    return dict(zip(table["item_id"].to_pylist(), table["correct"].to_pylist(), strict=True))
