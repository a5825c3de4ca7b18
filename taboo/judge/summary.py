"""What a judging came to, in a list and in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from taboo.judge.reasons import disagreement_reason

DISAGREEMENT_COLUMNS = (
    *("model", "precision", "task", "condition", "item_id", "question", "reference"),
    *("scorer", "extracted", "rule", "judge", "reply", "reason", "text"),
)
ROW_COLUMNS = (
    *("study", "model", "precision", "task", "condition", "rank", "item_id", "item", "text"),
    *("finish_reason", "scorer", "outcome", "extracted", "rule", "question", "reference"),
    *("code", "reply", "judge"),
)


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows of a judging as a table; it has its columns even without rows, and what is None in a row stays None."""
    records = [{name: row[name] for name in ROW_COLUMNS} for row in rows]
    return pd.DataFrame(records, columns=list(ROW_COLUMNS), dtype=object)


def disagreements(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the generations on which judge and scorer have opposite verdicts, with both texts (the generation and the judge's reply) and the reason where a rule can tell."""
    against = rows[(rows["judge"] != "unparsed") & (rows["judge"] != rows["scorer"])]
    replies = [reply["text"] for reply in against["reply"]]
    reasons = [disagreement_reason(row) for row in against.to_dict("records")]
    return against.assign(reply=replies, reason=reasons)[list(DISAGREEMENT_COLUMNS)]


def describe(
    facts: Mapping[str, Any],
    agreements: pd.DataFrame,
    against: pd.DataFrame,
    human: pd.DataFrame,
    notice: str | None,
) -> str:
    """Return the judging in a few sentences.

    `facts` are those of the judging; `agreements` is the agreement of scorer and judge, `human` that with people (empty without labels), `against` the disagreements.
    """
    if facts["skipped"]:
        return f"The LLM judge, {facts['judge']}, was not asked: {facts['skipped']}. Nothing stands in for it."
    overall = agreements[agreements["group"] == "all"]
    unparsed = int(overall["n_unparsed"].sum())
    sentences = [
        f"The LLM judge was {facts['judge']}.",
        *(_agreement(row) for row in overall.itertuples()),
        f"{unparsed} of {overall['n_asked'].sum()} replies hold no verdict and are left out."
        if unparsed
        else "All replies hold a verdict.",
        _reasons(against),
        *(_agreement(row) for row in human[human["group"] == "all"].itertuples()),
        f"The replies cost {facts['cost_usd']:.2f} USD." if facts["cost_usd"] else "",
        notice or "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _agreement(row: Any) -> str:
    who = f"On {row.task}, {row.first} and {row.second}"
    if not row.n:
        return f"{who} have no item with a verdict of both."
    kappa = "is not estimable" if pd.isna(row.kappa) else f"{row.kappa:.2f}"
    if not pd.isna(row.kappa) and row.kappa <= 0:
        kappa += " (no better than chance)"
    return (
        f"{who} agree on {row.n_agree} of {row.n} ({100 * row.agreement:.0f} %, 95 % interval "
        f"{100 * row.low:.0f} to {100 * row.high:.0f} %); kappa {kappa}, AC1 {row.ac1:.2f}."
    )


def _reasons(against: pd.DataFrame) -> str:
    if against.empty:
        return ""
    counts = against["reason"].value_counts()
    listed = [f"{count} {reason}" for reason, count in counts.items() if reason]
    unexplained = counts.get("", 0)
    if unexplained:
        listed.append(f"{unexplained} without a reason that a rule can tell")
    return f"Disagreements: {', '.join(listed)}."
