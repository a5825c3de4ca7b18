from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from taboo.conditions import Condition
from taboo.stats.tables import (
    CELL_COLUMNS,
    ITEM_COLUMNS,
    CellInput,
    cell_table,
    item_table,
    read_cells,
    write_cells,
)
from tests.synthetic_paper import demo_items


def make_cell(condition, correct, *, tokens=None, reasons=None, bits=None, **changes):
    """A cell of three tokens per item, of which the first two are interventions of 1 and 3 bits."""
    n = len(correct)
    masked = condition.rank > 0
    cell = pd.DataFrame(
        {
            "item_id": [f"t/{index}" for index in range(n)],
            "prompt_sha256": ["0"] * n,
            "token_ids": tokens or [np.array([5, 6, 7])] * n,
            "nominal_ids": tokens or [np.array([5, 6, 7])] * n,
            "delta_s": bits or [np.array([1.0, 3.0, 0.0] if masked else [0.0] * 3)] * n,
            "intervened": [np.array([True, True, False] if masked else [False] * 3)] * n,
            "text": ["one two"] * n,
            "finish_reason": reasons or ["eos"] * n,
            "n_prompt_tokens": [4] * n,
        }
    )
    scores = pd.DataFrame(
        {
            "item_id": cell["item_id"],
            "correct": correct,
            "outcome": ["correct" if one else "wrong" for one in correct],
            "extracted": ["1"] * n,
            "rule": ["answer_line"] * n,
            "details": ["{}"] * n,
        }
    )
    made = CellInput("demo", "m", "f", 0.135, "base", "bf16", "gsm8k", condition, cell, scores)
    return replace(made, **changes)


BASELINE = make_cell(Condition(0), [True, True, False, False])


def row(cells, condition):
    found = cells[cells["condition"] == condition]
    assert len(found) == 1
    return found.iloc[0]


def test_the_numbers_of_a_cell():
    long = [np.array([1, 2, 3, 4, 5, 6])] * 4
    zeros = [np.array([1.0, 3.0, 0, 0, 0, 0])] * 4
    taboo = make_cell(Condition(2), [True, False, True, False], tokens=long, bits=zeros)
    flags = [np.array([True, True, False, False, False, False])] * 4
    taboo = replace(
        taboo, cell=taboo.cell.assign(intervened=flags, finish_reason=["length", *["eos"] * 3])
    )
    items = item_table([BASELINE, taboo])
    assert list(items.columns) == ITEM_COLUMNS
    cells = cell_table(items)
    assert list(cells.columns) == CELL_COLUMNS
    cell = row(cells, "taboo_i2")
    expected = {
        "n": 4,
        "n_correct": 2,
        "accuracy": 0.5,
        "n_baseline_correct": 2,
        "n_retained": 1,
        "retention": 0.5,
        "marginal_retention": 1.0,
        "n_baseline_wrong": 2,
        "n_recovered": 1,
        "recovery": 0.5,
        "interventions": 2.0,
        "interventions_per_token": 2 / 6,
        "delta_s_per_intervention": 2.0,
        "delta_s_total": 4.0,
        "delta_s_per_word": 2.0,
        "tokens": 6.0,
        "length_expansion": 2.0,
        "truncation_rate": 0.25,
        "repetition_rate": 0.0,
    }
    for column, value in expected.items():
        assert cell[column] == pytest.approx(value), column
    assert cell["retention_low"] < 0.5 < cell["retention_high"]


def test_a_baseline_is_not_compared_with_itself():
    cell = row(cell_table(item_table([BASELINE])), "baseline")
    assert (cell["n_baseline_correct"], cell["n_baseline_wrong"], cell["accuracy"]) == (2, 2, 0.5)
    for column in ("retention", "marginal_retention", "recovery", "length_expansion"):
        assert pd.isna(cell[column]), column
    assert pd.isna(cell["delta_s_per_intervention"])
    assert cell["delta_s_total"] == 0


