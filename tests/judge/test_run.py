"""One judging, end to end, against an endpoint on loopback."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taboo.judge.access import lacking
from taboo.judge.agreement import agreement
from taboo.judge.provider import JudgeError
from taboo.judge.replies import Replies
from taboo.judge.run import Candidate, candidates, draw, judge
from taboo.judge.summary import describe, disagreements, frame
from taboo.stats.csvfile import csv_text
from tests.judge.endpoints import environment, judge_at, settings
from tests.judge.fault_server import FaultServer

CELL = {"study": "demo", "model": "m", "precision": "bf16", "task": "gsm8k", "condition": "x"}


def cell(condition: str, rank: int, n: int = 10) -> list[Candidate]:
    """A cell of sums, the even ones right."""
    items = {f"gsm8k/{i}": {"question": f"{i} + {i}?", "answer": f"#### {2 * i}"} for i in range(n)}
    generations = [
        {"item_id": name, "text": f"Answer: {place * 2 + place % 2}", "finish_reason": "eos"}
        for place, name in enumerate(items)
    ]
    scores = [
        {"item_id": name, "correct": not place % 2, "outcome": "x", "extracted": "1", "rule": "r"}
        for place, name in enumerate(items)
    ]
    return candidates({**CELL, "condition": condition, "rank": rank}, generations, scores, items)


@pytest.fixture
def drawn() -> list[Candidate]:
    return draw([*cell("baseline", 0), *cell("taboo_i2", 2)], {"gsm8k": 8}, seed=1)


def test_the_draw_is_in_proportion_over_condition_and_verdict(drawn: list[Candidate]) -> None:
    kinds = [(row.condition, row.scorer) for row in drawn]
    assert {kinds.count(kind) for kind in kinds} == {2}
    assert len(set(kinds)) == 4
    with pytest.raises(ValueError, match=r"judge\.tasks\.gsm8k: 99 .* has 10"):
        draw(cell("baseline", 0), {"gsm8k": 99}, seed=1)


def test_files_of_different_items_are_refused() -> None:
    with pytest.raises(ValueError, match="m/bf16/gsm8k/x: the score file has other items"):
        candidates({**CELL, "rank": 0}, [{"item_id": "a"}], [{"item_id": "b"}], {})


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_second_run_asks_nothing_and_gives_the_same(
    provider: str, drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    remote, replies = judge_at(provider, fault_server.address), Replies(tmp_path)
    first = judge(drawn, remote, replies, None)
    asked = len(fault_server.seen)
    # The same text of the same item is one question, whatever condition it comes from.
    assert asked == len({row.item_id for row in drawn})
    assert [row["judge"] for row in first.rows] == ["right"] * 8
    assert first.facts["cost_usd"] == pytest.approx(8 * (100 * 1 + 5 * 10) / 1e6, rel=0.5)
    # A key is not needed for what is known.
    second = judge(drawn, remote, replies, "no key")
    assert len(fault_server.seen) == asked
    assert json.dumps([second.rows, second.facts]) == json.dumps([first.rows, first.facts])
    assert len(frame(second.rows)) == 8


def test_what_was_answered_before_an_error_is_kept(
    drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    remote = judge_at("openai", fault_server.address, concurrency=1)
    fault_server.steps.extend([None, None, 400])
    with pytest.raises(JudgeError):
        judge(drawn, remote, Replies(tmp_path), None)
    done = judge(drawn, remote, Replies(tmp_path), None)
    assert len(fault_server.seen) == 1 + len({row["key"] for row in done.rows})


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_without_a_key_it_is_skipped_and_says_so(
    provider: str, drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    chosen = settings(provider)
    why = lacking(chosen, {})
    assert why in ("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set", "GEMINI_API_KEY is not set")
    assert lacking(chosen, environment(provider, fault_server.address)) is None
    judging = judge(drawn, judge_at(provider, fault_server.address), Replies(tmp_path), why)
    assert judging.rows == []
    assert not fault_server.seen
    rows = frame(judging.rows)
    summary = describe({"judge": chosen.who, **judging.facts}, rows, rows, rows, "a notice")
    assert f"was not asked: {why}." in summary


def test_a_blocked_reply_is_no_verdict_and_no_error(
    drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    fault_server.steps.append("blocked")
    judging = judge(
        drawn, judge_at("gemini", fault_server.address, concurrency=1), Replies(tmp_path), None
    )
    blocked = judging.rows[0]
    assert (blocked["judge"], blocked["reply"]["finish"]) == ("unparsed", "SAFETY")
    assert blocked["reply"]["output_tokens"] == 0


def test_disagreements_come_with_both_texts(
    drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    remote = judge_at("openai", fault_server.address)
    against = disagreements(frame(judge(drawn, remote, Replies(tmp_path), None).rows))
    assert set(against["scorer"]) == {"wrong"}
    assert len(against) == 4
    for row in against.to_dict("records"):
        assert row["text"].startswith("Answer: ")
        assert row["reply"].endswith(" RIGHT")


@pytest.mark.parametrize("extracted", [None, "", "1"])
def test_a_scorer_that_read_nothing_can_disagree(
    extracted: str | None, drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    unread = [replace(row, scorer="wrong", extracted=extracted, rule="none") for row in drawn]
    unread[0] = replace(unread[0], extracted="7")
    remote = judge_at("openai", fault_server.address)
    rows = frame(judge(unread, remote, Replies(tmp_path), None).rows)
    against = disagreements(rows)
    assert list(against["extracted"]) == ["7", *[extracted] * 7]
    assert csv_text(against).count("\n") > 8
    table = agreement(rows, "scorer", "judge")
    assert list(table["n"]) == [8, 4, 4, 4]


@pytest.mark.parametrize("said", ["RIGHT", "4f9a1c RIGHT", "I cannot judge this."])
def test_a_judge_without_a_verdict_is_counted_apart(
    said: str, drawn: list[Candidate], fault_server: FaultServer, tmp_path: Path
) -> None:
    fault_server.steps.extend([(said,)] * 8)
    judging: Any = judge(drawn, judge_at("openai", fault_server.address), Replies(tmp_path), None)
    assert {row["judge"] for row in judging.rows} == {"unparsed"}
    assert disagreements(frame(judging.rows)).empty
