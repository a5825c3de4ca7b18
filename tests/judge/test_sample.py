"""The subsample: seeded, nested, in proportion, and fair."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.judge.sample import subsample

Row = tuple[str, int]


def draw(rows: list[Row], n: int, seed: int) -> list[Row]:
    return subsample(
        rows, n, seed, name=lambda row: f"{row[0]}/{row[1]}", stratum=lambda row: row[0]
    )


@st.composite
def populations(draw: st.DrawFn) -> list[Row]:
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=12))
    return [(f"s{name}", i) for name, size in enumerate(sizes) for i in range(size)]


@given(rows=populations(), seed=st.integers(0, 99), data=st.data())
def test_it_depends_on_seed_and_names_alone_and_is_nested(
    rows: list[Row], seed: int, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(rows)))
    chosen = draw(rows, n, seed)
    assert len(set(chosen)) == n
    assert draw(data.draw(st.permutations(rows)), n, seed) == chosen
    assert draw(rows, len(rows), seed)[:n] == chosen


@given(rows=populations(), seed=st.integers(0, 99), data=st.data())
def test_strata_take_part_in_proportion(rows: list[Row], seed: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(rows)))
    sizes, counts = Counter(row[0] for row in rows), Counter(row[0] for row in draw(rows, n, seed))
    # The order is by (r + u)/m, so all strata are about as far as the last row taken.
    reached = [(max(counts[name] - 1, 0) / m, (counts[name] + 1) / m) for name, m in sizes.items()]
    assert max(low for low, _ in reached) <= min(high for _, high in reached)


def test_every_row_is_as_likely_as_any_other() -> None:
    rows = [("large", i) for i in range(60)] + [(f"tiny{i}", 0) for i in range(40)]
    taken = Counter(row for seed in range(400) for row in draw(rows, 20, seed))
    tiny = sum(count for row, count in taken.items() if row[0] != "large") / 400
    # Of 40 strata of one row each, 20 % are taken; none would be if shares were rounded.
    assert tiny == pytest.approx(8, abs=0.5)
    large = [taken[row] / 400 for row in rows[:60]]
    assert min(large) > 0.1
    assert max(large) < 0.3


def test_too_few_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 generations are to be judged, but there are 2"):
        draw([("a", 0), ("a", 1)], 3, 0)
