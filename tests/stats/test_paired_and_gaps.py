import numpy as np
import pandas as pd
import pytest

from taboo.conditions import Condition
from taboo.stats import gaps, paired
from taboo.stats.rows import adjust
from taboo.stats.rows import table as rows_table
from taboo.stats.tables import cell_table
from tests.synthetic_paper import Cell, Model, demo_items, table, with_baseline

BASE, INSTRUCT = Model("x-7b", "x", 7, "base"), Model("x-7b-instruct", "x", 7, "instruct")


def study(base=(60, 12), instruct=(70, 35), n=100):
    cells = []
    for model, (right, kept) in ((BASE, base), (INSTRUCT, instruct)):
        cells += with_baseline([Cell("s", model, "gsm8k", Condition(1), n, right, kept, 3)])
    return table(cells)


def run(module, items):
    return module.run(items, cell_table(items), {})


def test_a_taboo_cell_is_tested_against_its_baseline():
    rows = run(paired, study())
    assert list(rows["model"]) == ["x-7b", "x-7b-instruct"]
    first = rows.iloc[0]
    assert (first["n_lost"], first["n_gained"]) == (48, 3)
    assert (first["baseline"], first["taboo"]) == (0.6, 0.15)
    assert first["difference"] == pytest.approx(-0.45)
    assert first["low"] < -0.45 < first["high"] < 0
    # 2 · P(X ≤ 3), X ~ Binomial(51, ½)
    assert first["p_value"] == pytest.approx(2 * (1 + 51 + 1275 + 20825) / 2**51)


def test_gaps_in_three_quantities():
    rows = run(gaps, study()).set_index(["condition", "quantity"])
    assert rows["estimable"].all()
    retention = rows.loc["taboo_i1", "retention"]
    assert (retention["base"], retention["instruct"]) == (0.2, 0.5)
    assert (retention["n_base"], retention["n_instruct"]) == (60, 70)
    assert retention["low"] < 0.3 < retention["high"]
    common = rows.loc["taboo_i1", "retention_common"]
    assert common["n_base"] == common["n_instruct"] == retention["n_shared"]
    accuracy = rows.loc["taboo_i1", "accuracy"]
    assert (accuracy["base"], accuracy["instruct"]) == (0.15, 0.38)
    assert rows.loc["baseline", "accuracy"]["difference"] == pytest.approx(0.1)
    assert ("baseline", "retention") not in rows.index


def test_without_a_partner_or_a_right_item_a_gap_is_not_estimable():
    alone = run(gaps, study()[lambda items: items["model"] == "x-7b"])
    assert not alone["estimable"].any()
    assert set(alone["reason"]) == {"no instruct model of this family and size"}
    empty = run(gaps, study(base=(0, 0))).set_index(["condition", "quantity"])
    assert (
        empty.loc["taboo_i1", "retention"]["reason"]
        == "no item is right at baseline for the base model"
    )
    assert not empty.loc["taboo_i1", "retention_common"]["estimable"]
    assert empty.loc["taboo_i1", "accuracy"]["estimable"]


def test_without_a_baseline_tests_say_so():
    items = study()
    items = items[items["rank"] > 0].assign(baseline_correct=pd.array([pd.NA] * 200, "boolean"))
    assert set(run(paired, items)["reason"]) == {"the baseline was not run"}
    rows = run(gaps, items).set_index("quantity")
    assert rows.loc["accuracy", "estimable"]
    assert rows.loc["retention", "reason"] == "the baseline was not run"


def test_samples_that_only_overlap_are_compared_over_all_their_items():
    items = study()
    items = items[(items["alignment"] == "base") | (items["position"] < 50)]
    row = run(gaps, items).set_index(["condition", "quantity"]).loc["taboo_i1", "accuracy"]
    assert (row["n_base"], row["n_instruct"], row["n_shared"]) == (100, 50, 50)


def test_corrections_by_hand():
    frame = rows_table(
        [
            {"study": "s", "p_value": p, "estimable": p is not None, "reason": ""}
            for p in (0.01, None, 0.04, 0.03, 0.5)
        ],
        ["study", "p_value"],
    )
    fixed = adjust(frame, ["study"])
    assert list(fixed["n_tests"].fillna(0)) == [4, 0, 4, 4, 4]
    assert fixed["p_holm"].dropna().tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert fixed["p_bh"].dropna().tolist() == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert np.isnan(fixed["p_holm"].iloc[1])


def test_corrections_run_over_the_grid_of_one_study():
    items = demo_items()
    other = items[items["task"] == "gsm8k"].assign(study="other")
    rows = run(paired, pd.concat([items, other], ignore_index=True))
    assert set(rows.loc[rows["study"] == "demo", "n_tests"]) == {32}
    assert set(rows.loc[rows["study"] == "other", "n_tests"]) == {8}
    assert (rows["p_holm"] >= rows["p_bh"] - 1e-12).all()
    assert (rows["p_bh"] >= rows["p_value"] - 1e-12).all()
