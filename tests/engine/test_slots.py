"""The slot engine's contract beside invariance: records, errors, memory, precisions, fixed shape."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from taboo.engine import Condition, Request, open_engine
from taboo.engine import slots as slots_module
from taboo.engine.progress import Progress
from taboo.engine.slots import SlotEngine
from taboo.files import sha256_text
from tests.engine.conftest import FAMILIES, QUESTIONS, SHOTS, by_request

Engines = Callable[..., SlotEngine]


@pytest.mark.parametrize("name", ["smollm2", "gemma"])
def test_what_a_generation_records(name: str, engine: Engines, requests_: list[Request]) -> None:
    opened = engine(name)
    by_key = {(r.item_id, r.condition.name): r for r in requests_}
    found = by_request(list(opened.generate(requests_)))
    assert found.keys() == by_key.keys()
    for key, g in found.items():
        condition = by_key[key].condition
        assert g.condition is condition
        assert g.prompt_sha256 == sha256_text(by_key[key].prompt)
        assert g.n_prompt_tokens == len(opened.tokens.encode(by_key[key].prompt))
        n = len(g.token_ids)
        assert n == len(g.nominal_ids) == len(g.delta_s) == len(g.intervened)
        assert 1 <= n <= condition.max_new_tokens
        for chosen, nominal, delta, masked in zip(
            g.token_ids, g.nominal_ids, g.delta_s, g.intervened, strict=True
        ):
            assert delta >= 0
            assert masked or delta == 0
            assert not masked or (chosen != nominal and condition.rank > 0)
            assert torch.tensor(delta, dtype=torch.float32).item() == delta
            assert condition.temperature or masked or chosen == nominal
        if g.finish_reason == "eos":
            assert g.token_ids[-1] in opened.eos
        elif g.finish_reason == "length":
            assert n == condition.max_new_tokens
        assert not any(stop in g.text for stop in condition.stop)
    reasons = {g.finish_reason for g in found.values()}
    assert {"length", "stop"} <= reasons
    assert any(any(g.intervened) for g in found.values() if g.condition.mode == "mid_word")


def test_the_mask_hits_word_starts_or_the_inside_of_words(engine: Engines) -> None:
    opened = engine("smollm2")
    prompt = f"{SHOTS}\n\nQuestion: {QUESTIONS[0]}\nAnswer:"
    modes = [Condition(3, max_new_tokens=30), Condition(3, mode="mid_word", max_new_tokens=30)]
    for g in opened.generate([Request("a", prompt, c, SHOTS) for c in modes]):
        wanted = 2 if g.condition.mode == "word_start" else 1
        kinds = [int(opened.kinds[i]) for i in g.nominal_ids]
        assert [kind == wanted for kind in kinds] == list(g.intervened)
        assert any(g.intervened)


def test_nan_raises_with_item_condition_and_step(model_path: Callable[[str], Path]) -> None:
    opened = open_engine(model_path("qwen2"), device="cpu")
    forward, calls = opened.forward, []

    def broken(*arguments: object, **options: object) -> torch.Tensor:
        logits = forward(*arguments, **options).clone()  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 3:
            logits[1] = torch.nan
        return logits

    opened.forward = broken  # type: ignore[method-assign, assignment]
    requests = [Request("a", "One two", Condition(r, max_new_tokens=5)) for r in (0, 2)]
    with pytest.raises(ValueError, match="item a, condition taboo_i2, step 2: NaN"):
        list(opened.generate(requests))


def test_refused_before_anything_is_generated(engine: Engines) -> None:
    opened = engine("qwen2")
    fine = Request("fine", "Hello", Condition(0, max_new_tokens=4))
    for bad, message in [
        (
            Request("long", "Hello", Condition(0, max_new_tokens=5000)),
            "item long: .*maximum length",
        ),
        (Request("rank", "Hello", Condition(49152)), "item rank: rank 49152 masks the whole"),
        (Request("split", "Extraordinary", Condition(0), "Extraord"), "item split: .*prefix"),
    ]:
        with pytest.raises(ValueError, match=message):
            next(opened.generate([fine, bad]))


def test_no_requests_no_generations(engine: Engines) -> None:
    assert list(engine("qwen2").generate(iter([]))) == []


def test_too_little_memory_says_which_number_to_lower(
    engine: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = engine("qwen2")
    request = Request("a", "Hello", Condition(0, max_new_tokens=4))
    monkeypatch.setattr(
        slots_module, "free_memory", lambda _: 2 * opened.shape.bytes_per_token * 64
    )
    with pytest.raises(MemoryError, match=r"lower slots .* or the budget of new tokens"):
        next(opened.generate([request]))


def test_slots_shrink_to_the_free_memory(
    engine: Engines, monkeypatch: pytest.MonkeyPatch, requests_: list[Request]
) -> None:
    opened = engine("qwen2")
    prompts = opened.tokens.prompts(requests_, 1000)
    per_slot = opened.shape.bytes_per_token * 64
    monkeypatch.setattr(slots_module, "free_memory", lambda _: 10 * per_slot / 0.6)
    assert opened.slots_for(prompts, 64) == 8
    monkeypatch.setattr(slots_module, "free_memory", lambda _: 10**15)
    assert opened.slots_for(prompts, 64) == 32  # 30 requests


@pytest.mark.parametrize("name", ["qwen2", "olmo2", "gemma3_multimodal"])
def test_a_step_of_fixed_shape_gives_the_same(
    name: str, engine: Engines, requests_: list[Request], model_path: Callable[[str], Path]
) -> None:
    """What runs on a GPU, less the capture: fixed rows and width, one prefix at a time."""
    expected = by_request(list(engine(name).generate(requests_)))
    opened = open_engine(model_path(name), slots=6, max_length=256, device="cpu")
    opened.fixed = True
    assert by_request(list(opened.generate(requests_))) == expected


@pytest.mark.parametrize("precision", ["nf4", "int8"])
def test_quantised_models_run(
    precision: str, model_path: Callable[[str], Path], requests_: list[Request]
) -> None:
    opened = open_engine(model_path("smollm2"), precision, slots=4, device="cpu")
    chosen = [r for r in requests_ if r.condition.rank == 2][:4]
    first = by_request(list(opened.generate(chosen)))
    assert all(any(g.intervened) for g in first.values())
    assert by_request(list(opened.generate(chosen))) == first
    if precision == "nf4":
        opened.slots = 1
        assert by_request(list(opened.generate(chosen[::-1]))) == first


@pytest.mark.parametrize("name", FAMILIES)
def test_step_logits_are_those_of_the_generation(name: str, engine: Engines) -> None:
    opened = engine(name, "fp32")
    request = Request(
        "a", f"{SHOTS}\n\nQuestion: {QUESTIONS[1]}\nAnswer:", Condition(0, max_new_tokens=8), SHOTS
    )
    (g,) = opened.generate([request])
    logits = opened.step_logits(request, g.token_ids)
    assert logits.shape == (len(g.token_ids), len(opened.kinds))
    present = logits.index_fill(-1, opened.absent, -torch.inf)
    assert present.argmax(-1).tolist() == list(g.nominal_ids)


def test_throughput_is_counted(engine: Engines, requests_: list[Request]) -> None:
    opened = engine("olmo2")
    generations = list(opened.generate(requests_))
    counted = opened.throughput
    assert counted.requests == len(requests_)
    assert counted.tokens == sum(len(g.token_ids) for g in generations)
    assert counted.prefill_seconds > 0
    assert counted.decode_seconds > 0
    assert counted.steps > 0


def test_progress_is_a_line_in_a_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taboo.engine.progress.LOG_SECONDS", 0.0)
    with caplog.at_level(logging.INFO), Progress(10, True) as progress:
        progress.update(5, 1000)
    assert "5 of 10 generations" in caplog.text
    with caplog.at_level(logging.INFO), Progress(10, False) as silent:
        silent.update(6, 1000)
    assert "6 of 10" not in caplog.text
