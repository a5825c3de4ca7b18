"""Against Hugging Face `generate`: in float32 both engines give the same tokens on real prompts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from taboo.engine import Condition, Request
from taboo.engine.hf import HuggingFaceEngine
from taboo.engine.slots import SlotEngine
from tests.engine.conftest import FAMILIES, by_request


@pytest.mark.parametrize("name", FAMILIES)
def test_float32_equals_hugging_face_generate(
    name: str,
    engine: Callable[..., SlotEngine],
    requests_: list[Request],
    model_path: Callable[[str], Path],
) -> None:
    real = name in ("smollm2", "gemma")
    # Random weights make flat distributions, where a draw turns on the last bits of their sums.
    chosen = [
        r
        for r in requests_
        if (r.item_id in ("q0", "spain") if real else not r.condition.temperature)
    ]
    ours = by_request(list(engine(name, "fp32").generate(chosen)))
    theirs = by_request(
        list(HuggingFaceEngine(model_path(name), "fp32", slots=3, device="cpu").generate(chosen))
    )
    assert ours.keys() == theirs.keys()
    for key, expected in theirs.items():
        found = ours[key]
        assert replace(found, delta_s=()) == replace(expected, delta_s=()), key
        assert found.delta_s == pytest.approx(expected.delta_s, abs=2e-3)


def test_requests_are_refused_like_elsewhere(model_path: Callable[[str], Path]) -> None:
    reference = HuggingFaceEngine(model_path("olmo2"), device="cpu")
    with pytest.raises(ValueError, match="item long"):
        list(reference.generate([Request("long", "Hello", Condition(0, max_new_tokens=5000))]))
