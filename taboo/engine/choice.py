"""Which token comes next: greedy or sampled, with the top ranks masked where the rule says so."""

import hashlib
import math
from typing import NamedTuple

import torch

from taboo.conditions import Condition
from taboo.processor import intervene
from taboo.surprisal import injected_surprisal
from taboo.word_starts import Kind

_SPARE = 8
"""How many more top values are looked at than masked, so that most ties are settled among them."""


class Choice(NamedTuple):
    """One step of n rows: chosen and nominal token ids, where a mask was put, ΔS in bits; all [n]."""

    chosen: torch.Tensor
    nominal: torch.Tensor
    intervened: torch.Tensor
    delta_s: torch.Tensor


class BrokenLogits(ValueError):
    """NaN or +inf among the logits; `row` is the first row that has one."""

    def __init__(self, row: int):
        super().__init__(f"NaN or infinite logits in row {row}")
        self.row = row


def choose_greedy(
    logits: torch.Tensor,
    kinds: torch.Tensor,
    absent: torch.Tensor,
    ranks: torch.Tensor,
    mid_word: torch.Tensor,
    max_rank: int,
) -> Choice:
    """The greedy choice of each row: the same as `intervene` and then the lowest of the largest.

    Only the token that wins is wanted, not the masked logits, so nothing of the size of `logits` [n, V] is copied: the top values are found among the maxima of blocks of the vocabulary. `absent` holds the ids of padded vocabulary rows; their logits are overwritten. `max_rank` is at least the largest of `ranks`.

    Raises BrokenLogits for NaN or +inf.
    """
    if len(absent):
        logits.index_fill_(-1, absent, -torch.inf)
    values, ids = _top(logits, max_rank + 1 + _SPARE)
    broken = ~torch.isfinite(values[:, 0])
    if broken.any():
        raise BrokenLogits(int(broken.nonzero()[0]))
    nominal = _of_rank(logits, values, ids, torch.zeros_like(ranks))
    kind = kinds[nominal]
    wanted = torch.where(mid_word, kind == Kind.CONTINUATION, kind == Kind.WORD_START)
    intervened = wanted & (ranks > 0)
    chosen = _of_rank(logits, values, ids, torch.where(intervened, ranks, 0))
    return Choice(
        chosen, nominal, intervened, injected_surprisal(logits, nominal, chosen, intervened)
    )


def _top(logits: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` largest values of each row and their ids, by value, then by id.

    Ties with the smallest of them may be left out; all larger values are there.
    """
    n, width = logits.shape
    count = min(count, width)
    split = math.gcd(width, 64)
    if width // split < count:
        split = 1
    # A block is every (width / split)-th token: maxima over a strided axis are the fast ones.
    blocks = logits.view(n, split, width // split)
    maxima = blocks.amax(1)
    best = maxima.topk(count, dim=-1).indices
    candidates = blocks.gather(2, best[:, None].expand(n, split, count)).reshape(n, -1)
    values, where = candidates.topk(count, dim=-1)
    ids = where // count * (width // split) + best.gather(1, where % count)
    ids, order = ids.sort(dim=-1)
    values, order = values.gather(1, order).sort(dim=-1, descending=True, stable=True)
    return values, ids.gather(1, order)


def _of_rank(
    logits: torch.Tensor, values: torch.Tensor, ids: torch.Tensor, ranks: torch.Tensor
) -> torch.Tensor:
    """The id at place `ranks` [n] (from 0) of each row, by value, then by id."""
    result = ids.gather(1, ranks[:, None])[:, 0]
    value = values.gather(1, ranks[:, None])[:, 0]
    unsettled = value == values[:, -1]
    for row in unsettled.nonzero().flatten().tolist() if values.shape[1] < logits.shape[1] else ():
        larger = int((values[row] > value[row]).sum())
        level = (logits[row] == value[row]).nonzero().flatten()
        result[row] = level[ranks[row] - larger]
    return result


def choose_sampled(
    logits: torch.Tensor,
    kinds: torch.Tensor,
    ranks: torch.Tensor,
    mid_word: torch.Tensor,
    temperatures: torch.Tensor,
    uniforms: torch.Tensor,
) -> Choice:
    """A draw from each row's masked distribution at its temperature, top-p 1 and no top-k.

    `uniforms` float64 [n] in [0, 1) are the random numbers: the token is the first whose cumulative probability exceeds its row's. Raises BrokenLogits for NaN or +inf.
    """
    try:
        masked, nominal, intervened = intervene(logits, kinds, ranks, mid_word)
    except ValueError:
        broken = torch.isnan(logits) | (logits == torch.inf)
        if not broken.any():
            raise
        raise BrokenLogits(int(broken.any(-1).nonzero()[0])) from None
    probabilities = torch.softmax(masked.float() / temperatures[:, None].float(), -1)
    cumulative = probabilities.cumsum(-1, dtype=torch.float64)
    target = uniforms.to(logits.device) * cumulative[:, -1]
    chosen = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    # Rounding can put the target on the total: then the last token that has any probability.
    last = (cumulative < cumulative[:, -1:]).sum(-1)
    chosen = torch.minimum(chosen, last)
    return Choice(
        chosen, nominal, intervened, injected_surprisal(logits, nominal, chosen, intervened)
    )


def uniforms_of(condition: Condition, item_id: str) -> torch.Tensor:
    """The random numbers of one request, float64 [max_new_tokens], from its seed and its item.

    Its own generator, so that a sample does not depend on what else is generated or in which order.
    """
    digest = hashlib.sha256(f"{condition.seed}\n{item_id}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.rand(condition.max_new_tokens, generator=generator, dtype=torch.float64)
