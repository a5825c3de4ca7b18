"""The controls: precision, mid-word masking, temperature, instructions, failure modes."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from taboo.conditions import Condition
from taboo.scoring.ifeval import score_text
from taboo.stats import (
    ANALYSES,
    constraints,
    failures,
    load_analysis,
    midword,
    precision,
    temperature,
)
from taboo.stats.constraints import instruction_verdicts
from taboo.stats.csvfile import csv_text, read_csv, write_csv
from taboo.stats.failure_modes import FAILURE_MODES
from taboo.stats.tables import cell_table
from tests.synthetic_paper import (
    Cell,
    Model,
    demo_items,
    forbidden_words_cells,
    items_of,
    midword_cells,
    precision_cells,
    table,
    temperature_cells,
    with_baseline,
)

BASE, INSTRUCT = Model("x-7b", "x", 7, "base"), Model("x-7b-instruct", "x", 7, "instruct")


def run(module, items, **options):
    return module.run(items, cell_table(items), options)


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_is_found_runs_on_the_demo_and_is_written_exactly(name, tmp_path):
    rows = (
        run(load_analysis(name), demo_items(), replicates=50)
        if name == "dose_match"
        else run(load_analysis(name), demo_items())
    )
    assert list(rows.columns[-2:]) == ["estimable", "reason"]
    assert (rows["reason"] == "").equals(rows["estimable"])
    write_csv(tmp_path / "rows.csv", rows)
    assert csv_text(read_csv(tmp_path / "rows.csv")) == csv_text(rows)


def test_an_unknown_analysis_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown analysis 'anova', known are tests, gaps"):
        load_analysis("anova")


def test_precision_counts_the_papers_fifty_cells():
    items = table(precision_cells())
    rows = run(precision, items[items["study"] == "precision"])
    cells, summary = rows[rows["level"] == "cell"], rows[rows["level"] == "summary"].iloc[0]
    assert (summary["n_cells"], summary["n_within"]) == (50, 47)
    assert summary["median_absolute_difference"] == pytest.approx(0.03)
    assert summary["largest_absolute_difference"] == pytest.approx(0.18)
    outliers = cells[~cells["within"].astype(bool)]
    assert len(outliers) == 3
    worst = outliers.sort_values("difference").iloc[0]
    assert (worst["model"], worst["rank"]) == ("qwen2.5-14b-instruct", 2)
    assert (worst["accuracy"], worst["reference_accuracy"]) == (0.44, 0.62)
    at_the_limit = cells[np.isclose(cells["difference"].abs(), 0.07)]
    assert len(at_the_limit)
    assert at_the_limit["within"].all()


def test_the_eight_bit_check_has_its_own_summary():
    items = table(precision_cells())
    rows = run(precision, items[items["study"] == "int8_check"])
    summary = rows[rows["level"] == "summary"].set_index("precision")
    assert summary.loc["int8", "largest_absolute_difference"] == pytest.approx(0.04)
    assert summary.loc["nf4", "largest_absolute_difference"] == pytest.approx(0.18)


def test_precisions_are_compared_over_shared_items_alone():
    cells = [c for c in precision_cells() if c.model.name == "qwen2.5-3b" and not c.condition.rank]
    items = table(cells)
    short = items[(items["precision"] == "bf16") | (items["position"] < 30)]
    row = run(precision, short).iloc[0]
    assert row["n"] == 30
    lone = run(precision, items[items["precision"] == "nf4"])
    assert set(lone["reason"]) == {
        "the cell was not run in bf16",
        "no cell was run both in nf4 and in bf16",
    }


def test_midword_collapses_where_word_starts_do_not():
    rows = run(midword, table(midword_cells())).set_index("model")
    assert rows["mid_word"].between(0.01, 0.05).all()
    gemma = rows.loc["gemma-3-12b-instruct"]
    assert (gemma["word_start"], gemma["mid_word"], gemma["baseline"]) == (0.81, 0.01, 0.9)
    assert gemma["difference"] == pytest.approx(-0.8)
    assert gemma["p_holm"] < 1e-20
    assert gemma["mid_word_delta_s"] < gemma["word_start_delta_s"]


def test_midword_without_its_counterpart_says_so():
    items = table(midword_cells())
    items = items[(items["mode"] == "mid_word") | (items["rank"] == 0)]
    rows = run(midword, items)
    assert set(rows["reason"]) == {"the word-start condition of this rank was not run"}
    assert rows["mid_word"].notna().all()


def test_temperature_summarises_seeds_against_their_own_baselines():
    kept = {0: 20, 1: 30, 2: 40}
    cells = []
    for model, more in ((BASE, 0), (INSTRUCT, 8)):
        for seed, count in kept.items():
            condition = Condition(1, temperature=0.7, seed=seed)
            cell = Cell("s", model, "gsm8k", condition, 100, 80, count + more * (seed + 1))
            cells += with_baseline([cell])
    rows = run(temperature, table(cells))
    base = rows[rows["model"] == "x-7b"].iloc[0]
    assert base["mean"] == pytest.approx(0.375)
    assert base["sd"] == pytest.approx(0.125)
    assert (base["minimum"], base["maximum"], base["n_seeds"]) == (0.25, 0.5, 3)
    gap = rows[rows["quantity"] == "gap"].iloc[0]
    assert gap["mean"] == pytest.approx(0.2)
    assert gap["sd"] == pytest.approx(0.1)


def test_one_seed_has_a_mean_and_no_spread_and_an_empty_baseline_neither():
    condition = Condition(1, temperature=0.7, seed=0)
    one = with_baseline([Cell("s", BASE, "gsm8k", condition, 100, 80, 20)])
    none = with_baseline([Cell("s", INSTRUCT, "gsm8k", condition, 100, 0, 0)])
    rows = run(temperature, table([*one, *none])).set_index("model")
    assert rows.loc["x-7b", "mean"] == 0.25
    assert np.isnan(rows.loc["x-7b", "sd"])
    assert rows.loc["x-7b-instruct", "reason"] == "no item is right at baseline"
    assert not rows.loc["x-7b-instruct - x-7b", "estimable"]


def test_greedy_cells_are_no_temperature_study():
    assert run(temperature, demo_items()).empty
    items = table([cell for cell in temperature_cells() if cell.model.name == "gemma-3-12b"])
    rows = run(temperature, items)
    at = rows[(rows["temperature"] == 0.7) & (rows["rank"] == 1)].iloc[0]
    assert at["mean"] == pytest.approx(0.41, abs=0.01)


def test_forbidden_words_change_as_in_the_paper():
    rows = run(constraints, table(forbidden_words_cells()))
    words = rows[rows["instruction"] == "keywords:forbidden_words"]
    assert words["difference"].tolist() == pytest.approx([0, 0.04, 0.12, 0.2])
    assert set(words["n"]) == {25}
    last = words.iloc[-1]
    assert (last["n_lost"], last["n_gained"], last["p_value"]) == (0, 5, 0.0625)


def test_instructions_are_counted_one_by_one_and_by_type():
    def details(*verdicts):
        kinds = ["keywords:existence", "length_constraints:number_words", "keywords:existence"]
        return json.dumps({"instructions": kinds, "strict": verdicts})

    start = Cell("s", INSTRUCT, "ifeval", Condition(0), 2, 1, 1)
    before = replace(start, details=(details(True, True, False), details(True, False, True)))
    after = replace(
        start,
        condition=Condition(1),
        details=(details(False, True, True), details(True, True, True)),
    )
    rows = run(constraints, table([before, after])).set_index("instruction")
    existence = rows.loc["keywords:existence"]
    assert (existence["n"], existence["baseline"], existence["taboo"]) == (4, 0.75, 0.75)
    assert (existence["n_lost"], existence["n_gained"]) == (1, 1)
    assert rows.loc["all", "n"] == 6
    some = run(constraints, table([before, after]), instructions=["startend:quotation"])
    assert some["reason"].tolist() == ["no item has this instruction"]
    lone = run(constraints, table([after]))
    assert set(lone["reason"]) == {"the baseline was not run"}


def test_the_details_of_a_real_score_are_read():
    item = {
        "instruction_id_list": ["keywords:forbidden_words", "keywords:existence"],
        "kwargs": [{"forbidden_words": ["sun"]}, {"keywords": ["rain"]}],
    }
    verdict = score_text(item, "The sun after the rain.")
    read = instruction_verdicts(json.dumps(verdict.details))
    assert read == [("keywords:forbidden_words", False), ("keywords:existence", True)]


def test_details_of_another_task_are_refused():
    with pytest.raises(ValueError, match="need `instructions` and `strict`"):
        instruction_verdicts('{"strict": true}')


def test_failure_rates_add_up():
    cell = Cell(
        "s", INSTRUCT, "gsm8k", Condition(1), 100, 76, 12,
        failures=(("derailment", 30), ("repetition_loop", 20), ("truncation", 4)),
    )  # fmt: skip
    rows = run(failures, table(with_baseline([cell]))).set_index("failure")
    assert list(rows.index) == list(FAILURE_MODES)
    assert set(rows["n_failed"]) == {64}
    assert rows["count"].to_dict() == {
        "derailment": 30,
        "repetition_loop": 20,
        "wrong_answer": 10,
        "truncation": 4,
        "other": 0,
    }
    assert rows["rate"].sum() == pytest.approx(1)
    assert ((rows["low"] <= rows["rate"]) & (rows["rate"] <= rows["high"])).all()


@pytest.mark.parametrize(
    ("right", "kept", "reason"),
    [(76, 76, "no item fails"), (0, 0, "no item is right at baseline")],
)
def test_nothing_to_classify_is_not_estimable(right, kept, reason):
    cells = with_baseline([Cell("s", INSTRUCT, "gsm8k", Condition(1), 100, right, kept)])
    assert set(run(failures, table(cells))["reason"]) == {reason}
    lone = items_of(cells[1]).assign(baseline_correct=pd.array([pd.NA] * 100, "boolean"))
    assert set(run(failures, lone)["reason"]) == {"the baseline was not run"}
