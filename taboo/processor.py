"""The mask of Decoding-Level Taboo (paper eq. 1 and 2)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from transformers import LogitsProcessor

from taboo.conditions import Mode
from taboo.word_starts import Kind, WordStarts


class Intervention(NamedTuple):
    """One step for B rows: masked logits [B, V], nominal token ids [B], where a mask was put [B]."""

    masked: torch.Tensor
    nominal: torch.Tensor
    intervened: torch.Tensor


def intervene(
    logits: torch.Tensor, kinds: torch.Tensor, ranks: torch.Tensor, mid_word: torch.Tensor
) -> Intervention:
    """Mask the top tokens of each row where its nominal token calls for it (paper eq. 2).

    `logits` is [B, V] and is not changed; `kinds` is the uint8 [V] of a word-start table; `ranks` [B] is the taboo rank i of each row (0: never masked); `mid_word` [B] (bool) selects the mid-word ablation. Rows of the vocabulary without a piece are masked first, everywhere, so that they are neither nominal nor counted among the top i. Exactly i tokens are masked, ties going to the lowest id.

    Raises ValueError for NaN or +inf logits, naming the rows.
    """
    largest = logits.amax(-1)  # NaN if the row has one
    broken = torch.isnan(largest) | (largest == torch.inf)
    if broken.any():
        rows = broken.nonzero().flatten().tolist()
        raise ValueError(f"NaN or infinite logits in row(s) {rows}")
    present = logits.masked_fill(kinds == Kind.ABSENT, -torch.inf)
    nominal = lowest_argmax(present)
    kind = kinds[nominal]
    wanted = torch.where(mid_word, kind == Kind.CONTINUATION, kind == Kind.WORD_START)
    intervened = wanted & (ranks > 0)
    if not intervened.any():
        return Intervention(present, nominal, intervened)
    top = top_mask(present, torch.where(intervened, ranks, 0))
    return Intervention(present.masked_fill(top, -torch.inf), nominal, intervened)


def lowest_argmax(logits: torch.Tensor) -> torch.Tensor:
    """The id [B] of the largest logit of each row of [B, V], ties going to the lowest id.

    Many times faster on CPUs than `argmax`, which is not vectorised there and promises no order.
    """
    rows, width = logits.shape
    parts = logits.view(rows, math.gcd(width, 64), -1)
    largest = parts.amax(-1)
    first = (largest == largest.amax(-1, keepdim=True)).int().argmax(-1)
    part = parts[torch.arange(rows, device=logits.device), first]
    within = (part == part.amax(-1, keepdim=True)).int().argmax(-1)
    return first * parts.shape[-1] + within


def top_mask(logits: torch.Tensor, ranks: torch.Tensor) -> torch.Tensor:
    """Bool [B, V]: the `ranks[b]` highest logits of each row b, ties going to the lowest id."""
    largest = int(ranks.max())
    if largest >= logits.shape[-1]:
        raise ValueError(f"rank {largest} masks the whole vocabulary of {logits.shape[-1]} tokens")
    if largest == 0:
        return torch.zeros_like(logits, dtype=torch.bool)
    values = logits.topk(largest, dim=-1).values
    threshold = values.gather(-1, (ranks - 1).clamp(min=0)[:, None])
    above = logits > threshold
    level = logits == threshold
    room = ranks - above.sum(-1)
    crowded = level.sum(-1) > room
    if crowded.any():
        level[crowded] &= level[crowded].cumsum(-1) <= room[crowded, None]
    return (above | level) & (ranks > 0)[:, None]


class TabooLogitsProcessor(LogitsProcessor):
    """Decoding-Level Taboo for Hugging Face `generate` (paper section 2.4).

    Args:
        word_starts: the model's word-start table.
        rank: the taboo rank i, one for all rows or one per row; 0 masks nothing but padded rows.
        mode: "word_start", or "mid_word" for the paper's ablation.

    Stateless: what it does depends on `scores` alone. It works under greedy search and sampling; put it before the warpers, since it reads unscaled logits.
    """

    def __init__(
        self, word_starts: WordStarts, rank: int | Sequence[int], mode: Mode = "word_start"
    ):
        ranks = list(rank) if isinstance(rank, Sequence) else [rank]
        if not ranks or any(not isinstance(r, int) or r < 0 for r in ranks):
            raise ValueError(f"rank must be an integer from 0 or a list of such, not {rank!r}")
        if mode not in ("word_start", "mid_word"):
            raise ValueError(f"mode must be 'word_start' or 'mid_word', not {mode!r}")
        present = int((word_starts.kinds != Kind.ABSENT).sum())
        if max(ranks) >= present:
            raise ValueError(f"rank {max(ranks)} masks the whole vocabulary of {present} tokens")
        self.kinds = torch.from_numpy(word_starts.kinds)
        self.ranks = torch.tensor(ranks)
        self.mid_word = mode == "mid_word"

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Masked copy of `scores` [B, V]; `input_ids` [B, T] is not looked at."""
        rows, width = scores.shape
        if width != len(self.kinds):
            raise ValueError(
                f"scores have {width} columns, the word-start table {len(self.kinds)}: "
                "the table was made for another model"
            )
        if len(self.ranks) not in (1, rows):
            raise ValueError(f"{len(self.ranks)} ranks were given for a batch of {rows} rows")
        device = scores.device
        return intervene(
            scores,
            self.kinds.to(device),
            self.ranks.to(device).expand(rows),
            torch.full((rows,), self.mid_word, device=device),
        ).masked
