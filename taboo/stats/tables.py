"""The tidy tables: one row per item of each cell, one row per cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from taboo.conditions import Condition
from taboo.stats.csvfile import read_csv, write_csv
from taboo.stats.failure_modes import failure_mode
from taboo.stats.repetition import loop_length
from taboo.stats.retention import accuracy, conditional_retention, marginal_retention, recovery

CELL_KEY = [
    "study",
    "model",
    "family",
    "size_b",
    "alignment",
    "precision",
    "task",
    "condition",
    "mode",
    "rank",
    "temperature",
    "seed",
    "max_new_tokens",
]
ITEM_COLUMNS = [
    *CELL_KEY,
    "item_id",
    "position",
    "correct",
    "outcome",
    "baseline_correct",
    "tokens",
    "words",
    "interventions",
    "delta_s_total",
    "finish_reason",
    "repetition",
    "rule",
    "details",
    "failure",
]
CELL_COLUMNS = [
    *CELL_KEY,
    "n",
    "n_correct",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "n_baseline_correct",
    "n_retained",
    "retention",
    "retention_low",
    "retention_high",
    "marginal_retention",
    "n_baseline_wrong",
    "n_recovered",
    "recovery",
    "interventions",
    "interventions_per_token",
    "delta_s_per_intervention",
    "delta_s_total",
    "delta_s_per_word",
    "tokens",
    "length_expansion",
    "truncation_rate",
    "repetition_rate",
]
CELL_KINDS = (
    dict.fromkeys(
        ["study", "model", "family", "alignment", "precision", "task", "condition", "mode"], "text"
    )
    | dict.fromkeys(CELL_COLUMNS[CELL_COLUMNS.index("n") :], "number")
    | dict.fromkeys(["size_b", "temperature"], "number")
    | dict.fromkeys(["rank", "max_new_tokens", "n", "n_correct"], "integer")
    | dict.fromkeys(["seed", "n_baseline_correct", "n_retained"], "integer")
    | dict.fromkeys(["n_baseline_wrong", "n_recovered"], "integer")
)


@dataclass(frozen=True)
class CellInput:
    """One cell with its scores: what names it, its generations and their verdicts.

    `cell` has the columns of a cell file, `scores` those of a score file, both in sample order and with the same items (docs/architecture.md).
    """

    study: str
    model: str
    family: str
    size_b: float
    alignment: str
    precision: str
    task: str
    condition: Condition
    cell: pd.DataFrame
    scores: pd.DataFrame

    @property
    def name(self) -> str:
        """The cell's name in errors: `model/precision/task/condition`."""
        return f"{self.model}/{self.precision}/{self.task}/{self.condition.name}"


def item_table(cells: Sequence[CellInput]) -> pd.DataFrame:
    """Return one row per item of each cell, with the columns `ITEM_COLUMNS`, in the order given.

    `baseline_correct` comes from the cell of the same study, model, precision, task, temperature, seed and budget with rank 0, and is missing where there is none. Raises ValueError naming the cell where scores and cell differ in their items, a cell occurs twice, or a taboo cell has other items than its baseline.
    """
    seen = set()
    for cell in cells:
        if (cell.study, cell.name) in seen:
            raise ValueError(f"{cell.name} occurs twice in study {cell.study}")
        seen.add((cell.study, cell.name))
    baselines = {_pairing_key(cell): cell for cell in cells if cell.condition.rank == 0}
    frames = [_items_of(cell, baselines.get(_pairing_key(cell))) for cell in cells]
    if not frames:
        return pd.DataFrame(columns=ITEM_COLUMNS)
    return pd.concat(frames, ignore_index=True)[ITEM_COLUMNS]


