"""Choosing the cells that a figure shows, and saying in words which they are."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from taboo.figures.style import (
    family_label,
    ordered_families,
    ordered_tasks,
    size_label,
    task_label,
)

MODEL = ["family", "size_b", "alignment", "model"]
SHOWN = [*MODEL, "size_name"]


def select(
    cells: pd.DataFrame,
    options: dict[str, Any],
    mode: str = "word_start",
    greedy: bool = True,
    one_precision: bool = True,
) -> pd.DataFrame:
    """Return the cells that a figure shows: one per model, task and condition.

    Kept are the baselines and the cells of `mode`, greedy ones where `greedy`, and of these what the options `tasks`, `families`, `sizes`, `precision` and `max_new_tokens` name (each may be left out). A cell that occurs in several studies is taken from the study where it has the most items. Raises ValueError where a model has several precisions or budgets of one task and the option that chooses is not set.
    """
    cells = cells.reset_index(drop=True)
    kept = cells[(cells["rank"] == 0) | (cells["mode"] == mode)]
    if greedy:
        kept = kept[kept["temperature"] == 0]
    for option, column in (("tasks", "task"), ("families", "family"), ("sizes", "size_b")):
        if options.get(option) is not None:
            kept = kept[kept[column].isin(options[option])]
    for column in ("precision", "max_new_tokens"):
        if options.get(column) is not None:
            kept = kept[kept[column] == options[column]]
        elif column == "max_new_tokens" or one_precision:
            _one_each(kept, column)
    kept = kept.sort_values("n", ascending=False, kind="stable")
    kept = kept.drop_duplicates(["model", "precision", "task", "condition"])
    return kept.sort_index()


def complete(cells: pd.DataFrame, value: str, doses_only: bool = True) -> pd.DataFrame:
    """Return one row per model, task and rank that occur in `cells`, with a column `status` and the size as text in `size_name`.

    `status` is `ok`, `missing` (no such cell), `no baseline` (`value` compares with a baseline that was not run) or `n/a` (`value` is not defined, as a retention is not where nothing was right at baseline). With `doses_only` the baseline is left out.
    """
    if cells.empty:
        return cells.assign(size_name="", status="")
    ranks = sorted(rank for rank in cells["rank"].unique() if rank > 0 or not doses_only)
    models = cells[MODEL].drop_duplicates()
    tasks = pd.DataFrame({"task": ordered_tasks(cells["task"])})
    grid = models.merge(tasks, how="cross").merge(pd.DataFrame({"rank": ranks}), how="cross")
    full = grid.merge(cells, on=[*MODEL, "task", "rank"], how="left")
    full["status"] = "ok"
    full.loc[full[value].isna(), "status"] = "n/a"
    full.loc[full[value].isna() & full["n_baseline_correct"].isna(), "status"] = "no baseline"
    full.loc[full["n"].isna(), "status"] = "missing"
    full["size_name"] = [
        size_label(size, model) for size, model in zip(full["size_b"], full["model"], strict=True)
    ]
    full = full.sort_values(["family", "size_b", "alignment", "model"], kind="stable")
    return full.reset_index(drop=True)


def model_label(row: Any) -> str:
    """Return `Qwen2.5 7B instruct` for a row with family, size and alignment."""
    return f"{family_label(row.family)} {row.size_name} {row.alignment}"


def count_sentence(data: pd.DataFrame) -> str:
    """Say how many items the cells have: `n = 500 items per cell (HumanEval: 164).`"""
    sizes = data.dropna(subset=["n"]).groupby("task")["n"].agg(lambda n: tuple(sorted(set(n))))
    if sizes.empty:
        return "No cell of this figure has been run."
    usual = sizes.mode().iat[0] if sizes.nunique() > 1 else sizes.iat[0]
    others = [
        f"{task_label(task)}: {_numbers(sizes[task])}"
        for task in ordered_tasks(pd.Series(sizes.index))
        if sizes[task] != usual
    ]
    rest = f" ({'; '.join(others)})" if others else ""
    return f"n = {_numbers(usual)} items per cell{rest}."


def gap_sentence(data: pd.DataFrame, undefined: str = "no item right at baseline") -> str:
    """Say which cells are missing, and which have no value because of `undefined`."""
    parts = []
    for status, words in (
        ("missing", "Missing (not run)"),
        ("no baseline", "Without a baseline (not run)"),
        ("n/a", f"Not defined ({undefined})"),
    ):
        rows = data[data["status"] == status]
        if rows.empty:
            continue
        cells = [
            f"{model_label(first)} on {task_label(first.task)} ({_ranks(group['rank'])})"
            for _, group in rows.groupby([*MODEL, "task"], sort=False)
            for first in [group.iloc[0]]
        ]
        listed = "; ".join(cells[:6]) + (f"; and {len(cells) - 6} more" if len(cells) > 6 else "")
        parts.append(f"{words}: {listed}.")
    return " ".join(parts) or ("" if data.empty else "No cell is missing.")


def sentences(parts: Iterable[str]) -> str:
    """Join the non-empty parts of a caption."""
    return " ".join(part for part in parts if part)


def model_sentence(data: pd.DataFrame) -> str:
    """List the models that are shown, by family: `Qwen2.5 (7B base, 7B instruct)`."""
    if data.empty:
        return ""
    parts = []
    for family in ordered_families(data["family"]):
        models = data[data["family"] == family][SHOWN].drop_duplicates()
        names = ", ".join(f"{m.size_name} {m.alignment}" for m in models.itertuples())
        parts.append(f"{family_label(family)} ({names})")
    return f"Models: {'; '.join(parts)}."


def _one_each(cells: pd.DataFrame, column: str) -> None:
    counts = cells.groupby(["model", "task"])[column].nunique()
    if (counts > 1).any():
        model, task = counts[counts > 1].index[0]
        found = sorted(set(cells[(cells["model"] == model) & (cells["task"] == task)][column]))
        raise ValueError(
            f"{model} on {task} has cells with {column} {', '.join(map(str, found))}: set the figure's option {column!r} to one of them"
        )


def _numbers(values: Iterable[float]) -> str:
    return " or ".join(f"{value:g}" for value in values)


def _ranks(ranks: pd.Series) -> str:
    return "i = " + ", ".join(f"{rank:g}" if rank else "baseline" for rank in sorted(set(ranks)))
