"""Verdicts of people."""

from pathlib import Path

import pandas as pd
import pytest

from taboo.judge.agreement import agreement
from taboo.judge.human import KEY, SHEET_COLUMNS, add_labels, sheet
from taboo.stats.csvfile import write_csv


@pytest.fixture
def rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{"study": "demo", "model": "m", "precision": "bf16", "task": "gsm8k", "rank": 0},
            "condition": "baseline",
            "item_id": ["gsm8k/0", "gsm8k/1", "gsm8k/2"],
            **{"question": "What, now?", "reference": "1", "text": 'a "quoted"\ntext, really'},
            "scorer": ["right", "wrong", "wrong"],
            "judge": ["right", "right", "unparsed"],
        }
    )


def filled(rows: pd.DataFrame, labels: list[str], path: Path) -> Path:
    return write_csv(path, sheet(rows).assign(human=labels))


def test_a_sheet_shows_no_verdict(rows: pd.DataFrame) -> None:
    assert list(sheet(rows).columns) == list(SHEET_COLUMNS)
    assert not {"scorer", "judge", "extracted"} & set(SHEET_COLUMNS)
    assert set(sheet(rows)["human"]) == {""}


def test_labels_come_back_and_are_compared_the_same_way(rows: pd.DataFrame, tmp_path: Path) -> None:
    path = filled(rows, ["right", "", "wrong"], tmp_path / "labels.csv")
    labelled = add_labels(rows, path)
    assert list(labelled["item_id"]) == ["gsm8k/0", "gsm8k/2"]
    assert list(labelled["human"]) == ["right", "wrong"]
    scorer = agreement(labelled, "human", "scorer").iloc[0]
    assert (scorer["n"], scorer["n_agree"], scorer["first"]) == (2, 2, "human")
    judge = agreement(labelled, "human", "judge").iloc[0]
    assert (judge["n"], judge["n_unparsed"]) == (1, 1)


def test_order_and_further_columns_do_not_matter(rows: pd.DataFrame, tmp_path: Path) -> None:
    table = sheet(rows).assign(human=["right", "", "wrong"], note="x")[["human", "note", *KEY]]
    path = tmp_path / "labels.csv"
    path.write_text("\ufeff" + table.iloc[::-1].to_csv(index=False), encoding="utf-8")
    assert list(add_labels(rows, path)["human"]) == ["right", "wrong"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("human", "verdict", r"labels.csv lacks the column human"),
        (",right", ",correct", r"line \d+: human is 'correct', allowed are right, wrong"),
        ("gsm8k/1", "gsm8k/9", r"m/bf16/gsm8k/baseline/gsm8k/9 is not among the judged"),
        ("gsm8k/1", "gsm8k/0", r"has a line already"),
    ],
)
def test_a_wrong_sheet_names_file_and_line(
    rows: pd.DataFrame, tmp_path: Path, old: str, new: str, says: str
) -> None:
    path = filled(rows, ["right", "wrong", ""], tmp_path / "labels.csv")
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=says):
        add_labels(rows, path)
