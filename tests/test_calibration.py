"""Speeds of cards: read, interpolated, and taken over from runs."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from taboo.calibration import (
    Calibration,
    CalibrationError,
    Measured,
    Run,
    Speeds,
    calibrated,
    load_calibration,
    runs_of,
    save_calibration,
)
from taboo.config import complete
from taboo.plan import Cell
from tests.results_folder import Results
from tests.test_config import ROOT, SCHEMA, SMALL

CARD = Speeds(80, ("A card",), {"bf16": {1: 1000, 4: 500, 16: 100}})
SHARES = {"base": 0.9, "instruct": 0.5}


def one_run(tokens, seconds, size_b=4.0, device="A card", alignment="base", budget=1000):
    return Run(device, "bf16", size_b, alignment, 10, tokens, budget, seconds)


def test_the_shipped_file_has_the_cards_of_the_paper_and_every_precision():
    calibration = load_calibration(ROOT / "calibration.yaml")
    memory = {name: card.memory_gb for name, card in calibration.cards.items()}
    assert memory == {"A100-40": 40, "A100-80": 80, "H100": 80, "H200": 141, "CPU": None}
    for card in calibration.cards.values():
        for precision in ("nf4", "bf16", "int8", "fp32"):
            assert card.tokens_per_s(precision, 7.6) > 0


def test_speeds_between_and_beyond_known_sizes():
    assert CARD.tokens_per_s("bf16", 4) == pytest.approx(500)
    assert CARD.tokens_per_s("bf16", 2) == pytest.approx(math.sqrt(1000 * 500))
    assert CARD.tokens_per_s("bf16", 0.1) == 1000
    assert CARD.tokens_per_s("bf16", 32) == 50
    with pytest.raises(CalibrationError, match="A card has no speed for precision int8"):
        CARD.tokens_per_s("int8", 1)


@given(st.floats(0.1, 100), st.floats(0.1, 100))
def test_a_larger_model_is_never_faster(first, second):
    small, large = sorted((first, second))
    assert CARD.tokens_per_s("bf16", small) >= CARD.tokens_per_s("bf16", large) * (1 - 1e-12)


def test_runs_replace_estimates_and_count_by_their_tokens():
    calibration = Calibration({"A": CARD}, SHARES)
    runs = [one_run(300, 1.0), one_run(100, 1.0), one_run(0, 0.0), one_run(90, 1.0, 8.0)]
    card = calibrated(calibration, runs).cards["A"]
    assert card.measured == {"bf16": {4.0: Measured(200.0, 400), 8.0: Measured(90.0, 90)}}
    assert card.tokens_per_s("bf16", 1) == 200
    assert card.is_measured("bf16")
    assert not card.is_measured("nf4")
    later = calibrated(Calibration({"A": card}, SHARES), [one_run(500, 1.0)]).cards["A"]
    assert later.measured["bf16"][4.0] == Measured(500.0, 500)
    assert later.measured["bf16"][8.0] == Measured(90.0, 90)


def test_runs_give_the_share_of_the_budget():
    used = {"base": [1000, 2000], "instruct": [9000]}
    runs = [
        one_run(tokens, 1.0, alignment=alignment, budget=10_000)
        for alignment, all_tokens in used.items()
        for tokens in all_tokens
    ]
    calibration = calibrated(Calibration({"A": CARD}, SHARES), runs)
    assert calibration.budget_share == {"base": 0.15, "instruct": 0.9}
    assert calibrated(calibration, runs[:1]).budget_share == {"base": 0.1, "instruct": 0.9}


def test_short_budgets_say_nothing_of_the_share_of_long_ones():
    run = one_run(999, 1.0, budget=1000)
    calibration = calibrated(Calibration({"A": CARD}, SHARES), [run])
    assert calibration.budget_share == SHARES
    assert calibration.cards["A"].tokens_per_s("bf16", 4.0) == 999


def test_an_unknown_device_is_named():
    with pytest.raises(CalibrationError, match="NVIDIA L40S is a device of no card: add it"):
        calibrated(Calibration({"A": CARD}, SHARES), [one_run(1, 1.0, device="NVIDIA L40S")])


def test_saved_is_what_is_loaded_and_the_comment_stays(tmp_path):
    path = tmp_path / "calibration.yaml"
    path.write_text((ROOT / "calibration.yaml").read_text())
    head = path.read_text().split("budget_share:", 1)[0]
    run = Run("NVIDIA H200", "nf4", 7.62, "base", 10, 5000, 6000, 2.5)
    changed = calibrated(load_calibration(path), [run])
    assert load_calibration(save_calibration(path, changed)) == changed
    assert path.read_text().startswith(head.splitlines()[0])
    assert load_calibration(path).cards["H200"].tokens_per_s("nf4", 7.62) == 2000.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("cards"), "needs `cards`"),
        (lambda data: data["budget_share"].pop("base"), "budget_share"),
        (lambda data: data["budget_share"].update(base=1.5), r"budget_share.base is 1.5"),
        (lambda data: data["cards"]["H200"].pop("devices"), r"cards.H200 needs memory_gb, devices"),
        (lambda data: data["cards"]["H200"].update(devices=[]), r"cards.H200 needs a device"),
        (lambda data: data["cards"]["H100"].update(estimate={"nf4": {7: 0}}), "speeds above 0"),
        (
            lambda data: data["cards"]["H100"].update(estimate={"nf4": {7: "x"}}),
            r"cards.H100 needs",
        ),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, change, message):
    data = yaml.safe_load((ROOT / "calibration.yaml").read_text())
    change(data)
    path = tmp_path / "calibration.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(CalibrationError, match=message) as error:
        load_calibration(path)
    assert str(path) in str(error.value)


def test_runs_are_read_from_records_once_per_job(tmp_path):
    config = complete({**SMALL, "results": str(tmp_path / "results")}, SCHEMA)
    results = Results(config, "now")
    done = {"items": 6, "tokens": 40, "budget": 48, "seconds": 2.0}
    for name in ("baseline", "taboo_i1"):
        cell = Cell("tiny", "bf16", "gsm8k", name)
        results.cell(cell, 3, generated=done, gpu={"name": "NVIDIA H200"}, started=5.0)
    nothing = {**done, "tokens": 0}
    results.cell(Cell("tiny", "nf4", "gsm8k", "baseline"), 3, generated=nothing, started=6.0)
    results.cell(Cell("tiny", "fp32", "gsm8k", "baseline"), 3, generated=done, started=7.0)
    results.cell(Cell("gone", "bf16", "gsm8k", "baseline"), 3, generated=done, started=8.0)
    assert sorted(runs_of(config), key=lambda run: run.precision) == [
        Run("NVIDIA H200", "bf16", 0.1, "base", 6, 40, 48, 2.0),
        Run("CPU", "fp32", 0.1, "base", 6, 40, 48, 2.0),
    ]
