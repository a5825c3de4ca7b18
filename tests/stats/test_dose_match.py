import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.conditions import Condition
from taboo.stats import dose_match
from taboo.stats.tables import cell_table
from tests.synthetic_paper import DOSES, Cell, Model, demo_items, table, with_baseline

MODELS = (Model("x-7b", "x", 7, "base"), Model("x-7b-instruct", "x", 7, "instruct"))


def study(retention, doses, n=400, right=(300, 300)):
    """A base and an instruct model: `doses` gives bits per rank, `retention` the share kept at a dose."""
    cells = []
    for model, before in zip(MODELS, right, strict=True):
        cells += with_baseline(
            [
                Cell(
                    "s", model, "gsm8k", Condition(rank), n, before,
                    retained=round(before * retention(model.alignment, doses(model.alignment, rank))),
                    delta_s=doses(model.alignment, rank),
                )
                for rank in DOSES
            ]
        )  # fmt: skip
    return table(cells)


def run(items, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dose_match.run(items, cell_table(items), {"replicates": 300, **options})


def stronger(alignment, rank):
    return 2 + 0.8 * np.log2(rank) + (0.8 if alignment == "instruct" else 0)


def test_one_curve_read_at_two_doses_has_no_gap():
    """Instruct keeps less at the same rank only because it absorbs more."""
    items = study(lambda alignment, bits: 1.1 - 0.2 * bits, stronger)
    at_rank = cell_table(items).set_index(["alignment", "rank"])["retention"]
    assert at_rank["instruct", 2] - at_rank["base", 2] == pytest.approx(-0.16, abs=0.01)
    rows = run(items)
    assert rows["estimable"].all()
    assert rows["difference"].abs().max() < 0.01
    assert ((rows["low"] < 0) & (rows["high"] > 0)).all()


def test_a_gap_at_equal_dose_is_found_with_its_band():
    items = study(
        lambda alignment, bits: 0.8 - 0.15 * bits + 0.2 * (alignment == "instruct"), stronger
    )
    rows = run(items)
    assert rows["difference"].to_numpy() == pytest.approx(np.full(len(rows), 0.2), abs=0.01)
    assert (rows["low"] > 0.1).all()
    assert (rows["high"] < 0.3).all()
    mean = rows[rows["point"] == "mean"].iloc[0]
    assert mean["high"] - mean["low"] < rows["high"].iloc[0] - rows["low"].iloc[0]
    first, last = rows.iloc[0], rows.iloc[4]
    assert (first["delta_s"], last["delta_s"]) == pytest.approx((2.8, 4.4), abs=0.01)


def test_the_band_is_as_wide_as_the_sampling_error():
    """Over samples of items, the bootstrap's width matches the spread of the differences."""
    wide = study(lambda alignment, bits: 0.5, stronger, n=400, right=(300, 300))
    row = run(wide)[lambda rows: (rows["point"] == "3") & (rows["quantity"] == "retention")].iloc[0]
    # At 3.6 bits both models have a measured dose: two independent shares of one half of 300 items.
    expected = np.sqrt(2 * 0.25 / 300)
    assert (row["high"] - row["low"]) / (2 * 1.96) == pytest.approx(expected, rel=0.15)


def test_the_seed_decides_the_band():
    items = study(lambda alignment, bits: 0.6, stronger)
    pd.testing.assert_frame_equal(run(items), run(items))
    assert not run(items)["low"].equals(run(items, seed=1)["low"])


def test_curves_that_do_not_overlap_are_not_compared():
    rows = run(study(lambda *_: 0.5, lambda a, rank: np.log2(rank) / 2 + 1 + 5 * (a == "instruct")))
    assert set(rows["reason"]) == {"the doses do not overlap: 1.00 to 2.50 and 6.00 to 7.50 bits"}


def test_other_reasons_are_named():
    nothing = study(lambda *_: 0.5, stronger, right=(0, 300))
    assert set(run(nothing)["reason"]) == {"no item is right at baseline for the base model"}
    one = study(lambda *_: 0.5, stronger)
    one = one[(one["alignment"] == "base") | (one["rank"] < 2)]
    assert set(run(one)["reason"]) == {"the instruct model has fewer than two doses"}
    alone = run(demo_items())["reason"]
    assert set(alone) == {
        "no base model of this family and size",
        "no instruct model of this family and size",
    }
    still = study(lambda *_: 0.5, stronger).assign(interventions=0)
    assert "without any intervention" in run(still)["reason"].iloc[0]
    few = run(study(lambda *_: 0.5, stronger, n=40, right=(1, 30)))
    assert few["reason"].str.contains("of the bootstrap samples").any()


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), min_size=2, max_size=6),
    st.lists(st.floats(0, 10), min_size=1, max_size=5),
)
def test_reading_a_curve_is_linear_interpolation(curve, points):
    curve = sorted({round(x, 3): y for x, y in curve}.items())
    if len(curve) < 2:
        return
    x, y = np.array(curve).T
    inside = np.array([p for p in points if x[0] <= p <= x[-1]] or [x[0]])
    order = np.random.default_rng(0).permutation(len(x))
    found = dose_match.read_at(x[None, order], y[None, order], inside)[0]
    assert found == pytest.approx(np.interp(inside, x, y), abs=1e-9)
