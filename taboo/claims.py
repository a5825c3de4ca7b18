"""The paper's numbers as statements that can be checked against the tables.

A claim in `claims.yaml` names the rows of a table, what is computed from them, and what the paper says it is. `evaluate` computes it and gives a verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

DIRECTIONS = ("equal", "at_least", "at_most", "above", "below")
STATISTICS = (
    *("value", "mean", "median", "min", "max", "rows", "distinct"),
    *("count_above", "count_at_most", "largest_sd", "log_fit"),
)
# What rows of two selections must have in common to be compared, besides what the claim overrides.
KEY = (
    *("study", "family", "size_b", "alignment", "precision", "task", "mode", "rank"),
    *("temperature", "seed", "max_new_tokens"),
)
CELL = ("study", "model", "precision", "task", "condition")
COLUMNS = (
    *("id", "section", "claim", "paper", "tolerance", "direction", "measured", "verdict"),
    *("reason", "cells", "note"),
)


class ClaimError(ValueError):
    """A claim is not written as it must be; the message names it and what is allowed."""


@dataclass(frozen=True)
class Claim:
    """One statement of the paper.

    `table`, `where` (column → value or list of values) and `column` say which numbers; with `minus` (or `over`) the number of the row that differs in the columns given there is subtracted (or divided by), and a `column` in it reads another column. `absolute` takes absolute values. `statistic` makes one number of them, from at least `rows` rows:

    - `value`: the one number there is; `mean`, `median`, `min`, `max`; `rows`: how many there are; `distinct`: how many different ones.
    - `count_above`, `count_at_most`: how many lie above, or not above, `threshold`.
    - `largest_sd`: the largest standard deviation over seeds, of all cells that differ in the seed alone.
    - `log_fit`: the smallest R² of a straight line over log2 rank, of all curves that differ in the rank alone.

    `expected` is the paper's number. The claim holds if the number differs from it by `tolerance` at most (`equal`), is not below (`at_least`) or not above it (`at_most`) by more than `tolerance`, or lies strictly above or below it.
    """

    id: str
    section: str
    claim: str
    column: str
    where: Mapping[str, Any]
    expected: float
    table: str = "cells"
    statistic: str = "value"
    minus: Mapping[str, Any] | None = None
    over: Mapping[str, Any] | None = None
    absolute: bool = False
    threshold: float = 0.0
    rows: int = 1
    tolerance: float = 0.0
    direction: str = "equal"
    note: str = ""


@dataclass(frozen=True)
class _Measurement:
    value: float | None
    reason: str = ""
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)


def load_claims(path: str | Path) -> list[Claim]:
    """Read a list of claims. Raises ClaimError naming the claim and the key that is wrong."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise ClaimError(f"{path} must be a list of claims")
    claims = [_claim(entry, f"{path}, claim {n}") for n, entry in enumerate(entries, start=1)]
    ids = [claim.id for claim in claims]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise ClaimError(f"{path} has several claims with the id {', '.join(twice)}")
    return claims