def test_each_condition_has_the_baseline_of_its_own_decoding():
    conditions = [
        Condition(0),
        Condition(0, temperature=0.7, seed=0),
        Condition(0, temperature=0.7, seed=1),
        Condition(0, max_new_tokens=1024, named_budget=True),
    ]
    rights = [
        [True] * 4,
        [True, False, False, False],
        [True, True, False, False],
        [True] * 3 + [False],
    ]
    cells = []
    for condition, right in zip(conditions, rights, strict=True):
        cells.append(make_cell(condition, right))
        cells.append(make_cell(replace(condition, rank=1), [True] * 4))
    table = cell_table(item_table(cells))
    doses = table[table["rank"] == 1]
    assert list(doses["n_baseline_correct"]) == [4, 1, 2, 3]
    assert list(doses["n_recovered"]) == [0, 3, 2, 1]
    midword = make_cell(Condition(2, mode="mid_word"), [False] * 4)
    assert row(cell_table(item_table([BASELINE, midword])), "midword_i2")["n_baseline_correct"] == 2


def test_without_a_baseline_nothing_is_compared():
    cell = row(cell_table(item_table([make_cell(Condition(1), [True, False])])), "taboo_i1")
    assert cell["accuracy"] == 0.5
    for column in ("n_baseline_correct", "retention", "retention_low", "marginal_retention"):
        assert pd.isna(cell[column]), column


def test_a_baseline_without_a_right_answer_gives_no_quotient():
    wrong = make_cell(Condition(0), [False, False])
    cell = row(cell_table(item_table([wrong, make_cell(Condition(1), [True, False])])), "taboo_i1")
    assert (cell["n_baseline_correct"], cell["n_recovered"], cell["recovery"]) == (0, 1, 0.5)
    assert pd.isna(cell["retention"])
    assert pd.isna(cell["marginal_retention"])


def test_studies_are_kept_apart():
    small = [replace(BASELINE, study="ladder"), make_cell(Condition(1), [True] * 4, study="ladder")]
    items = item_table([BASELINE, make_cell(Condition(1), [False] * 4), *small])
    table = cell_table(items)
    assert list(table.loc[table["rank"] == 1, "retention"]) == [0.0, 1.0]


def test_loops_are_found_before_the_end_token():
    loop = [9, *[1, 2, 3] * 12]
    tokens = [np.array([*loop, 0]), np.array([*loop, 0]), np.array(loop), np.array([1, 2, 3])]
    cell = make_cell(Condition(0), [True] * 4, reasons=["eos", "length", "length", "eos"])
    cell = replace(cell, cell=cell.cell.assign(token_ids=tokens))
    items = item_table([cell])
    assert list(items["repetition"]) == [True, False, True, False]
    assert list(items["tokens"]) == [38, 38, 37, 3]


def test_only_items_right_at_baseline_and_wrong_under_taboo_have_a_failure():
    items = item_table([BASELINE, make_cell(Condition(1), [True, False, True, False])])
    assert list(items["failure"]) == ["", "", "", "", "", "wrong_answer", "", ""]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([BASELINE, BASELINE], "m/bf16/gsm8k/baseline occurs twice in study demo"),
        (
            [BASELINE, make_cell(Condition(1), [True] * 3)],
            "m/bf16/gsm8k/taboo_i1 and m/bf16/gsm8k/baseline have different items",
        ),
        (
            [replace(BASELINE, scores=BASELINE.scores.iloc[::-1])],
            "m/bf16/gsm8k/baseline: the score file has other items",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused_by_name(cells, words):
    with pytest.raises(ValueError, match=words):
        item_table(cells)


def test_a_written_table_is_read_back_whole_and_gives_the_same_bytes(tmp_path):
    cells = cell_table(demo_items())
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    write_cells(first, cells)
    back = read_cells(first)
    pd.testing.assert_frame_equal(back, cells)
    write_cells(second, back)
    assert first.read_bytes() == second.read_bytes()


def test_items_survive_parquet(tmp_path):
    items = demo_items()
    items.to_parquet(tmp_path / "items.parquet", index=False)
    back = pd.read_parquet(tmp_path / "items.parquet")
    pd.testing.assert_frame_equal(cell_table(back), cell_table(items))


def test_another_csv_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("study,model\na,b\n")
    with pytest.raises(ValueError, match=r"x\.csv is no cell table: it lacks family"):
        read_cells(tmp_path / "x.csv")


def test_no_cells_give_an_empty_table():
    items = item_table([])
    assert list(items.columns) == ITEM_COLUMNS
    assert list(cell_table(items).columns) == CELL_COLUMNS
