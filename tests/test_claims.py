from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from taboo.claims import COLUMNS, Claim, ClaimError, evaluate, holds, load_claims
from taboo.stats import load_analysis
from taboo.stats.csvfile import csv_text, read_csv, write_csv
from taboo.stats.tables import cell_table
from tests.synthetic_paper import demo_items, judge_table, paper_cells, paper_items, timing_table

CLAIMS = load_claims(Path(__file__).parent.parent / "claims.yaml")
# One cell cannot move these: they count cells, or take their median.
ROBUST = ("median", "rows", "distinct", "count_above", "count_at_most")


@pytest.fixture(scope="module")
def items():
    return paper_items()


@pytest.fixture(scope="module")
def tables(items):
    def analysis(name, study, **options):
        return load_analysis(name).run(items[items["study"] == study], pd.DataFrame(), options)

    return {
        "cells": paper_cells(),
        "constraints": analysis("constraints", "forbidden_words"),
        "failures": analysis("failures", "ladder"),
        "dose_match": analysis("dose_match", "main", replicates=20),
        "judge": judge_table(),
        "timing": timing_table(),
    }


def test_cells_like_the_papers_reproduce_every_claim(tables):
    found = evaluate(CLAIMS, tables)
    assert list(found.columns) == list(COLUMNS)
    assert len(found) > 100
    wrong = found[found["verdict"] != "reproduced"]
    assert wrong.empty, wrong[["id", "paper", "measured", "reason"]].to_string()


def fitting(table, where):
    """The rows that a claim's `where` names."""
    rows = pd.Series(True, index=table.index)
    for column, wanted in where.items():
        rows &= table[column].isin(wanted if isinstance(wanted, list) else [wanted])
    return table.index[rows]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_changing_a_cell_flips_its_claim(claim, tables):
    table = tables[claim.table]
    rows = fitting(table, claim.where)
    if claim.statistic == "rows":
        found = evaluate([claim], {claim.table: table.drop(rows[0])})
        assert found["verdict"].item() == "not run"
        return
    changed = rows if claim.statistic in ROBUST else rows[:1]
    number = pd.api.types.is_numeric_dtype(table[claim.column])
    verdicts = []
    for value in (-1e6, 1e6) if number else ("another",):
        edited = table.astype({claim.column: float}) if number else table.copy()
        edited.loc[changed, claim.column] = value
        verdicts.append(evaluate([claim], {claim.table: edited})["verdict"].item())
    assert "differs" in verdicts


def test_cell_tables_put_one_below_the_other_may_repeat_their_index(tables):
    parts = [part.reset_index(drop=True) for _, part in tables["cells"].groupby("study")]
    found = evaluate(CLAIMS, {**tables, "cells": pd.concat(parts)})
    assert set(found["verdict"]) == {"reproduced"}


def test_one_changed_cell_flips_its_own_claims_alone(items, tables):
    cell = (
        (items["study"] == "main")
        & (items["model"] == "qwen2.5-7b-instruct")
        & (items["task"] == "gsm8k")
        & (items["condition"] == "taboo_i1")
    )
    changed = items.assign(correct=items["correct"] & ~cell)
    before = evaluate(CLAIMS, tables).set_index("id")
    after = evaluate(CLAIMS, {**tables, "cells": cell_table(changed)}).set_index("id")
    flipped = set(after.index[after["verdict"] != before["verdict"]])
    assert {"qwen-7b-instruct-i1", "gap-qwen", "dose-above"} <= flipped
    path = "main/qwen2.5-7b-instruct/nf4/gsm8k/taboo_i1"
    for name in flipped:
        assert path in before.loc[name, "cells"].split(), name


def test_the_demo_runs_none_of_the_papers_cells():
    found = evaluate(CLAIMS, {"cells": cell_table(demo_items())})
    assert set(found["verdict"]) == {"not run"}
    assert found["measured"].isna().all()
    assert (found["reason"] != "").all()
    assert found.loc[found["id"] == "judge-mmlu", "reason"].item() == "there is no table judge"
    one = found.loc[found["id"] == "qwen-7b-base-i1", "reason"].item()
    assert one == "0 of 1 cells were run"


def test_a_part_of_the_cells_is_not_enough(tables):
    cells = tables["cells"]
    part = cells[~((cells["study"] == "main") & (cells["model"] == "olmo-2-7b"))]
    found = evaluate(CLAIMS, {**tables, "cells": part}).set_index("id")
    assert found.loc["base-i8", "verdict"] == "not run"
    assert found.loc["base-i8", "reason"] == "3 of 4 cells were run"
    assert found.loc["gap-olmo", "verdict"] == "not run"
    assert found.loc["gap-gemma", "verdict"] == "reproduced"


def test_the_table_of_verdicts_is_written_exactly(tables, tmp_path):
    found = evaluate(CLAIMS, tables)
    kinds = dict.fromkeys(
        ("id", "section", "claim", "direction", "verdict", "cells", "note"), "text"
    )
    write_csv(tmp_path / "claims.csv", found)
    assert csv_text(read_csv(tmp_path / "claims.csv", kinds)) == csv_text(found)


