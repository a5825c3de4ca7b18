"""The audit finds no difference where there is none, and says where there is one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from taboo.engine import Condition, Request
from taboo.engine.audit import Setting, compare, default_settings, noise_curve, run, step_margins
from taboo.engine.base import Generation
from taboo.engine.slots import SlotEngine
from taboo.stats.repro import noise, stability
from tests.engine.conftest import QUESTIONS, SHOTS

REQUESTS = [
    Request(
        f"q{i}", f"{SHOTS}\n\nQuestion: {q}\nAnswer:", Condition(rank, max_new_tokens=24), SHOTS
    )
    for i, q in enumerate(QUESTIONS)
    for rank in (0, 2)
]


def generation(ids: tuple[int, ...], delta: float = 0.5) -> Generation:
    n = len(ids)
    return Generation(
        "a", Condition(1), "", ids, ids, (delta,) * n, (True,) * n, str(ids), "length", 3
    )


def test_compare() -> None:
    same = compare(generation((1, 2, 3)), generation((1, 2, 3)))
    assert same == {
        "identical": True,
        "same_tokens": True,
        "same_text": True,
        "first_difference": None,
        "same_length": 3,
    }
    assert not compare(generation((1, 2)), generation((1, 2), 0.6))["identical"]
    other = compare(generation((1, 2, 3)), generation((1, 4, 3)))
    assert (other["first_difference"], other["same_length"]) == (1, 1)
    shorter = compare(generation((1, 2, 3)), generation((1, 2)))
    assert shorter["first_difference"] == 2


def test_settings_have_names_of_their_own() -> None:
    settings = default_settings("bf16") + default_settings("fp32")
    assert len({s.name for s in settings}) == len(settings)


def test_our_engine_is_bitwise_and_batches_of_generate_are_not(
    model_path: Callable[[str], Path],
) -> None:
    settings = [
        Setting(),
        Setting(order="alone", slots=1),
        Setting(order="shuffled", slots=4),
        Setting("hf", slots=8),
        Setting("hf", slots=1),
    ]
    rows = run(model_path("smollm2"), REQUESTS, settings, device="cpu")
    assert len(rows) == len(settings) * len(REQUESTS)
    answers = {
        (r["setting"], r["item_id"], r["condition"]): (r["text"].split()[-1:], True) for r in rows
    }
    table = stability(rows, answers).set_index("setting")
    ours = table[table["engine"] == "slots"]
    assert (ours[["identical", "same_tokens", "same_text", "same_answer"]] == 1).all().all()
    assert ours["median_first_difference"].isna().all()
    generate = table.loc["hf-bf16-x1"]
    assert generate["identical"] < 1
    if generate["same_tokens"] < 1:
        assert generate["median_margin_at_difference"] < generate["median_margin"]


def test_noise_turns_near_ties_first(engine: Callable[..., SlotEngine]) -> None:
    opened = engine("smollm2", "fp32")
    by_key = {(r.item_id, r.condition.name): r for r in REQUESTS}
    pairs = [(by_key[g.item_id, g.condition.name], g) for g in opened.generate(REQUESTS)]
    table = noise(noise_curve(opened, pairs, scales=(0.0, 1e-3, 0.3, 3.0)))
    changed = table["changed_steps"].tolist()
    assert changed[0] == 0
    assert changed == sorted(changed)
    assert 0 < changed[2] < changed[3] <= 1
    assert table["median_margin_changed"][2] < table["median_margin_kept"][2]
    assert table["changed_generations"][3] > 0.9


def test_margins_are_those_of_the_masked_logits(engine: Callable[..., SlotEngine]) -> None:
    opened = engine("smollm2", "fp32")
    (g,) = opened.generate(REQUESTS[1:2])
    margins = step_margins(opened, REQUESTS[1], g.token_ids)
    assert len(margins) == len(g.token_ids)
    assert min(margins) >= 0


def test_noise_needs_greedy_generations(engine: Callable[..., SlotEngine]) -> None:
    request = Request("a", "Hello", Condition(0, temperature=1.0, seed=0, max_new_tokens=3))
    opened = engine("qwen2")
    (g,) = opened.generate([request])
    with pytest.raises(ValueError, match=r"item a, .* greedy"):
        list(noise_curve(opened, [(request, g)]))