def cell_table(items: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of an item table, with the columns `CELL_COLUMNS` (docs/architecture.md says what each means), in the order in which the cells occur.

    What compares a cell with its baseline is missing in the baseline's own row, where there is no baseline, and where it gives a quotient no denominator.
    """
    groups = list(items.groupby(CELL_KEY, sort=False, dropna=False))
    mean_tokens = {
        _baseline_key(row): row["tokens"].mean() for _, row in groups if _is_baseline(row)
    }
    rows = [
        dict(zip(CELL_KEY, key, strict=True))
        | _cell_numbers(cell, mean_tokens.get(_baseline_key(cell)))
        for key, cell in groups
    ]
    return _typed(pd.DataFrame(rows, columns=CELL_COLUMNS))


def write_cells(path: str | Path, cells: pd.DataFrame) -> Path:
    """Write a cell table as csv; the same table gives the same bytes."""
    return write_csv(path, cells[CELL_COLUMNS])


def read_cells(path: str | Path) -> pd.DataFrame:
    """Read a cell table that `write_cells` wrote. Raises ValueError naming the file and the columns it lacks."""
    cells = read_csv(path, CELL_KINDS)
    missing = [column for column in CELL_COLUMNS if column not in cells]
    if missing:
        raise ValueError(f"{path} is no cell table: it lacks {', '.join(missing)}")
    return _typed(cells[CELL_COLUMNS])


def _pairing_key(cell: CellInput) -> tuple:
    condition = cell.condition
    return (
        *(cell.study, cell.model, cell.precision, cell.task),
        *(condition.temperature, condition.seed, condition.max_new_tokens),
    )


def _items_of(cell: CellInput, baseline: CellInput | None) -> pd.DataFrame:
    generations, scores, condition = cell.cell, cell.scores, cell.condition
    ids = list(generations["item_id"])
    if ids != list(scores["item_id"]):
        raise ValueError(
            f"{cell.name}: the score file has other items than the cell file, or another order; score the cell again"
        )
    correct = scores["correct"].to_numpy(bool)
    right_before = pd.array([pd.NA] * len(ids), dtype="boolean")
    if baseline is not None:
        verdicts = dict(zip(baseline.scores["item_id"], baseline.scores["correct"], strict=True))
        if verdicts.keys() != set(ids):
            raise ValueError(
                f"{cell.name} and {baseline.name} have different items; they must share one sample"
            )
        right_before = pd.array([bool(verdicts[item]) for item in ids], dtype="boolean")
    reasons = list(generations["finish_reason"])
    loops = [
        loop_length(tokens[:-1] if reason == "eos" else tokens) > 0
        for tokens, reason in zip(generations["token_ids"], reasons, strict=True)
    ]
    outcomes, rules = list(scores["outcome"]), list(scores["rule"])
    failed = right_before.fillna(False).to_numpy(bool) & ~correct & (condition.rank > 0)
    failures = [
        failure_mode(outcome, rule, reason, loop) if fails else ""
        for fails, outcome, rule, reason, loop in zip(
            failed, outcomes, rules, reasons, loops, strict=True
        )
    ]
    seed = pd.array([pd.NA if condition.seed is None else condition.seed] * len(ids), dtype="Int64")
    return pd.DataFrame(
        {
            "study": cell.study,
            "model": cell.model,
            "family": cell.family,
            "size_b": float(cell.size_b),
            "alignment": cell.alignment,
            "precision": cell.precision,
            "task": cell.task,
            "condition": condition.name,
            "mode": condition.mode,
            "rank": condition.rank,
            "temperature": float(condition.temperature),
            "seed": seed,
            "max_new_tokens": condition.max_new_tokens,
            "item_id": ids,
            "position": range(len(ids)),
            "correct": correct,
            "outcome": outcomes,
            "baseline_correct": right_before,
            "tokens": [len(tokens) for tokens in generations["token_ids"]],
            "words": [len(text.split()) for text in generations["text"]],
            "interventions": [int(np.sum(flags)) for flags in generations["intervened"]],
            "delta_s_total": [float(np.sum(bits, dtype=float)) for bits in generations["delta_s"]],
            "finish_reason": reasons,
            "repetition": loops,
            "rule": rules,
            "details": list(scores["details"]),
            "failure": failures,
        }
    )


def _is_baseline(cell: pd.DataFrame) -> bool:
    return cell["rank"].iat[0] == 0


def _baseline_key(cell: pd.DataFrame) -> tuple:
    row = cell.iloc[0]
    seed = None if pd.isna(row["seed"]) else int(row["seed"])
    columns = ["study", "model", "precision", "task", "temperature", "max_new_tokens"]
    return (*(row[column] for column in columns), seed)


def _cell_numbers(cell: pd.DataFrame, baseline_tokens: float | None) -> dict:
    correct = cell["correct"].to_numpy(bool)
    right = accuracy(correct)
    numbers = {
        "n": right.total,
        "n_correct": right.count,
        "accuracy": right.value,
        "accuracy_low": right.low,
        "accuracy_high": right.high,
        "interventions": cell["interventions"].mean(),
        "interventions_per_token": _over(cell["interventions"].sum(), cell["tokens"].sum()),
        "delta_s_per_intervention": _over(cell["delta_s_total"].sum(), cell["interventions"].sum()),
        "delta_s_total": cell["delta_s_total"].mean(),
        "delta_s_per_word": _over(cell["delta_s_total"].sum(), cell["words"].sum()),
        "tokens": cell["tokens"].mean(),
        "truncation_rate": (cell["finish_reason"] == "length").mean(),
        "repetition_rate": cell["repetition"].mean(),
    }
    if cell["baseline_correct"].notna().all():
        before = cell["baseline_correct"].to_numpy(bool)
        kept, won = conditional_retention(before, correct), recovery(before, correct)
        numbers |= {"n_baseline_correct": kept.total, "n_baseline_wrong": won.total}
        if _is_baseline(cell):
            return numbers
        numbers |= {
            "n_retained": kept.count,
            "retention": kept.value,
            "retention_low": kept.low,
            "retention_high": kept.high,
            "marginal_retention": marginal_retention(before, correct),
            "n_recovered": won.count,
            "recovery": won.value,
            "length_expansion": _over(numbers["tokens"], baseline_tokens or 0),
        }
    return numbers


def _over(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _typed(cells: pd.DataFrame) -> pd.DataFrame:
    types = {"text": "str", "number": "float64", "integer": "int64"}
    gaps = {"seed", "n_baseline_correct", "n_retained", "n_baseline_wrong", "n_recovered"}
    return cells.astype(
        {name: "Int64" if name in gaps else types[kind] for name, kind in CELL_KINDS.items()}
    )
