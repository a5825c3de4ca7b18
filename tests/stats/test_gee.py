import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from taboo.stats import gee
from tests.synthetic_paper import DOSES, demo_items

MODELS = [
    (f"{family}-{size}{end}", family, float(size), alignment)
    for family in ("x", "y")
    for size in (2, 8, 32)
    for end, alignment in (("", "base"), ("-it", "instruct"))
]


def simulate(chance, items=200, seed=0, models=MODELS):
    """Answers of models to items right at baseline; `chance` gives the log odds of retention, to which an item adds its ease."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 0.5, items)
    frames = []
    for name, family, size, alignment in models:
        for rank in DOSES:
            odds = chance(family, size, alignment, rank) + ease
            frames.append(
                pd.DataFrame(
                    {
                        "study": "s",
                        "precision": "nf4",
                        "task": "gsm8k",
                        "model": name,
                        "family": family,
                        "size_b": size,
                        "alignment": alignment,
                        "rank": rank,
                        "mode": "word_start",
                        "temperature": 0.0,
                        "item_id": [f"i{index}" for index in range(items)],
                        "baseline_correct": pd.array([True] * items, "boolean"),
                        "correct": rng.random(items) < 1 / (1 + np.exp(-odds)),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def run(items):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return gee.run(items, pd.DataFrame(), {})


def effects(family, size, alignment, rank):
    up = alignment == "instruct"
    return -0.5 - 0.6 * np.log2(rank) + 1.2 * up + 0.4 * np.log2(size / 8) + 0.3 * (family == "y")


def test_known_effects_are_found():
    rows = run(simulate(effects))
    additive = rows[rows["fit"] == "additive"].set_index("term")
    assert additive["estimable"].all()
    known = {"log2 dose": -0.6, "instruct": 1.2, "log2 size": 0.4, "family y": 0.3}
    # A mixed model's effects seen over all items are flatter: by 1/√(1 + 0.346 σ²), here 0.96.
    for term, value in known.items():
        row = additive.loc[term]
        assert abs(row["coefficient"] - 0.96 * value) < 3 * row["standard_error"], term
        assert (
            row["low"] < 0.96 * value < row["high"] or abs(row["coefficient"] - 0.96 * value) < 0.1
        )
        assert row["p_value"] < 0.01
        assert row["odds_ratio"] == pytest.approx(np.exp(row["coefficient"]))
    together = rows[rows["fit"] == "interaction"].set_index("term")
    for term in ("instruct × log2 dose", "instruct × log2 size"):
        assert together.loc[term, "low"] < 0 < together.loc[term, "high"]


def test_compounding_of_scale_and_alignment_is_found():
    def chance(family, size, alignment, rank):
        return effects(family, size, alignment, rank) + 0.5 * (alignment == "instruct") * np.log2(
            size / 8
        )

    rows = run(simulate(chance, seed=1))
    row = rows[(rows["fit"] == "interaction") & (rows["term"] == "instruct × log2 size")].iloc[0]
    assert row["low"] > 0.3
    assert row["p_value"] < 1e-6


def test_it_is_logistic_regression_with_errors_clustered_by_item():
    items = simulate(effects, items=60)
    rows = run(items)
    rows = rows[rows["fit"] == "additive"].set_index("term")
    design = np.column_stack(
        [
            np.ones(len(items)),
            np.log2(items["rank"]),
            items["alignment"] == "instruct",
            items["family"] == "y",
            np.log2(items["size_b"] / 8),
        ]
    ).astype(float)
    groups = pd.factorize(items["item_id"])[0]
    logit = sm.GLM(items["correct"].astype(float), design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    assert rows["coefficient"].tolist() == pytest.approx(logit.params.tolist(), abs=1e-6)
    assert rows["standard_error"].tolist() == pytest.approx(logit.bse.tolist(), rel=1e-4)
    assert set(rows["n_items"]) == {60}


def test_terms_that_the_models_cannot_tell_apart_are_named():
    one_size_each = [m for m in MODELS if (m[1], m[2]) in (("x", 2.0), ("y", 32.0))]
    rows = run(simulate(effects, models=one_size_each)).set_index(["fit", "term"])
    assert (
        rows.loc[("additive", "log2 size"), "reason"] == "these models cannot tell it from family y"
    )
    reason = rows.loc[("interaction", "instruct × log2 size"), "reason"]
    assert reason == "log2 size is not estimable itself"
    assert rows.loc[("additive", "instruct"), "estimable"]
    alone = run(simulate(effects, models=MODELS[:1])).set_index(["fit", "term"])
    assert alone.loc[("additive", "instruct"), "reason"] == "it has one value only in these answers"


@pytest.mark.parametrize(
    ("chance", "reason"),
    [
        (lambda *_: -50.0, "no answer is retained"),
        (lambda *_: 50.0, "every answer is retained"),
        (
            lambda family, size, alignment, rank: 50.0 if alignment == "instruct" else 0.0,
            "the terms separate retained from lost answers, so the odds are not finite",
        ),
    ],
)
def test_what_has_no_finite_odds_is_not_estimable(chance, reason):
    rows = run(simulate(chance, items=40))
    assert not rows["estimable"].any()
    assert set(rows["reason"]) == {reason}
    assert rows["coefficient"].isna().all()


def test_the_demo_says_what_it_cannot_tell():
    rows = run(demo_items())
    code = rows[rows["task"] == "humaneval"]
    assert set(code["reason"]) == {"no item is right at baseline"}
    sums = rows[(rows["task"] == "gsm8k") & (rows["fit"] == "additive")].set_index("term")
    assert sums.loc["log2 dose", "coefficient"] < 0
    assert sums.loc["log2 size", "reason"] == "these models cannot tell it from instruct"


def test_few_items_are_too_few():
    rows = run(simulate(effects, items=4))
    assert set(rows["reason"]) == {
        "4 items are too few for 5 terms",
        "4 items are too few for 7 terms",
    }
