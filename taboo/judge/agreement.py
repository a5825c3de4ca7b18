"""How two raters agree: raw, and corrected for chance in two ways."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

COLUMNS = (
    *("study", "task", "group", "first", "second", "n_asked", "n_unparsed", "n", "n_agree"),
    *("agreement", "low", "high", "kappa", "ac1"),
    *("n_right_right", "n_right_wrong", "n_wrong_right", "n_wrong_wrong"),
)
_TEXTS = ("study", "task", "group", "first", "second")


@dataclass(frozen=True)
class Confusion:
    """Counts of the verdicts of two raters on the same items, the first rater's verdict first."""

    right_right: int
    right_wrong: int
    wrong_right: int
    wrong_wrong: int

    @property
    def n(self) -> int:
        """All items."""
        return self.right_right + self.right_wrong + self.wrong_right + self.wrong_wrong

    @property
    def n_agree(self) -> int:
        """Items with the same verdict of both."""
        return self.right_right + self.wrong_wrong

    @property
    def agreement(self) -> float | None:
        """Share of items with the same verdict; None without items."""
        return self.n_agree / self.n if self.n else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95 % Wilson interval of the agreement; rounding can't put a bound beyond the share."""
        if not self.n:
            return None, None
        low, high = proportion_confint(self.n_agree, self.n, alpha=0.05, method="wilson")
        share = self.n_agree / self.n
        return float(np.clip(low, 0.0, share)), float(np.clip(high, share, 1.0))

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (1960): agreement beyond that of independent raters with the same habits.

        None where it does not exist: without items, and where both give one and the same verdict throughout.
        """
        n = self.n
        first_right = self.right_right + self.right_wrong
        second_right = self.right_right + self.wrong_right
        # In whole numbers, n² times as large, so that no rounding hides a kappa of 0.
        chance = first_right * second_right + (n - first_right) * (n - second_right)
        return (n * self.n_agree - chance) / (n * n - chance) if chance < n * n else None

    @property
    def ac1(self) -> float | None:
        """Gwet's AC1 (2008): agreement beyond chance, which keeps its meaning where nearly all verdicts are alike. None without items."""
        n = self.n
        right = 2 * self.right_right + self.right_wrong + self.wrong_right
        chance = right * (2 * n - right)
        return (2 * n * self.n_agree - chance) / (2 * n * n - chance) if n else None


def confusion(first: pd.Series, second: pd.Series) -> Confusion:
    """Count verdicts `right` and `wrong`; items on which either rater has none are left out."""
    pairs = list(zip(first, second, strict=True))
    return Confusion(*(pairs.count((a, b)) for a in ("right", "wrong") for b in ("right", "wrong")))


def agreement(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return the agreement of two raters per task and group, with the columns `COLUMNS`.

    `rows` has one row per item with `study`, `task`, `condition`, `rank` and each rater's verdict in the column of its name: `right`, `wrong`, or anything else for none. Groups of a task are `all`, `baseline` (rank 0), `taboo` (above), then each condition with a name of its own. `n_asked` counts all items of the group, `n_unparsed` those on which a rater has no verdict; the rest is computed from the other `n`.
    """
    records = [
        {
            "study": study,
            "task": task,
            "group": name,
            "first": first,
            "second": second,
            **_numbers(group[first], group[second]),
        }
        for (study, task), of_task in rows.groupby(["study", "task"], sort=False)
        for name, group in _groups(of_task)
    ]
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    counts = [name for name in COLUMNS if name == "n" or name.startswith("n_")]
    numbers = [name for name in COLUMNS if name not in (*_TEXTS, *counts)]
    types = dict.fromkeys(_TEXTS, "str") | dict.fromkeys(counts, "int64")
    return frame.astype(types | dict.fromkeys(numbers, "float64"))


def _groups(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    groups = [
        ("all", rows),
        ("baseline", rows[rows["rank"] == 0]),
        ("taboo", rows[rows["rank"] > 0]),
    ]
    by_dose = rows.sort_values("rank", kind="stable").groupby("condition", sort=False)
    groups += [(str(name), group) for name, group in by_dose if name != "baseline"]
    return [(name, group) for name, group in groups if len(group)]


def _numbers(first: pd.Series, second: pd.Series) -> dict[str, float | None]:
    counts = confusion(first, second)
    low, high = counts.interval
    return {
        "n_asked": len(first),
        "n_unparsed": len(first) - counts.n,
        "n": counts.n,
        "n_agree": counts.n_agree,
        "agreement": counts.agreement,
        "low": low,
        "high": high,
        "kappa": counts.kappa,
        "ac1": counts.ac1,
        "n_right_right": counts.right_right,
        "n_right_wrong": counts.right_wrong,
        "n_wrong_right": counts.wrong_right,
        "n_wrong_wrong": counts.wrong_wrong,
    }
