"""The replies that were paid for: one file each, named by everything that decides it."""

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from taboo.files import read_json, sha256_json, sha256_text, write_json
from taboo.judge.provider import Reply

_log = logging.getLogger("taboo")


def reply_key(identity: Mapping[str, Any], prompt: str) -> str:
    """sha256 over everything that decides a reply: who is asked and how, and the prompt."""
    return sha256_json({"identity": identity, "prompt_sha256": sha256_text(prompt)})


class Replies:
    """A folder of replies. Each file holds the reply, what it was asked with and a sha256 over both."""

    def __init__(self, folder: str | Path):
        self._folder = Path(folder)

    def get(self, key: str) -> Reply | None:
        """The stored reply, None if there is none. A damaged one is set aside, logged and counts as none."""
        path = self._path(key)
        if not path.exists():
            return None
        try:
            record = read_json(path)
            content = {name: value for name, value in record.items() if name != "sha256"}
            if record["sha256"] == sha256_json(content) and record["key"] == key:
                return Reply(**record["reply"])
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        aside = path.with_suffix(".damaged")
        os.replace(path, aside)
        _log.warning("%s is damaged; moved to %s and asked again", path, aside.name)
        return None

    def put(self, key: str, identity: Mapping[str, Any], prompt: str, reply: Reply) -> None:
        """Store a reply durably."""
        record = {
            "key": key,
            "identity": dict(identity),
            "prompt_sha256": sha256_text(prompt),
            "reply": asdict(reply),
        }
        write_json(self._path(key), {**record, "sha256": sha256_json(record)})

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
