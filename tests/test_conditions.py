"""Condition names and condition values say the same thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.conditions import Condition, parse_condition


@given(
    st.integers(0, 99),
    st.booleans(),
    st.one_of(st.none(), st.tuples(st.integers(1, 300), st.integers(0, 10**6))),
    st.one_of(st.none(), st.integers(1, 10**5)),
)
def test_name_and_value_are_inverse(rank, mid_word, sampling, budget):
    condition = Condition(
        rank,
        "mid_word" if mid_word and rank else "word_start",
        temperature=sampling[0] / 100 if sampling else 0.0,
        seed=sampling[1] if sampling else None,
        max_new_tokens=budget or 512,
        named_budget=budget is not None,
    )
    assert parse_condition(condition.name) == condition
    baseline = parse_condition(condition.baseline_name)
    assert (baseline.rank, baseline.mode) == (0, "word_start")
    assert (baseline.temperature, baseline.seed) == (condition.temperature, condition.seed)
    assert baseline.max_new_tokens == condition.max_new_tokens


def test_examples():
    assert parse_condition("baseline") == Condition(0)
    assert parse_condition("taboo_i8", 64, ("\n",)) == Condition(8, max_new_tokens=64, stop=("\n",))
    assert parse_condition("midword_i2") == Condition(2, "mid_word")
    assert parse_condition("taboo_i1_t0.7_s2_max1024") == Condition(
        1, temperature=0.7, seed=2, max_new_tokens=1024, named_budget=True
    )


@pytest.mark.parametrize(
    "name",
    ["", "taboo", "taboo_i0", "taboo_i01", "taboo_i1_t0.70_s0", "taboo_i1_t0.7", "Taboo_i1", "baseline_i1",
     "taboo_i1_s0", "taboo_i1_max0", "taboo_i1_t0_s0", "taboo_i1 ", "midword"],
)  # fmt: skip
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=r"condition|temperature"):
        parse_condition(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": -1}, "rank"),
        ({"rank": 0, "mode": "mid_word"}, "baseline"),
        ({"rank": 1, "mode": "end"}, "mode"),
        ({"rank": 1, "temperature": -1.0}, "temperature"),
        ({"rank": 1, "temperature": 0.7}, "seed"),
        ({"rank": 1, "seed": 1}, "seed"),
        ({"rank": 1, "max_new_tokens": 0}, "max_new_tokens"),
        ({"rank": 1, "stop": ("",)}, "stop"),
    ],
)
def test_impossible_values_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Condition(**arguments)
