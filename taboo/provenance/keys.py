"""What recipe keys and cell keys are made of, and which parts of two of them differ."""

import glob
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from taboo.cells import read_cell
from taboo.files import read_json


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """One line per part that differs, `engine.libraries.torch: 2.12.0 / 2.13.0`."""
    left, right = dict(_flat(first)), dict(_flat(second))
    return [
        f"{name}: {left.get(name, '(none)')} / {right.get(name, '(none)')}"
        for name in sorted(left.keys() | right.keys())
        if left.get(name, "(none)") != right.get(name, "(none)")
    ]


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, value


def parts_of_key(results: str | Path, key: str) -> dict[str, Any]:
    """The parts of a recipe key or a cell key (or their first characters), or of a cell file.

    A cell's parts are its recipe's and its `sample`. A recipe's are found as long as its journal is there, also if no cell is made with it any more. Raises ValueError if there is none or more than one.
    """
    if Path(key).is_file():
        _, metadata = read_cell(key)
        return {**metadata["recipe"], "sample": metadata["sample_sha256"]}
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(Path(results).glob(f"journal/{glob.escape(key)}*.json")):
        found[path.stem] = read_json(path)
    for path in sorted(Path(results).glob("cells/**/*.parquet")):
        stored = pq.read_schema(path).metadata or {}
        name = stored.get(b"cell_key", b"").decode()
        if name.startswith(key):
            sample = stored[b"sample_sha256"].decode()
            found[name] = {**json.loads(stored[b"recipe"]), "sample": sample}
    if len(found) != 1:
        many = f"{len(found)} keys begin with" if found else "there is no key"
        raise ValueError(f"{results}: {many} {key}; a key is a cell's, a recipe's or a cell file")
    return next(iter(found.values()))
