"""What a scorer returns."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """One scored text.

    `correct`: the verdict that accuracy counts. `outcome`: a short word that sorts the texts (`correct`, `wrong`, `unparsed`, `timeout`, …). `extracted`: the answer that was read, or None. `rule`: which rule read it. `details`: further JSON-able facts (strict and loose verdicts, messages).
    """

    correct: bool
    outcome: str
    extracted: str | None
    rule: str
    details: dict[str, Any] = field(default_factory=dict)


class ScoreError(ValueError):
    """A text can't be scored: the task, the item or the number of texts is wrong."""