def evaluate(claims: Sequence[Claim], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per claim with the columns `COLUMNS`.

    `tables` maps a table's name (`cells`: the cell tables of all studies, one below the other; else an analysis) to its rows. `verdict` is `reproduced`, `differs`, or `not run` where rows are missing (`reason` says which); `cells` lists the cells that were used, as `study/model/precision/task/condition`, separated by spaces. Raises ClaimError where a claim names a column that its table has not, or where rows are not what the statistic needs.
    """
    rows = []
    for claim in claims:
        measurement = measure(claim, tables)
        verdict = "not run"
        if measurement.value is not None:
            verdict = "reproduced" if holds(claim, measurement.value) else "differs"
        rows.append(
            {
                "id": claim.id,
                "section": claim.section,
                "claim": claim.claim,
                "paper": float(claim.expected),
                "tolerance": float(claim.tolerance),
                "direction": claim.direction,
                "measured": measurement.value,
                "verdict": verdict,
                "reason": measurement.reason,
                "cells": " ".join(_cells(measurement.rows)),
                "note": claim.note,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"measured": float})


def holds(claim: Claim, measured: float) -> bool:
    """Return whether `measured` agrees with what the claim says."""
    slack = claim.tolerance + 1e-9  # shares are quotients: 0.47 - 0.40 must count as 0.07
    difference = measured - claim.expected
    return {
        "equal": abs(difference) <= slack,
        "at_least": difference >= -slack,
        "at_most": difference <= slack,
        "above": difference > 0,
        "below": difference < 0,
    }[claim.direction]


def measure(claim: Claim, tables: Mapping[str, pd.DataFrame]) -> _Measurement:
    """Return the claim's number, or why there is none."""
    if claim.table not in tables:
        return _Measurement(None, f"there is no table {claim.table}")
    table = tables[claim.table].reset_index(drop=True)
    chosen = _select(table, claim.where, claim)
    used = [chosen]
    numbers = _numbers(chosen, claim.column, claim)
    for name, override in (("minus", claim.minus), ("over", claim.over)):
        if override is None:
            continue
        partners = _partners(table, chosen, override, claim)
        column = override.get("column", claim.column)
        others = _numbers(partners, column, claim).to_numpy()
        with np.errstate(divide="ignore", invalid="ignore"):
            numbers = numbers - others if name == "minus" else numbers / others
        used.append(partners)
    if claim.absolute:
        numbers = numbers.abs()
    rows = pd.concat(used)
    if len(numbers) < claim.rows:
        return _Measurement(None, f"{len(numbers)} of {claim.rows} cells were run", rows)
    if not np.isfinite(numbers).all():
        missing = int((~np.isfinite(numbers)).sum())
        return _Measurement(None, f"{missing} of {len(numbers)} numbers are missing", rows)
    return _Measurement(_statistic(claim, chosen, numbers), "", rows)


def _claim(entry: Any, where: str) -> Claim:
    if not isinstance(entry, dict):
        raise ClaimError(f"{where} is not a mapping")
    where = f"{where} ({entry.get('id', 'without an id')})"
    known = {one.name for one in fields(Claim)}
    if unknown := sorted(set(entry) - known):
        raise ClaimError(
            f"{where}: unknown key {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    required = {"id", "section", "claim", "column", "where", "expected"}
    if missing := sorted(required - set(entry)):
        raise ClaimError(f"{where} lacks {', '.join(missing)}")
    for key, allowed in (("direction", DIRECTIONS), ("statistic", STATISTICS)):
        if entry.get(key, allowed[0]) not in allowed:
            raise ClaimError(f"{where}: {key} is {entry[key]!r}, allowed are {', '.join(allowed)}")
    if entry.get("tolerance", 0) < 0:
        raise ClaimError(f"{where}: tolerance is {entry['tolerance']}, but must not be negative")
    return Claim(**{**entry, "section": str(entry["section"])})


def _select(table: pd.DataFrame, where: Mapping[str, Any], claim: Claim) -> pd.DataFrame:
    for column, wanted in where.items():
        if column == "column":
            continue
        values = wanted if isinstance(wanted, list) else [wanted]
        series = _column(table, column, claim)
        if pd.api.types.is_numeric_dtype(series):
            numbers = series.to_numpy(float, na_value=np.nan)
            table = table[np.isclose(numbers[:, None], np.array(values, float)).any(axis=1)]
        else:
            table = table[series.isin([str(value) for value in values])]
    return table


def _partners(
    table: pd.DataFrame, chosen: pd.DataFrame, override: Mapping[str, Any], claim: Claim
) -> pd.DataFrame:
    """Return, for each chosen row, the row of the other selection with the same key; an empty row where there is none."""
    dropped = set(override)
    if "model" in dropped:
        dropped |= {"family", "size_b", "alignment"}
    key = [name for name in KEY if name in table.columns and name not in dropped]
    if not dropped - {"column"}:
        return chosen
    others = _select(table, {**claim.where, **override}, claim)
    index = pd.MultiIndex.from_frame(_plain(others[key]))
    if index.has_duplicates:
        raise ClaimError(
            f"claim {claim.id}: several rows of table {claim.table} fit one row; name more columns in where, minus or over"
        )
    return others.set_index(index).reindex(pd.MultiIndex.from_frame(_plain(chosen[key])))


def _plain(key: pd.DataFrame) -> pd.DataFrame:
    return key.astype(object).where(key.notna(), "")


def _numbers(rows: pd.DataFrame, column: str, claim: Claim) -> pd.Series:
    values = _column(rows, column, claim)
    if claim.statistic == "distinct":
        return pd.Series(pd.factorize(values)[0], index=rows.index, dtype=float)
    return pd.Series(values.to_numpy(float, na_value=np.nan), index=rows.index)


def _column(table: pd.DataFrame, column: str, claim: Claim) -> pd.Series:
    if column not in table:
        raise ClaimError(f"claim {claim.id}: table {claim.table} has no column {column!r}")
    return table[column]


def _statistic(claim: Claim, rows: pd.DataFrame, numbers: pd.Series) -> float:
    if claim.statistic == "value":
        if len(numbers) > 1:
            raise ClaimError(
                f"claim {claim.id}: {len(numbers)} rows of table {claim.table} fit, but statistic value needs one; name more columns in where"
            )
        return float(numbers.iloc[0])
    simple = {
        "mean": numbers.mean,
        "median": numbers.median,
        "min": numbers.min,
        "max": numbers.max,
        "rows": lambda: len(numbers),
        "distinct": numbers.nunique,
        "count_above": lambda: (numbers > claim.threshold).sum(),
        "count_at_most": lambda: (numbers <= claim.threshold + 1e-9).sum(),
    }
    if claim.statistic in simple:
        return float(simple[claim.statistic]())
    varying = "seed" if claim.statistic == "largest_sd" else "rank"
    same = [name for name in ("model", *KEY) if name in rows and name != varying]
    groups = numbers.groupby([_plain(rows[same])[name] for name in same], sort=False)
    if claim.statistic == "largest_sd":
        return float(groups.std(ddof=1).max())
    return min(_fit(rows.loc[group.index, "rank"], group) for _, group in groups)


def _fit(ranks: pd.Series, values: pd.Series) -> float:
    """Return R² of the straight line through `values` over log2 rank."""
    if ranks.nunique() < 3 or values.nunique() < 2:
        return 0.0
    return float(np.corrcoef(np.log2(ranks.to_numpy(float)), values.to_numpy(float))[0, 1] ** 2)


def _cells(rows: pd.DataFrame) -> list[str]:
    names = [name for name in CELL if name in rows]
    paths = []
    for row in rows[names].itertuples(index=False, name=None):
        parts = [str(part) for part in row if isinstance(part, str) and part]
        if parts and "/".join(parts) not in paths:
            paths.append("/".join(parts))
    return paths
