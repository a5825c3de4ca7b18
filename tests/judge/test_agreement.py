"""Agreement of two raters, against published numbers and an independent implementation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from taboo.figures import load_figure
from taboo.judge.agreement import COLUMNS, Confusion, agreement, confusion
from taboo.stats.csvfile import csv_text, read_csv, write_csv
from taboo.stats.retention import wilson

COUNTS = st.builds(Confusion, *[st.integers(0, 40)] * 4)


def test_a_published_table() -> None:
    # The table on which kappa and AC1 part (Gwet 2008): 118, 5, 2 and 0 of 125.
    table = Confusion(118, 5, 2, 0)
    assert table.agreement == pytest.approx(0.944)
    assert table.kappa == pytest.approx(-0.0234, abs=5e-5)
    assert table.ac1 == pytest.approx(0.9408, abs=5e-5)


@given(COUNTS)
def test_kappa_is_that_of_statsmodels(table: Confusion) -> None:
    cells = [[table.right_right, table.right_wrong], [table.wrong_right, table.wrong_wrong]]
    if not table.n or table.n in (table.right_right, table.wrong_wrong):
        assert table.kappa is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert table.kappa == pytest.approx(cohens_kappa(np.array(cells)).kappa)


@given(COUNTS)
def test_the_measures_are_consistent(table: Confusion) -> None:
    swapped = Confusion(table.right_right, table.wrong_right, table.right_wrong, table.wrong_wrong)
    turned = Confusion(table.wrong_wrong, table.wrong_right, table.right_wrong, table.right_right)
    for other in (swapped, turned):
        assert (other.agreement, other.ac1) == (table.agreement, table.ac1)
        assert other.kappa == table.kappa
    if not table.n:
        assert (table.agreement, table.kappa, table.ac1) == (None, None, None)
        assert table.interval == (None, None)
        return
    low, high = table.interval
    assert low is not None
    assert high is not None
    assert table.agreement is not None
    assert 0 <= low <= table.agreement <= high <= 1
    assert (low, high) == tuple(map(float, wilson(table.n_agree, table.n)))
    assert table.ac1 is not None
    assert -1 <= table.ac1 <= table.agreement
    assert (table.ac1 == 1) == (table.n_agree == table.n)


@given(st.integers(1, 30), st.integers(0, 30))
def test_a_judge_that_always_says_the_same_has_kappa_zero(wrong: int, right: int) -> None:
    table = Confusion(0, right, 0, wrong)
    assert table.kappa == (0 if right else None)


@given(st.lists(st.tuples(*[st.sampled_from(["right", "wrong", "unparsed", ""])] * 2)))
def test_items_without_a_verdict_are_left_out(pairs: list[tuple[str, str]]) -> None:
    first, second = (pd.Series([pair[i] for pair in pairs], dtype="str") for i in (0, 1))
    counts = confusion(first, second)
    decided = [pair for pair in pairs if set(pair) <= {"right", "wrong"}]
    assert counts.n == len(decided)
    assert counts.n_agree == sum(a == b for a, b in decided)


def rows() -> pd.DataFrame:
    """Two tasks, three conditions; the judge is wrong once and says nothing once."""
    frame = pd.DataFrame(
        [
            {"task": task, "condition": condition, "rank": rank, "scorer": scorer, "judge": scorer}
            for task in ("mmlu", "gsm8k")
            for condition, rank in (("taboo_i2", 2), ("baseline", 0), ("taboo_i1", 1))
            for scorer in ("right", "wrong", "wrong")
        ]
    ).assign(study="demo")
    frame.loc[0, "judge"] = "wrong"
    frame.loc[1, "judge"] = "unparsed"
    return frame


def test_groups_per_task_and_dose() -> None:
    table = agreement(rows(), "scorer", "judge")
    assert list(table.columns) == list(COLUMNS)
    mmlu = table[table["task"] == "mmlu"].set_index("group")
    assert list(mmlu.index) == ["all", "baseline", "taboo", "taboo_i1", "taboo_i2"]
    assert list(mmlu["n_asked"]) == [9, 3, 6, 3, 3]
    assert list(mmlu["n_unparsed"]) == [1, 0, 1, 0, 1]
    assert list(mmlu["n"]) == [8, 3, 5, 3, 2]
    assert list(mmlu["n_agree"]) == [7, 3, 4, 3, 1]
    assert mmlu.loc["taboo_i2", "n_right_wrong"] == 1
    assert not table.duplicated(["task", "group"]).any()


def test_groups_where_there_are_several_baselines() -> None:
    frame = rows()
    frame["condition"] = frame["condition"].str.replace("baseline", "baseline_t1_s0")
    groups = agreement(frame, "scorer", "judge").query("task == 'mmlu'")["group"]
    assert list(groups) == ["all", "baseline", "taboo", "baseline_t1_s0", "taboo_i1", "taboo_i2"]


@pytest.mark.parametrize("kept", [0, 3, None])
def test_the_table_survives_its_file_and_can_be_drawn(kept: int | None, tmp_path) -> None:
    table = agreement(rows().head(kept) if kept is not None else rows(), "scorer", "judge")
    path = write_csv(tmp_path / "judge.csv", table)
    back = read_csv(path)
    assert csv_text(back) == csv_text(table)
    figure = load_figure("judge")
    data = figure.prepare(back, {})
    assert len(data) == len(table)
    figure.draw(data, {})
    assert figure.caption(data, {})
