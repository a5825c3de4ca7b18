"""Which generations are judged: a seeded subsample, stratified and nested."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

T = TypeVar("T")


def subsample(
    rows: Sequence[T],
    n: int,
    seed: int,
    name: Callable[[T], str],
    stratum: Callable[[T], Hashable],
) -> list[T]:
    """The first `n` rows of the seed's order, which depends on the seed and the rows' names alone.

    Within a stratum rows follow each other in seeded order, the r-th of m at (r + u)/m with a seeded u from 0 to 1 per stratum. So the strata take turns in proportion to their sizes, a smaller subsample is the beginning of a larger one, and since u differs from stratum to stratum the many strata that are too small for a row of their own are represented by some of them. Every row is as likely as any other, so shares of the subsample estimate shares of all rows without weights.

    Raises ValueError if there are fewer than `n` rows.
    """
    if not 0 < n <= len(rows):
        raise ValueError(f"{n} generations are to be judged, but there are {len(rows)}")
    strata: dict[Hashable, list[T]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: _seeded(seed, "row", name(row))):
        strata[stratum(row)].append(row)
    order = [
        ((r + _seeded(seed, "stratum", repr(key))) / len(members), name(row), row)
        for key, members in strata.items()
        for r, row in enumerate(members)
    ]
    order.sort(key=lambda entry: entry[:2])
    return [row for _, _, row in order[:n]]


def _seeded(seed: int, kind: str, name: str) -> Fraction:
    """A number from 0 (included) to 1 (excluded) that follows from seed, kind and name."""
    digest = hashlib.sha256(f"{seed}\n{kind}\n{name}".encode()).digest()
    return Fraction(int.from_bytes(digest[:8]), 2**64)
