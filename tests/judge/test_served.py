"""A real server of the OpenAI-compatible API, with a real model behind it."""

from pathlib import Path

import pytest

from taboo.judge.prompts import ask_about
from taboo.judge.provider import JudgeError, Reply
from taboo.judge.replies import Replies, reply_key
from taboo.judge.verdict import read_verdict
from tests.judge.endpoints import judge_at, sums
from tests.judge.injections import INJECTIONS

ITEM = {"question": "Tom has 7 apples and eats 4. How many are left?", "answer": "#### 3"}


def test_a_real_server_answers(served: str, smollm2_path: Path, tmp_path: Path) -> None:
    judge = judge_at("openai", served, model=str(smollm2_path), concurrency=2, timeout_s=60)
    questions = sums(4)
    replies: dict[str, Reply] = {}
    judge.ask(questions, replies.__setitem__)
    assert set(replies) == set(questions)
    for key, reply in replies.items():
        assert reply.model == str(smollm2_path)
        assert reply.finish in ("stop", "length")
        assert reply.input_tokens is not None
        assert reply.output_tokens is not None
        # No token is shorter than a byte, and the bound is kept.
        assert 50 < reply.input_tokens < len(questions[key].prompt.encode()) + 100
        assert 0 < reply.output_tokens <= 16
        assert judge.cost(questions[key].prompt, reply) <= judge.prices.most(questions[key].prompt)
    again: dict[str, Reply] = {}
    judge.ask({"key2": questions["key2"]}, again.__setitem__)
    assert again["key2"] == replies["key2"]
    store = Replies(tmp_path)
    key = reply_key(judge.identity, questions["key2"].prompt)
    store.put(key, judge.identity, questions["key2"].prompt, again["key2"])
    assert store.get(key) == replies["key2"]


def test_a_wrong_model_name_is_reported(served: str) -> None:
    with pytest.raises(JudgeError, match="no-such-model"):
        judge_at("openai", served, model="no-such-model").ask(sums(1), lambda *_: None)


def test_real_attempts_at_injection(served: str, smollm2_path: Path) -> None:
    """A gullible model repeats what it is told to say; none of it counts as a verdict of `right`."""
    judge = judge_at("openai", served, model=str(smollm2_path), timeout_s=60)
    attempts = INJECTIONS[1::2]
    questions = {str(i): ask_about("gsm8k", ITEM, text) for i, text in enumerate(attempts)}
    replies: dict[str, Reply] = {}
    judge.ask(questions, replies.__setitem__)
    assert len(replies) == len(attempts)
    for key, reply in replies.items():
        code = questions[key].code
        # What counts must hold the code, which the injected text could not.
        counts = read_verdict(reply.text, code) != "unparsed"
        assert counts == (reply.text.strip() in (f"{code} RIGHT", f"{code} WRONG"))
        assert code not in attempts[int(key)]
