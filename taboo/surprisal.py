"""Injected surprisal ΔS, the dose in bits (paper section 2.3)."""

import math
from collections.abc import Sequence

import torch


def injected_surprisal(
    logits: torch.Tensor, nominal: torch.Tensor, chosen: torch.Tensor, intervened: torch.Tensor
) -> torch.Tensor:
    """ΔS of one step in bits (paper eq. 3): log2 p(nominal) − log2 p(chosen), both unmasked.

    `logits` is the unmasked [B, V]; `nominal`, `chosen` (token ids) and `intervened` (bool) are [B]. Returns float32 [B], zero where nothing was masked. The two terms share the softmax's normaliser, so it cancels and only the two logits are read; the nominal one is the largest, so ΔS ≥ 0.
    """
    ids = torch.stack([nominal, chosen], dim=-1)
    values = logits.gather(-1, ids).float()
    bits = (values[:, 0] - values[:, 1]) / math.log(2)
    return torch.where(intervened, bits, 0.0)


def total_surprisal(delta_s: Sequence[float]) -> float:
    """S_total of one generation in bits (paper eq. 4)."""
    return math.fsum(delta_s)


def mean_surprisal(delta_s: Sequence[float], intervened: Sequence[bool]) -> float | None:
    """Mean injected surprisal per intervention in bits (paper section 2.3), None without one."""
    interventions = sum(intervened)
    return total_surprisal(delta_s) / interventions if interventions else None
