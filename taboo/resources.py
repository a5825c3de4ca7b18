"""What a job asks of a cluster: GPU memory, the smallest card that has it, host memory, time.

All of it is estimated from what the configuration says of a model (its size) and a cell (precision, items, budget), since a job is sized before anything of the model is on disk. The estimates err on the large side; a job that still runs out of memory or time is tried again with more and goes on from its journal.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

SNAKEMAKE_MB = 450
"""Host memory of the two Snakemake processes around every cluster job (measured: 190 MB each, 220 MB with 1,000 models)."""

BYTES_PER_PARAMETER = {"fp32": 4.0, "bf16": 2.0, "int8": 1.0, "nf4": 0.5625}
"""Weights of linear layers; nf4 has a 4-byte scale per 64 weights."""

SLOTS, TOKENS = 8, 1536
"""The least that is worth running: requests side by side, and prompt and answer of each."""


class FitsNoCard(ValueError):
    """No card of the cluster holds the cell."""


@dataclass(frozen=True)
class Card:
    """A kind of GPU as the cluster names it: `model` is its gres type, None where GPUs have none."""

    model: str | None
    memory_gb: float
    partition: str


def parse_cards(text: str) -> tuple[Card, ...]:
    """Cards from `model:GB:partition`, several separated by spaces, smallest first.

    `gpu` as the model stands for a cluster whose GPUs have no type, and is then the only one. Raises ValueError naming the entry that can't be read.
    """
    cards = []
    for entry in text.split():
        model, _, rest = entry.partition(":")
        memory, _, partition = rest.partition(":")
        try:
            gb = float(memory)
        except ValueError:
            gb = math.nan
        if not model or not partition or not 0 < gb < math.inf:
            raise ValueError(
                f"gpu_cards: {entry!r} is not of the form model:GB:partition, e.g. a100:80:gpu"
            )
        cards.append(Card(None if model == "gpu" else model, gb, partition))
    if len(cards) > 1 and any(card.model is None for card in cards):
        raise ValueError("gpu_cards: 'gpu' (GPUs without a type) cannot stand beside other cards")
    return tuple(sorted(cards, key=lambda card: card.memory_gb))


def weights_gb(size_b: float, precision: str) -> float:
    """Memory of the weights in GB: linear layers in `precision`, embeddings never below 16 bit.

    `size_b` is in 10^9 parameters. The share of the embeddings is not known beforehand; 0.4 * sqrt(size_b) is about the largest of the four families. Raises ValueError for an unknown precision.
    """
    if precision not in BYTES_PER_PARAMETER:
        raise ValueError(
            f"unknown precision {precision!r}: there are {', '.join(BYTES_PER_PARAMETER)}"
        )
    width = BYTES_PER_PARAMETER[precision]
    embeddings = min(0.4 * math.sqrt(size_b), size_b)
    return width * (size_b - embeddings) + max(width, 2.0) * embeddings


def gpu_memory_gb(size_b: float, precision: str, slots: int | None = None) -> float:
    """GPU memory in GB that a cell needs: weights, key/value cache of `slots` requests, workspace.

    Without `slots` the engine fits them to what is free, so the least useful number counts. A cached token takes up to 0.25 MB * sqrt(size_b) and at most 0.8 MB in the four families (without grouped-query attention: OLMo-2-13B), 2 bytes a value; twice that in fp32.
    """
    token_mb = min(0.25 * math.sqrt(size_b), 0.8) * (2 if precision == "fp32" else 1)
    cache = (slots or SLOTS) * TOKENS * token_mb / 1000
    return 1.05 * weights_gb(size_b, precision) + cache + 2.0


def smallest_card(cards: Iterable[Card], size_b: float, precision: str, slots: int | None) -> Card:
    """The smallest card that holds a cell.

    Raises FitsNoCard with the cell's need and what there is.
    """
    cards = sorted(cards, key=lambda card: card.memory_gb)
    need = gpu_memory_gb(size_b, precision, slots)
    for card in cards:
        if card.memory_gb >= need:
            return card
    there = ", ".join(f"{card.model or 'gpu'} with {card.memory_gb:g} GB" for card in cards)
    raise FitsNoCard(
        f"{size_b:g} B parameters in {precision} need {need:.0f} GB of GPU memory "
        f"({weights_gb(size_b, precision):.0f} GB of it weights), and the cluster has {there}"
    )


def job_memory_mb(own_mb: float, attempt: int = 1) -> int:
    """Host memory to ask for: the job's own, more at each attempt, and Snakemake's around it."""
    return int(own_mb * attempt) + SNAKEMAKE_MB


def generate_memory_mb(size_b: float, precision: str, on_gpu: bool) -> int:
    """Host memory of a generate job, in MB.

    On a GPU the weights pass through in files of at most 5 GB; on a CPU they stay, in the 16 bit (or 32) that they are loaded in.
    """
    if on_gpu:
        return 4000 + 1000 * math.ceil(min(2 * size_b, 5))
    return int(3000 + (4400 if precision == "fp32" else 2200) * size_b)


def generate_minutes(size_b: float, tokens: int, on_gpu: bool) -> int:
    """Time limit of a generate job for at most `tokens` new tokens: three times the expected and half an hour.

    Expected are 5000 / size_b tokens/s on a GPU (at most 1500), and 60 / size_b on two CPU cores.
    """
    speed = min(5000 / size_b, 1500.0) if on_gpu else min(60 / size_b, 300.0)
    return 30 + math.ceil(3 * tokens / speed / 60)
