"""Numbers and names as the pages show them."""

import re

import pandas as pd

NOT_DEFINED = "n/a"


def percent(value: float | None) -> str:
    """A share as `45 %`; `n/a` where there is none."""
    return NOT_DEFINED if value is None or pd.isna(value) else f"{100 * value:.0f} %"


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    """A number with its unit, `2.4 bits`; `n/a` where there is none."""
    if pd.isna(value):
        return NOT_DEFINED
    return f"{value:.{digits}f} {unit}".rstrip()


def counted(count: float | None, total: float | None) -> str:
    """`5 of 11`; `n/a` where nothing could be counted."""
    if count is None or total is None or pd.isna(count) or pd.isna(total):
        return NOT_DEFINED
    return f"{int(count)} of {int(total)}"


def rate(
    count: float | None,
    total: float | None,
    share: float | None,
    low: float | None,
    high: float | None,
) -> str:
    """A count with its share and the share's 95 % interval, `5 of 11, 45 % (21–72)`; `n/a` for what there is not."""
    of = counted(count, total)
    if of == NOT_DEFINED:
        return of
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return f"{of}, {NOT_DEFINED}"
    return f"{of}, {percent(share)} ({100 * low:.0f}–{100 * high:.0f})"


def short_condition(name: str) -> str:
    """A condition's name as a column is headed: `baseline`, `i=2`, `inside words i=2`, `i=1 T=0.7 seed 0`."""
    name = re.sub(r"_t([\d.]+)_s(\d+)", r" T=\1 seed \2", name)
    name = re.sub(r"_max(\d+)", r" budget \1", name)
    name = re.sub(r"^taboo_i(\d+)", r"i=\1", name)
    return re.sub(r"^midword_i(\d+)", r"inside words i=\1", name)
