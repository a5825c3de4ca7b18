"""Journals, read without changing them: is every line whole, and is a cell made of them?"""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from taboo.files import read_json, sha256_json

_ITEM = re.compile(rb'"item_id":("(?:[^"\\]|\\.)*")')
_PROMPT = re.compile(rb'"prompt_sha256":("(?:[^"\\]|\\.)*")')
_RECIPE = re.compile(rb'"recipe":"([^"]*)"')
_DIGEST = b',"sha256":"'

Records = dict[tuple[str, str], str]
"""The sha256 of each record, by (item_id, prompt_sha256)."""


def read_journal(path: str | Path) -> tuple[Records, list[str]]:
    """The records of a journal and what is wrong with it, one line each.

    Lines are not parsed but hashed: keys are sorted and quotes inside strings escaped, so the fields needed are found by their bytes, and what a line's own digest is over is the line without it.
    """
    path = Path(path)
    records: Records = {}
    problems: list[str] = []
    if not path.is_file():
        return records, [f"{path} is missing"]
    body, newline, torn = path.read_bytes().rpartition(b"\n")
    if torn:
        problems.append(f"{path} ends within a record ({len(torn)} bytes)")
    recipe = path.stem
    for number, line in enumerate(body.split(b"\n") if newline else [], start=1):
        item, prompt, owner = (pattern.search(line) for pattern in (_ITEM, _PROMPT, _RECIPE))
        start = line.find(_DIGEST)
        if item is None or prompt is None or owner is None or start < 0:
            problems.append(f"{path}, line {number}, is no record")
            continue
        claimed = line[start + len(_DIGEST) : start + len(_DIGEST) + 64]
        content = hashlib.sha256(line[:start])
        content.update(line[start + len(_DIGEST) + 65 :])
        if content.hexdigest().encode() != claimed:
            problems.append(f"{path}, line {number} (item {item[1].decode()}), was changed")
        elif owner[1].decode() != recipe:
            problems.append(f"{path}, line {number}, belongs to recipe {owner[1].decode()}")
        else:
            records[json.loads(item[1]), json.loads(prompt[1])] = claimed.decode()
    problems += _recipe_problems(path.with_suffix(".json"))
    return records, problems


def cell_problems(
    path: str | Path, records: Records, items: Sequence[tuple[str, str]], records_sha256: str
) -> list[str]:
    """How a cell of these items, (item_id, prompt_sha256) each, differs from its journal."""
    missing = [item for item, prompt in items if (item, prompt) not in records]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return [f"{path} has no record of item {missing[0]}{more}"]
    if sha256_json([records[item] for item in items]) != records_sha256:
        return [f"{path} holds other records than those that the cell was made of"]
    return []


def _recipe_problems(path: Path) -> list[str]:
    if not path.is_file():
        return [f"{path} is missing"]
    try:
        intact = sha256_json(read_json(path)) == path.stem
    except ValueError:
        intact = False
    return [] if intact else [f"{path} was changed: its key does not follow from it"]