@pytest.mark.parametrize(
    ("direction", "measured", "holding"),
    [
        ("equal", 0.57, True),
        ("equal", 0.43, True),
        ("equal", 0.58, False),
        ("at_least", 0.43, True),
        ("at_least", 0.42, False),
        ("at_most", 0.57, True),
        ("at_most", 0.58, False),
        ("above", 0.5, False),
        ("above", 0.501, True),
        ("below", 0.5, False),
        ("below", 0.499, True),
    ],
)
def test_directions(direction, measured, holding):
    claim = Claim("a", "1", "…", "x", {}, expected=0.5, tolerance=0.07, direction=direction)
    assert holds(claim, measured) is holding


def grid():
    """Two models at four ranks: x is 1, 2, 3, 4 and, for the second, 1 more."""
    rows = [
        {"study": "s", "model": model, "alignment": alignment, "rank": rank, "x": step + more}
        for model, alignment, more in (("m", "base", 1), ("m-it", "instruct", 2))
        for step, rank in enumerate((1, 2, 4, 8))
    ]
    return pd.DataFrame(rows).astype({"x": float})


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({"where": {"model": "m", "rank": 4}}, 3),
        ({"where": {"model": "m"}, "statistic": "mean"}, 2.5),
        ({"where": {"rank": [1, 8]}, "statistic": "max"}, 5),
        (
            {
                "where": {"alignment": "instruct"},
                "minus": {"alignment": "base"},
                "statistic": "min",
            },
            1,
        ),
        ({"where": {"model": "m-it", "rank": 1}, "over": {"model": "m"}}, 2),
        ({"where": {"model": "m", "rank": 8}, "minus": {"rank": 1}}, 3),
        ({"where": {"model": "m", "rank": 1}, "minus": {"rank": 8}, "absolute": True}, 3),
        ({"where": {"model": "m", "rank": 1}, "minus": {"column": "rank"}}, 0),
        ({"where": {}, "statistic": "count_above", "threshold": 3}, 3),
        ({"where": {}, "statistic": "count_at_most", "threshold": 3}, 5),
        ({"where": {}, "statistic": "distinct"}, 5),
        ({"where": {}, "statistic": "rows"}, 8),
        ({"where": {}, "statistic": "log_fit"}, 1),
    ],
)
def test_statistics(keys, value):
    claim = Claim("a", "1", "…", "x", **{"expected": value, **keys})
    found = evaluate([claim], {"cells": grid()}).iloc[0]
    assert found["measured"] == pytest.approx(value)
    assert found["verdict"] == "reproduced"


def test_the_spread_over_seeds_is_the_largest_of_any_cell():
    rows = [
        {"model": model, "rank": 1, "seed": seed, "x": seed * step}
        for model, step in (("a", 0.1), ("b", 0.3))
        for seed in range(3)
    ]
    claim = Claim("a", "1", "…", "x", {}, expected=0.3, statistic="largest_sd")
    assert evaluate([claim], {"cells": pd.DataFrame(rows)})["measured"].item() == pytest.approx(0.3)


def test_missing_numbers_are_not_run_and_not_a_verdict():
    table = grid()
    table.loc[0, "x"] = np.nan
    claim = Claim("a", "1", "…", "x", {"model": "m"}, expected=0, statistic="mean")
    found = evaluate([claim], {"cells": table}).iloc[0]
    assert (found["verdict"], found["reason"]) == ("not run", "1 of 4 numbers are missing")
    lone = replace(claim, where={"model": "m"}, minus={"model": "m-it"}, statistic="max")
    cut = grid()[lambda rows: (rows["model"] == "m") | (rows["rank"] < 8)]
    assert evaluate([lone], {"cells": cut})["verdict"].item() == "not run"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"where": {"model": "m"}}, "claim a: 4 rows of table cells fit"),
        ({"where": {"colour": "m"}}, "claim a: table cells has no column 'colour'"),
        ({"where": {"model": "m"}, "column": "y", "statistic": "mean"}, "has no column 'y'"),
        ({"where": {}, "minus": {"rank": [1, 2]}, "statistic": "mean"}, "several rows"),
    ],
)
def test_a_claim_that_does_not_fit_its_table_is_an_error(keys, words):
    claim = Claim(**{"id": "a", "section": "1", "claim": "…", "column": "x", "expected": 0, **keys})
    with pytest.raises(ClaimError, match=words):
        evaluate([claim], {"cells": grid()})


GOOD = {"id": "a", "section": 1, "claim": "…", "column": "x", "where": {}, "expected": 1}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"a": 1}, "must be a list of claims"),
        (["a"], "claim 1 is not a mapping"),
        ([{**GOOD, "tolerence": 1}], r"claim 1 \(a\): unknown key tolerence; known are"),
        ([{"id": "a"}], r"claim 1 \(a\) lacks claim, column, expected, section, where"),
        ([{**GOOD, "direction": "near"}], "direction is 'near', allowed are equal"),
        ([{**GOOD, "statistic": "mode"}], "statistic is 'mode', allowed are value"),
        ([{**GOOD, "tolerance": -1}], "must not be negative"),
        ([GOOD, GOOD], "several claims with the id a"),
    ],
)
def test_a_file_of_claims_is_checked(entries, words, tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(entries))
    with pytest.raises(ClaimError, match=words):
        load_claims(path)
