"""Whether a judge's stored replies are those that its verdicts were read from."""

from pathlib import Path
from typing import Any

from taboo.files import read_json, read_jsonl, sha256_json

FOLDER = "replies"


def read_reply(path: Path) -> dict[str, Any]:
    """The record in a file of `replies/`. Raises ValueError naming the file if it is not what was stored."""
    try:
        record = read_json(path)
        content = {name: value for name, value in record.items() if name != "sha256"}
        if record["sha256"] == sha256_json(content) and record["key"] == path.stem:
            return record
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ValueError(f"{FOLDER}/{path.name} is not as it was stored")


def damaged_reply(path: Path) -> str | None:
    """What is wrong with a file of `replies/`, None if it is what it says."""
    try:
        read_reply(path)
    except ValueError as error:
        return str(error)
    return None


def reply_problems(results: Path, judged: Path) -> list[tuple[str, str]]:
    """Hold the rows of a `judged.jsonl` against the stored replies, as (state, line) pairs."""
    problems = []
    try:
        replies = {row["key"]: row["reply_sha256"] for row in read_jsonl(judged)}
    except (ValueError, KeyError, TypeError):
        return []  # the file itself is found to be changed
    for key, digest in replies.items():
        path = results / FOLDER / f"{key}.json"
        if not path.is_file():
            problems.append(("missing", f"{FOLDER}/{path.name}"))
            continue
        try:
            reply = read_reply(path)["reply"]
        except ValueError as error:
            problems.append(("changed", str(error)))
            continue
        if sha256_json(reply) != digest:
            problems.append(("changed", f"{FOLDER}/{path.name} is not the reply that was judged"))
    return problems
