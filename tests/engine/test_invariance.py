"""A generation depends on its request alone, bit for bit: ids, every ΔS, text and the rest."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taboo.engine import Request, open_engine
from taboo.engine.base import Generation
from taboo.engine.slots import SlotEngine
from tests.engine.conftest import FAMILIES, by_request

Engines = Callable[..., SlotEngine]


@pytest.fixture(scope="module")
def reference(engine: Engines, requests_: list[Request]) -> Callable[..., dict]:
    """All generations of one run with 16 slots, by model and precision."""
    known: dict[tuple[str, str], dict[tuple[str, str], Generation]] = {}

    def get(name: str, precision: str) -> dict[tuple[str, str], Generation]:
        if (name, precision) not in known:
            opened = engine(name, precision)
            opened.slots = 16
            known[name, precision] = by_request(list(opened.generate(requests_)))
        return known[name, precision]

    return get


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("name", FAMILIES)
def test_slots_and_order(
    name: str, precision: str, engine: Engines, reference: Callable, requests_: list[Request]
) -> None:
    expected = reference(name, precision)
    assert len(expected) == len(requests_)
    assert len({g.token_ids for g in expected.values()}) > len(requests_) // 2
    for slots in (1, 4, 40):
        opened = engine(name, precision)
        opened.slots = slots
        shuffled = random.Random(slots).sample(requests_, len(requests_) if slots > 1 else 6)
        for key, generation in by_request(list(opened.generate(shuffled))).items():
            assert generation == expected[key], (slots, key)


@given(data=st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_subset_in_any_order(
    data: st.DataObject, engine: Engines, reference: Callable, requests_: list[Request]
) -> None:
    name = data.draw(st.sampled_from(["qwen2", "olmo2", "gemma3_multimodal"]))
    precision = data.draw(st.sampled_from(["bf16", "fp32"]))
    chosen = data.draw(st.lists(st.sampled_from(requests_), min_size=1, unique=True))
    expected = reference(name, precision)
    opened = engine(name, precision)
    opened.slots = data.draw(st.integers(1, 12))
    for key, generation in by_request(list(opened.generate(chosen))).items():
        assert generation == expected[key]


def test_some_conditions_and_requests_from_a_generator(
    engine: Engines, reference: Callable, requests_: list[Request]
) -> None:
    expected = reference("smollm2", "bf16")
    some = (r for r in requests_ if r.condition.rank == 2)
    found = by_request(list(engine("smollm2").generate(some)))
    assert found == {key: expected[key] for key in found}
    assert len(found) == 12


def test_a_caller_may_stop_and_go_on_with_the_rest(
    engine: Engines, reference: Callable, requests_: list[Request]
) -> None:
    expected = reference("gemma", "bf16")
    opened = engine("gemma")
    opened.slots = 8
    running = opened.generate(requests_[:15])
    first = [next(running) for _ in range(4)]
    running.close()
    done = {(g.item_id, g.condition) for g in first}
    rest = [r for r in requests_[:15] if (r.item_id, r.condition) not in done]
    found = by_request([*first, *opened.generate(rest)])
    assert len(found) == 15
    assert found == {key: expected[key] for key in found}


def test_killed_process_and_resumed(
    engine: Engines,
    reference: Callable,
    requests_: list[Request],
    model_path: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import json, sys\n"
        "from taboo.engine import Condition, Request, open_engine\n"
        "requests = json.load(open(sys.argv[2]))\n"
        "requests = [Request(**{**r, 'condition': Condition(**r['condition'])}) for r in requests]\n"
        "for g in open_engine(sys.argv[1], slots=4, device='cpu').generate(requests):\n"
        "    print(json.dumps([g.item_id, g.condition.name, g.token_ids, g.delta_s]), flush=True)\n"
    )
    chosen = [r for r in requests_ if not r.condition.stop]
    wire = [asdict(r) for r in chosen]
    (tmp_path / "requests.json").write_text(json.dumps(wire))
    process = subprocess.Popen(
        [sys.executable, str(script), str(model_path("smollm2")), str(tmp_path / "requests.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stdout
    lines = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    expected = reference("smollm2", "bf16")
    for item, condition, ids, delta in lines:
        assert tuple(ids) == expected[item, condition].token_ids
        assert tuple(delta) == expected[item, condition].delta_s
    done = {(item, condition) for item, condition, *_ in lines}
    rest = [r for r in chosen if (r.item_id, r.condition.name) not in done]
    for key, generation in by_request(list(engine("smollm2").generate(rest))).items():
        assert generation == expected[key]


def test_threads_do_not_change_bits(
    engine: Engines, reference: Callable, requests_: list[Request]
) -> None:
    import torch

    expected = reference("smollm2", "bf16")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        found = by_request(list(engine("smollm2").generate(requests_[:10])))
    finally:
        torch.set_num_threads(threads)
    assert found == {key: expected[key] for key in found}


def test_a_prompt_longer_than_a_chunk(engine: Engines, model_path: Callable[[str], Path]) -> None:
    """Prefill in several chunks, with and without a prefix of more than one chunk."""
    from taboo.engine import Condition

    words = " ".join(f"word{i}" for i in range(180))
    condition = Condition(1, max_new_tokens=6)
    long = Request("long", words + " and then", condition)
    shared = Request("shared", words + " and then", condition, words)
    opened = open_engine(model_path("gemma"), slots=1, device="cpu")
    together = by_request(list(engine("gemma").generate([shared, long])))
    assert together["long", "taboo_i1"].n_prompt_tokens > 512
    for request in (long, shared):
        (alone,) = opened.generate([request])
        assert alone == together[request.item_id, "taboo_i1"]
