"""Remote judges against an endpoint that misbehaves, in both formats, through the real clients."""

import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from taboo.judge.provider import JudgeError, Reply
from taboo.judge.remote import Patience
from tests.judge.endpoints import KEY, judge_at, sums
from tests.judge.fault_server import MODEL, FaultServer

PROVIDERS = ("openai", "gemini")
pytestmark = pytest.mark.parametrize("provider", PROVIDERS)


def asked(judge: Any, questions: Any) -> dict[str, Reply]:
    replies: dict[str, Reply] = {}
    judge.ask(questions, replies.__setitem__)
    return replies


def test_a_reply_has_text_model_usage_and_the_request_its_bounds(
    provider: str, fault_server: FaultServer
) -> None:
    questions = sums(1)
    (reply,) = asked(judge_at(provider, fault_server.address), questions).values()
    code = questions["key0"].code
    assert (reply.text, reply.model) == (f"{code} RIGHT", MODEL)
    assert (reply.input_tokens, reply.output_tokens) == (100, 5)
    ((headers, body),) = fault_server.seen
    if provider == "openai":
        assert (body["temperature"], body["max_tokens"], body["model"]) == (0, 16, MODEL)
        assert body["messages"] == [{"role": "user", "content": questions["key0"].prompt}]
        assert headers["authorization"] == f"Bearer {KEY}"
    else:
        made = body["generationConfig"]
        assert (made["temperature"], made["maxOutputTokens"]) == (0, 16)
        assert made["thinkingConfig"] == {"thinking_level": "MINIMAL"}
        assert body["contents"][0]["parts"][0]["text"] == questions["key0"].prompt
        assert headers["x-goog-api-key"] == KEY


def test_a_temperature_of_null_is_left_out(provider: str, fault_server: FaultServer) -> None:
    asked(judge_at(provider, fault_server.address, temperature=None, thinking=None), sums(1))
    ((_, body),) = fault_server.seen
    sent = body.get("generationConfig", body)
    assert "temperature" not in sent
    assert "thinkingConfig" not in sent


@pytest.mark.parametrize(
    "fault",
    [429, 500, 503, 408, "cut", "no answer", "bad json", "web page", "another shape"],
)
def test_a_passing_fault_is_outlived(provider: str, fault: Any, fault_server: FaultServer) -> None:
    fault_server.steps.extend([fault, fault])
    questions = sums(1)
    replies = asked(judge_at(provider, fault_server.address), questions)
    assert replies["key0"].text == f"{questions['key0'].code} RIGHT"
    assert len(fault_server.seen) == 3


@pytest.mark.parametrize("fault", ["slow", "drip"])
def test_a_slow_answer_is_given_up(provider: str, fault: str, fault_server: FaultServer) -> None:
    fault_server.steps.append(fault)
    judge = judge_at(provider, fault_server.address, Patience(1, 1.0, 2, 0.01, 0.1))
    assert asked(judge, sums(1))["key0"].text.endswith("RIGHT")
    fault_server.steps.append(fault)
    judge.patience = Patience(1, 0.3, attempts=1)
    with pytest.raises(JudgeError, match=r"timeout_s = 0.3 s \(attempts: 1\)"):
        asked(judge, sums(1))


