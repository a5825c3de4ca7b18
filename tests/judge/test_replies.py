"""Replies that were paid for are kept, and only intact ones are believed."""

import logging
from pathlib import Path

import pytest

from taboo.judge.provider import Reply
from taboo.judge.replies import Replies, reply_key

REPLY = Reply("a1b2c3 RIGHT", "stop", "judge-1", 100, None)
IDENTITY = {"provider": "gemini", "model": "judge-1"}


def test_a_key_covers_all_that_decides_a_reply() -> None:
    keys = {
        reply_key(identity, prompt)
        for identity in (IDENTITY, {**IDENTITY, "model": "judge-2"}, {**IDENTITY, "thinking": None})
        for prompt in ("one", "two")
    }
    assert len(keys) == 6
    assert reply_key(dict(reversed(IDENTITY.items())), "one") == reply_key(IDENTITY, "one")


def test_what_is_put_is_got(tmp_path: Path) -> None:
    key = reply_key(IDENTITY, "one")
    replies = Replies(tmp_path / "replies")
    assert replies.get(key) is None
    replies.put(key, IDENTITY, "one", REPLY)
    assert Replies(tmp_path / "replies").get(key) == REPLY
    (file,) = (tmp_path / "replies").iterdir()
    before = file.read_bytes()
    replies.put(key, IDENTITY, "one", REPLY)
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["RIGHT→WRONG", "cut", "empty", "list", "other"])
def test_a_damaged_reply_is_set_aside_and_named(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = reply_key(IDENTITY, "one")
    replies = Replies(tmp_path)
    replies.put(key, IDENTITY, "one", REPLY)
    (file,) = tmp_path.iterdir()
    good = file.read_text()
    other = reply_key(IDENTITY, "two")
    replies.put(other, IDENTITY, "two", REPLY)
    damaged = {
        "RIGHT→WRONG": good.replace("RIGHT", "WRONG"),
        "cut": good[:-20],
        "empty": "",
        "list": "[]",
        "other": (tmp_path / f"{other}.json").read_text(),
    }[damage]
    file.write_text(damaged)
    with caplog.at_level(logging.WARNING):
        assert replies.get(key) is None
    assert file.name in caplog.text
    assert file.with_suffix(".damaged").read_text() == damaged
    assert replies.get(key) is None
