import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.stats.csvfile import csv_text, read_csv, write_csv

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)


@given(
    st.lists(
        st.tuples(
            WORDS,
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
            st.one_of(st.none(), st.integers(-(2**53), 2**53)),
            st.one_of(st.none(), st.booleans()),
        )
    )
)
def test_what_is_written_is_read_back_exactly(tmp_path_factory, rows):
    frame = pd.DataFrame(
        {
            "reason": pd.Series([row[0] for row in rows], dtype="str"),
            "number": pd.Series([row[1] for row in rows], dtype="float64"),
            "seed": pd.Series([row[2] for row in rows], dtype="Int64"),
            "right": pd.Series([row[3] for row in rows], dtype="boolean"),
        }
    )
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    write_csv(path, frame)
    kinds = {"number": "number", "seed": "integer", "right": "truth"}
    back = read_csv(path, kinds).astype({"seed": "Int64", "right": "boolean"})
    pd.testing.assert_frame_equal(back, frame)
    assert csv_text(back) == csv_text(frame)


def test_missing_values_are_empty_and_floats_have_their_shortest_digits():
    frame = pd.DataFrame(
        {
            "model": ["a", "b,c"],
            "x": [0.1 + 0.2, math.nan],
            "n": pd.array([3, None], dtype="Int64"),
            "ok": [True, False],
        }
    )
    assert csv_text(frame) == 'model,x,n,ok\na,0.30000000000000004,3,true\n"b,c",,,false\n'


def test_kinds_are_guessed_narrowly_but_names_stay_text(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("model,task,n,x,ok,reason\n7,NA,3,0.5,true,\n8,null,4,1,false,\n")
    frame = read_csv(path)
    assert list(frame["model"]) == ["7", "8"]
    assert list(frame["task"]) == ["NA", "null"]
    assert list(frame["reason"]) == ["", ""]
    assert (frame["n"].dtype, frame["x"].dtype, frame["ok"].dtype) == ("int64", "float64", "bool")


@pytest.mark.parametrize(
    ("content", "kinds", "words"),
    [
        ("", {}, "empty"),
        ("a,b\n1\n", {}, "row 2, has 1 values"),
        ("a\nx\n", {"a": "integer"}, "column a"),
        ("a\nx\n", {"a": "truth"}, "column a"),
        ("a\nx\n", {"a": "date"}, "unknown kind"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_name(tmp_path, content, kinds, words):
    path = tmp_path / "broken.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_csv(path, kinds)
    assert "broken.csv" in str(caught.value)


def test_infinite_numbers_are_refused():
    with pytest.raises(ValueError, match="column x"):
        csv_text(pd.DataFrame({"x": [np.inf]}))
