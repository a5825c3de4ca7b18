"""The scorers: how a generated text is read. One module per task, loaded when it is asked for.

A scorer module has `check_item(item)`, which raises ScoreError if it can't score against the item, and either `score_text(item, text)` or, where texts are scored together, `score_texts(items, texts, sandbox=…)`. It may have `cell_warnings(verdicts)`: what a reader of the whole cell should know.
"""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from taboo.scoring.base import ScoreError, Verdict

SCORERS: tuple[str, ...] = (
    "gsm8k",
    "mmlu",
    "triviaqa",
    "humaneval",
    "ifeval",
    "ifeval_forbidden_words",
)

__all__ = ["SCORERS", "ScoreError", "ScoreWarning", "Verdict", "score"]


class ScoreWarning(UserWarning):
    """A cell was scored, but its verdicts look as if the rule did not fit the texts."""


def score(
    task: str,
    items: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    sandbox: str = "namespaces",
) -> list[Verdict]:
    """One verdict per text, in order; deterministic.

    `items` are records as the task reads them, one per text. `sandbox` matters to tasks that run code: `namespaces`, or `none` to run it unprotected. Raises ScoreError for an unknown task or an item that can't be scored, and `sandbox.SandboxError` where the sandbox can't be had. Issues a ScoreWarning where the verdicts of the cell as a whole are suspicious.
    """
    if task not in SCORERS:
        raise ScoreError(f"there is no scorer for {task!r}; known: {', '.join(SCORERS)}")
    if len(items) != len(texts):
        raise ScoreError(f"{task}: {len(items)} items, but {len(texts)} texts")
    scorer = importlib.import_module(f"taboo.scoring.{task}")
    for position, item in enumerate(items):
        try:
            scorer.check_item(item)
        except ScoreError as error:
            name = item.get("item_id", f"number {position}")
            raise ScoreError(f"{task}, item {name}: {error}") from error
    if hasattr(scorer, "score_texts"):
        verdicts = scorer.score_texts(items, texts, sandbox=sandbox)
    else:
        verdicts = [scorer.score_text(item, text) for item, text in zip(items, texts, strict=True)]
    for message in getattr(scorer, "cell_warnings", lambda verdicts: [])(verdicts):
        warnings.warn(f"{task}: {message}", ScoreWarning, stacklevel=2)
    return verdicts
