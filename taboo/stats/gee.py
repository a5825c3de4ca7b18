"""What retention depends on: a logistic regression on dose, alignment, size and family."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from statsmodels.genmod.cov_struct import Independence
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_estimating_equations import GEE

from taboo.stats.rows import estimated, not_estimable, table

GROUP = ["study", "precision", "task"]
COLUMNS = [
    *GROUP,
    "fit",
    "term",
    "coefficient",
    "standard_error",
    "low",
    "high",
    "odds_ratio",
    "p_value",
    "n_answers",
    "n_items",
]
REFERENCE_SIZE = 8.0  # 10⁹ parameters: the size at which the alignment terms are read


def run(items: pd.DataFrame, cells: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """Return one row per term of a logistic regression of retention, fitted per precision and task.

    The answers are those of greedy word-start taboo conditions to items right at baseline. Fit `additive` has the terms `intercept`, `log2 dose`, `instruct`, one per family against the first family, and `log2 size` (relative to 8·10⁹ parameters); fit `interaction` adds `instruct × log2 dose` and `instruct × log2 size`, the question whether alignment and scale compound. `coefficient` is in log odds, with a 95 % interval.

    Generalised estimating equations with the item as cluster: an item is answered by many models and doses, so its answers are not independent. The working correlation is independence, because the number of an item's answers goes with its difficulty, and the variance is the robust one. A term that the data cannot tell from the terms before it is not estimable, and neither is a fit that separates the outcomes.
    """
    kept = items[
        (items["rank"] > 0)
        & (items["mode"] == "word_start")
        & (items["temperature"] == 0)
        & items["baseline_correct"].fillna(False).astype(bool)
    ]
    groups = items[GROUP].drop_duplicates().itertuples(index=False, name=None)
    rows = []
    for values in groups:
        group = dict(zip(GROUP, values, strict=True))
        answers = kept[(kept[GROUP] == pd.Series(group)).all(axis=1)]
        for fit in ("additive", "interaction"):
            rows += _fit(group | {"fit": fit}, answers, interaction=fit == "interaction")
    return table(rows, COLUMNS)


def _fit(row: dict[str, Any], answers: pd.DataFrame, interaction: bool) -> list[dict[str, Any]]:
    if answers.empty:
        return [not_estimable(row | {"term": "all"}, "no item is right at baseline")]
    outcome = answers["correct"].to_numpy(float)
    clusters = pd.factorize(answers["item_id"])[0]
    row = row | {"n_answers": len(answers), "n_items": int(clusters.max()) + 1}
    if outcome.min() == outcome.max():
        kept = "every" if outcome.min() else "no"
        return [not_estimable(row | {"term": "all"}, f"{kept} answer is retained")]
    terms = _terms(answers, interaction)
    names, dropped = _identifiable(terms)
    rows = [not_estimable(row | {"term": term}, reason) for term, reason in dropped.items()]
    design = np.column_stack([terms[name] for name in names])
    if row["n_items"] <= len(names):
        reason = f"{row['n_items']} items are too few for {len(names)} terms"
        return [not_estimable(row | {"term": "all"}, reason)]
    if _separated(design, outcome):
        reason = "the terms separate retained from lost answers, so the odds are not finite"
        return [not_estimable(row | {"term": "all"}, reason)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = GEE(
            outcome, design, groups=clusters, family=Binomial(), cov_struct=Independence()
        ).fit()
        bounds = result.conf_int(alpha=0.05)
    errors = np.asarray(result.bse)
    if caught or not result.converged or not np.all(np.isfinite(errors) & (errors > 0)):
        reason = "the fit did not converge"
        return [not_estimable(row | {"term": "all"}, reason)]
    for index, name in enumerate(names):
        rows.append(
            estimated(
                row
                | {
                    "term": name,
                    "coefficient": float(result.params[index]),
                    "standard_error": float(errors[index]),
                    "low": float(bounds[index][0]),
                    "high": float(bounds[index][1]),
                    "odds_ratio": float(np.exp(result.params[index])),
                    "p_value": float(result.pvalues[index]),
                }
            )
        )
    order = {name: index for index, name in enumerate(terms)}
    return sorted(rows, key=lambda one: order[one["term"]])


def _terms(answers: pd.DataFrame, interaction: bool) -> dict[str, np.ndarray]:
    dose = np.log2(answers["rank"].to_numpy(float))
    instruct = (answers["alignment"] == "instruct").to_numpy(float)
    size = np.log2(answers["size_b"].to_numpy(float) / REFERENCE_SIZE)
    terms = {
        "intercept": np.ones(len(answers)),
        "log2 dose": dose,
        "instruct": instruct,
    }
    for family in list(dict.fromkeys(answers["family"]))[1:]:
        terms[f"family {family}"] = (answers["family"] == family).to_numpy(float)
    terms["log2 size"] = size
    if interaction:
        terms |= {"instruct × log2 dose": instruct * dose, "instruct × log2 size": instruct * size}
    return terms


def _identifiable(terms: dict[str, np.ndarray]) -> tuple[list[str], dict[str, str]]:
    """Return the terms that add to those before them, and why each other one does not.

    The families come before size: where each family has one size, size cannot be told from family.
    """
    distinct = np.unique(np.column_stack(list(terms.values())), axis=0)
    columns = dict(zip(terms, distinct.T, strict=True))
    kept: list[str] = []
    dropped: dict[str, str] = {}
    for name, values in columns.items():
        parts = [part for part in name.split(" × ") if part in dropped]
        before = np.column_stack([columns[one] for one in kept]) if kept else np.empty((0, 0))
        weights = np.linalg.lstsq(before, values, rcond=None)[0] if kept else np.empty(0)
        if not kept or not np.allclose(before @ weights, values, atol=1e-9):
            if parts:
                dropped[name] = f"{parts[0]} is not estimable itself"
            else:
                kept.append(name)
        elif np.ptp(values) == 0:
            dropped[name] = "it has one value only in these answers"
        else:
            alike = [one for one, w in zip(kept, weights, strict=True) if abs(w) > 1e-9]
            names = ", ".join(one for one in alike if one != "intercept")
            dropped[name] = f"these models cannot tell it from {names}"
    return kept, dropped


def _separated(design: np.ndarray, outcome: np.ndarray) -> bool:
    """Return whether some combination of the terms sorts the outcomes (complete or quasi-complete separation).

    A linear programme: is there a direction along which no retained answer lies below and no lost one above the plane, and some answer lies off it?
    """
    signed = np.unique(design * np.where(outcome > 0, 1.0, -1.0)[:, None], axis=0)
    solution = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1)
    )
    return bool(-solution.fun > 1e-7)
