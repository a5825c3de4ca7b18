"""Attention over slots: one static key/value cache, one row per generation, a prefix shared by all.

Registered with transformers as an attention implementation, so that a model's own code runs around it. What it computes for a row depends on that row alone, bit for bit: plain matrix products and softmax over a static cache keep this where fused attention kernels do not (docs/engine.md). Keys are stored transposed, `[heads, head_dim, positions]`, which makes the products over them several times faster on CPUs.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import AttentionInterface

IMPLEMENTATION = "taboo_slots"
BLOCK = 64
"""Positions are counted in blocks of this many; what lies beyond a row's end is masked."""
FLOAT32_BLOCK = 128
"""In float32 the product of weights and values is summed in blocks of this many positions, since the order in which the library sums depends on how many there are."""


def round_up(number: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `number`."""
    return -(-number // multiple) * multiple


class Step(Protocol):
    """One forward pass; its `attend` stands in for the model's attention in every layer."""

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> torch.Tensor:
        """Store key and value `[B, heads, L, D]` and attend: `[B, L, query heads, D]`."""
        ...


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    sliding_window: int | None = None,
    *,
    step: Step,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    layer: int = module.layer_idx  # type: ignore[assignment]
    return step.attend(layer, query, key, value, scaling, sliding_window), None


AttentionInterface.register(IMPLEMENTATION, _attention)


@dataclass(frozen=True)
class Context:
    """Keys `[layers, heads, D, T]` and values `[layers, heads, T, D]` of `length` tokens, T ≥ length.

    Positions from `length` on hold zeros and are masked.
    """

    keys: torch.Tensor
    values: torch.Tensor
    length: int

    @property
    def width(self) -> int:
        """The number of positions stored, a multiple of the block."""
        return self.keys.shape[-1]


def empty_context(shape: "CacheShape", length: int) -> Context:
    """A context with room for `length` tokens, which its prefill fills."""
    width = round_up(length, shape.block)
    return Context(
        torch.zeros(shape.layers, shape.heads, shape.head_dim, width, **shape.options),
        torch.zeros(shape.layers, shape.heads, width, shape.head_dim, **shape.options),
        length,
    )


@dataclass(frozen=True)
class CacheShape:
    """What the keys and values of a model look like."""

    layers: int
    heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for making a tensor of this kind."""
        return {"dtype": self.dtype, "device": self.device}

    @property
    def block(self) -> int:
        """Positions are stored in multiples of this."""
        return FLOAT32_BLOCK if self.dtype == torch.float32 else BLOCK

    @property
    def bytes_per_token(self) -> int:
        """Memory of one position of one row."""
        return 2 * self.layers * self.heads * self.head_dim * self.dtype.itemsize


class Prefill:
    """The forward pass over `count` tokens of one prompt, from position `start` of its own part on."""

    def __init__(self, own: Context, start: int, count: int, prefix: Context | None):
        self.own = own
        self.start = start
        self.end = start + count
        self.prefix = prefix
        # The model's products see the keys stored so far, so the width follows the chunk's end.
        block = FLOAT32_BLOCK if own.keys.dtype == torch.float32 else BLOCK
        self.width = min(round_up(self.end, block), own.width)
        self.bias: dict[int | None, torch.Tensor] = {}

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> torch.Tensor:
        """See `Step`."""
        keys, values = self.own.keys[layer], self.own.values[layer]
        keys[:, :, self.start : self.end] = key[0].transpose(1, 2)
        values[:, self.start : self.end] = value[0]
        _, query_heads, count, head_dim = query.shape
        heads = keys.shape[0]
        rows = query[0].reshape(heads, -1, head_dim)
        parts = [torch.bmm(rows, keys[:, :, : self.width])]
        if self.prefix is not None:
            parts.insert(0, torch.bmm(rows, self.prefix.keys[layer]))
        scores = torch.cat(parts, -1).view(heads, -1, count, self._columns)
        scores = torch.add(self._bias(window, query), scores, alpha=scaling)
        weights = scores.softmax(-1).view(heads, -1, self._columns)
        result = weighted_sum(weights[..., -self.width :], values[:, : self.width])
        if self.prefix is not None:
            result += torch.bmm(weights[..., : self.prefix.width], self.prefix.values[layer])
        return result.view(1, query_heads, count, head_dim).transpose(1, 2)

    @property
    def _columns(self) -> int:
        return self.width + (self.prefix.width if self.prefix is not None else 0)

    def _bias(self, window: int | None, like: torch.Tensor) -> torch.Tensor:
        if window not in self.bias:
            shared = self.prefix.length if self.prefix is not None else 0
            at = torch.arange(self.start, self.end, device=like.device) + shared
            self.bias[window] = visibility(at, self.prefix, self.width, window, like.dtype)
        return self.bias[window]


class SlotCache:
    """The key/value cache of `slots` rows with `width` positions each, prefixes not counted."""

    def __init__(self, shape: CacheShape, slots: int, width: int):
        self.shape = shape
        self.width = round_up(width, shape.block)
        self.keys = torch.zeros(
            shape.layers, slots, shape.heads, shape.head_dim, self.width, **shape.options
        )
        self.values = torch.zeros(
            shape.layers, slots, shape.heads, self.width, shape.head_dim, **shape.options
        )

    def fill(self, slot: int, prompt: Context) -> None:
        """Put a prompt's own keys and values into a slot."""
        self.keys[:, slot, :, :, : prompt.length] = prompt.keys[..., : prompt.length]
        self.values[:, slot, :, : prompt.length] = prompt.values[:, :, : prompt.length]

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of a slot to another slot."""
        self.keys[:, target, :, :, :length] = self.keys[:, source, :, :, :length]
        self.values[:, target, :, :length] = self.values[:, source, :, :length]


@dataclass(frozen=True)
class Sharers:
    """The rows that share one prefix: `rows` is an index tensor, None for all rows."""

    prefix: Context | None
    rows: torch.Tensor | None


class Decode:
    """The forward pass over the newest token of each of the first n rows of a cache.

    `at` int64 [n] is where each row's new token goes in its own part; `width` is how many positions of the cache are looked at, the same for all rows. Rows are independent of each other; those with one prefix attend to it in one matrix product.
    """

    def __init__(self, cache: SlotCache, at: torch.Tensor, width: int, sharers: list[Sharers]):
        self.cache = cache
        self.at = at
        self.width = width
        self.sharers = sharers
        self.rows = torch.arange(len(at), device=at.device)
        self.bias: dict[tuple[int, int | None], torch.Tensor] = {}

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> torch.Tensor:
        """See `Step`."""
        n, query_heads, _, head_dim = query.shape
        heads = key.shape[1]
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys[self.rows, :, :, self.at] = key[:, :, 0]
        values[self.rows, :, self.at] = value[:, :, 0]
        keys = keys[:n, :, :, : self.width].view(n * heads, head_dim, self.width)
        values = values[:n, :, : self.width].view(n * heads, self.width, head_dim)
        query = query.reshape(n, heads, -1, head_dim)
        own = torch.bmm(query.view(n * heads, -1, head_dim), keys).view(n, heads, -1, self.width)
        if len(self.sharers) == 1:
            own, shared = self._softmax(0, layer, query, own, scaling, window)
        else:
            own, shared = self._softmax_by_prefix(layer, query, own, scaling, window)
        result = weighted_sum(own.reshape(n * heads, -1, self.width), values)
        result = result.view(n, heads, -1, head_dim)
        if shared is not None:
            result += shared
        return result.view(n, 1, query_heads, head_dim)

    def _softmax(
        self,
        index: int,
        layer: int,
        query: torch.Tensor,
        own: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Weights `[n, heads, group, width]` of own positions, and the part of the result that comes from the prefix."""
        n, heads, group, head_dim = query.shape
        prefix = self.sharers[index].prefix
        bias = self._bias(index, window, query.dtype)
        if prefix is None:
            return torch.add(bias, own, alpha=scaling).softmax(-1), None
        by_head = query.transpose(0, 1).reshape(heads, n * group, head_dim)
        scores = torch.bmm(by_head, prefix.keys[layer]).view(heads, n, group, prefix.width)
        scores = torch.cat([scores.transpose(0, 1), own], -1)
        weights = torch.add(bias, scores, alpha=scaling).softmax(-1)
        shared = weights[..., : prefix.width].transpose(0, 1)
        shared = shared.reshape(heads, n * group, prefix.width)
        shared = torch.bmm(shared, prefix.values[layer]).view(heads, n, group, head_dim)
        return weights[..., prefix.width :], shared.transpose(0, 1)

    def _softmax_by_prefix(
        self,
        layer: int,
        query: torch.Tensor,
        own: torch.Tensor,
        scaling: float,
        window: int | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        all_weights, all_shared = torch.empty_like(own), torch.zeros_like(query)
        for index, sharers in enumerate(self.sharers):
            rows = sharers.rows
            weights, shared = self._softmax(index, layer, query[rows], own[rows], scaling, window)
            all_weights[rows] = weights
            if shared is not None:
                all_shared[rows] = shared
        return all_weights, all_shared

    def _bias(self, index: int, window: int | None, dtype: torch.dtype) -> torch.Tensor:
        key = index, window
        if key not in self.bias:
            prefix, rows = self.sharers[index].prefix, self.sharers[index].rows
            at = self.at if rows is None else self.at[rows]
            at = at + (prefix.length if prefix is not None else 0)
            bias = visibility(at, prefix, self.width, window, dtype)
            self.bias[key] = bias[:, None, None]
        return self.bias[key]


def visibility(
    at: torch.Tensor,
    prefix: Context | None,
    width: int,
    window: int | None,
    dtype: torch.dtype,
) -> torch.Tensor:
    """What is added to the scores: 0 where a token at position `at` [n] may look, −inf elsewhere.

    Columns are the prefix's stored positions, then `width` own ones: `[n, columns]`. With a sliding window only the last `window` positions, its own included, are seen.
    """
    position = torch.arange(width, device=at.device)
    if prefix is not None:
        shared = torch.arange(prefix.width, device=at.device)
        beyond = torch.iinfo(shared.dtype).max
        shared = shared.masked_fill(shared >= prefix.length, beyond)
        position = torch.cat([shared, position + prefix.length])
    seen = position <= at[:, None]
    if window is not None:
        seen &= position > at[:, None] - window
    return torch.zeros(seen.shape, dtype=dtype, device=at.device).masked_fill_(~seen, -torch.inf)


def weighted_sum(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`weights [B, M, T] @ values [B, T, D]`, with bits that do not change when T grows by zeros."""
    if weights.dtype != torch.float32:
        return torch.bmm(weights, values)
    first, *rest = range(0, weights.shape[-1], FLOAT32_BLOCK)
    result = torch.bmm(weights[..., :FLOAT32_BLOCK], values[:, :FLOAT32_BLOCK])
    for start in rest:
        part = slice(start, start + FLOAT32_BLOCK)
        result = torch.baddbmm(result, weights[..., part], values[:, part])
    return result
