"""Distributional stability: the two blocks' distance, what chance gives, and the p-value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.stats.repro import distributions


def test_golden_values() -> None:
    table = distributions(
        {"same": ["a", "b"] * 8, "other": ["a"] * 16},
        {"same": ["b", "a"] * 8, "other": ["b"] * 16},
    ).set_index("item_id")
    assert table.loc["same", "total_variation"] == 0
    assert table.loc["same", "p_value"] == 1
    assert table.loc["other", "total_variation"] == 1
    assert table.loc["other", "p_value"] < 0.01
    assert table.loc["other", "expected_total_variation"] < 0.3
    assert table.loc["other", ["share_first", "share_second"]].tolist() == [1, 0]


@given(
    blocks=st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            *[st.lists(st.sampled_from(["4", "5", None]), min_size=n, max_size=n)] * 2
        )
    )
)
@settings(max_examples=50, deadline=None)
def test_symmetric_and_within_bounds(blocks: tuple[list, list]) -> None:
    first, second = blocks
    table = distributions({"a": first}, {"a": second}, permutations=50)
    swapped = distributions({"a": second}, {"a": first}, permutations=50)
    value = table["total_variation"][0]
    assert value == pytest.approx(swapped["total_variation"][0])
    assert 0 <= value <= 1
    assert 0 < table["p_value"][0] <= 1


def test_blocks_must_match() -> None:
    with pytest.raises(ValueError, match="one block only: \\['b'\\]"):
        distributions({"a": [1], "b": [1]}, {"a": [1]})
    with pytest.raises(ValueError, match="item a: 2 and 1 samples"):
        distributions({"a": [1, 2]}, {"a": [1]})