@pytest.mark.parametrize("fault", [429, 500, "cut", "bad json", "web page"])
def test_a_lasting_fault_ends_with_an_error_and_keeps_what_was_answered(
    provider: str, fault: Any, fault_server: FaultServer
) -> None:
    fault_server.steps.extend([None, *[fault] * 20])
    replies: dict[str, Reply] = {}
    judge = judge_at(provider, fault_server.address, concurrency=1)
    with pytest.raises(JudgeError, match="attempts: 3"):
        judge.ask(sums(3), replies.__setitem__)
    assert list(replies) == ["key0"]
    assert len(fault_server.seen) == 4


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (400, "refused the request"),
        (401, "refused the key"),
        (403, "refused the key"),
        (404, "judge.model"),
        ("other model", "answered as 'another-model'"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(
    provider: str, fault: Any, says: str, fault_server: FaultServer
) -> None:
    fault_server.steps.append(fault)
    with pytest.raises(JudgeError, match=says):
        asked(judge_at(provider, fault_server.address), sums(1))
    assert len(fault_server.seen) == 1


def test_the_server_says_how_long_to_wait(provider: str, fault_server: FaultServer) -> None:
    judge = judge_at(provider, fault_server.address)
    waits: list[float] = []
    wait: Callable[[int, float], float] = judge.patience.wait
    object.__setattr__(
        judge.patience, "wait", lambda attempt, asked_s: waits.append(asked_s) or wait(attempt, 0)
    )
    fault_server.steps.append(429)
    asked(judge, sums(1))
    assert waits == [0.2]


def test_never_more_at_once_than_allowed(provider: str, fault_server: FaultServer) -> None:
    fault_server.pause_s = 0.1
    replies = asked(judge_at(provider, fault_server.address, concurrency=3), sums(12))
    assert len(replies) == 12
    assert fault_server.most_at_once == 3


def test_no_server_at_all_is_an_error(provider: str, fault_server: FaultServer) -> None:
    judge = judge_at(provider, "http://127.0.0.1:9")
    with pytest.raises(JudgeError, match="connection"):
        asked(judge, sums(1))


def test_the_ceiling_stops_before_it_is_passed(provider: str, fault_server: FaultServer) -> None:
    questions = sums(12)
    judge = judge_at(provider, fault_server.address)
    most = max(judge.prices.most(question.prompt) for question in questions.values())
    each = judge.cost("", Reply("", "", "", 100, 5))
    judge.ceiling = 5 * each + most
    replies: dict[str, Reply] = {}
    with pytest.raises(JudgeError, match="ceiling"):
        judge.ask(questions, replies.__setitem__)
    # Requests under way are waited for rather than counted at their worst, so five or six fit.
    assert 5 <= len(replies) <= 6
    assert len(fault_server.seen) == len(replies)
    assert len(replies) * each <= judge.ceiling


def test_what_was_spent_before_counts(provider: str, fault_server: FaultServer) -> None:
    judge = judge_at(provider, fault_server.address, max_cost_usd=0.5)
    with pytest.raises(JudgeError, match=r"0\.4999 USD are spent"):
        judge.ask(sums(1), lambda *_: None, 0.4999)
    assert not fault_server.seen


def test_an_attempt_that_may_have_been_charged_counts_in_full(
    provider: str, fault_server: FaultServer
) -> None:
    judge = judge_at(provider, fault_server.address)
    judge.ceiling = 1.5 * judge.prices.most(sums(1)["key0"].prompt)
    fault_server.steps.append("bad json")
    with pytest.raises(JudgeError, match="ceiling"):
        asked(judge, sums(1))
    assert len(fault_server.seen) == 1


def test_without_usage_the_worst_is_assumed(provider: str, fault_server: FaultServer) -> None:
    fault_server.steps.append("no usage")
    judge, questions = judge_at(provider, fault_server.address), sums(1)
    (reply,) = asked(judge, questions).values()
    prompt = questions["key0"].prompt
    assert (reply.input_tokens, reply.output_tokens) == (None, None)
    assert judge.cost(prompt, reply) == judge.prices.most(prompt)


FAULTS = (400, 401, 403, 404, 429, 500, "cut", "bad json", "web page", "another shape", "echo key")


@pytest.mark.parametrize("fault", FAULTS)
def test_no_key_in_errors_replies_or_logs(
    provider: str,
    fault: Any,
    fault_server: FaultServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fault_server.steps.extend([fault] * 3)
    written = ""
    with caplog.at_level(logging.DEBUG):
        try:
            replies = asked(judge_at(provider, fault_server.address), sums(1))
            written += repr(replies)
        except JudgeError as error:
            written += "".join(traceback.format_exception(error))
    written += caplog.text + "".join(capfd.readouterr())
    assert written
    assert KEY not in written
    # Nor a part of it that a cut message might end in.
    assert KEY[:12] not in written


def test_an_identity_has_neither_key_nor_address(provider: str, fault_server: FaultServer) -> None:
    first = judge_at(provider, fault_server.address).identity
    assert first == judge_at(provider, "http://127.0.0.1:9").identity
    assert KEY not in repr(first)
    assert fault_server.address not in repr(first)
    changes = [{"model": "x"}, {"max_new_tokens": 17}, {"temperature": None}]
    changes += [{"served_by": "x"}] if provider == "openai" else [{"thinking": "low"}]
    for change in changes:
        assert judge_at(provider, fault_server.address, **change).identity != first


def test_a_key_with_a_line_break_behind_it_works(provider: str, fault_server: FaultServer) -> None:
    judge = judge_at(provider, fault_server.address, key=f" {KEY}\n")
    asked(judge, sums(1))
    ((headers, _),) = fault_server.seen
    assert headers.get("x-goog-api-key", headers.get("authorization")) in (KEY, f"Bearer {KEY}")


@pytest.mark.parametrize("key", ["sk two words", "sk-\u2026", "sk-\x00"])
def test_what_cannot_be_a_key_is_refused_without_quoting_it(
    provider: str, key: str, fault_server: FaultServer
) -> None:
    with pytest.raises(JudgeError, match=r"_API_KEY holds spaces or other") as error:
        judge_at(provider, fault_server.address, key=key)
    assert key not in str(error.value)
