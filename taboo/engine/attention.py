"""Attention over slots: one static key/value cache, one row per generation, a prefix shared by all.

Registered with transformers as an attention implementation, so that a model's own code runs around it. What it computes for a row depends on that row alone, bit for bit: plain matrix products and softmax over a static cache keep this where fused attention kernels do not (docs/engine.md). Keys are stored transposed, `[heads, head_dim, positions]`, which makes the products over them several times faster on CPUs.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import AttentionInterface

IMPLEMENTATION = "taboo_slots"
BLOCK = 64
"""Positions are stored in blocks of this many; what lies beyond a row's end is masked."""
FLOAT32_BLOCK = 128
"""In float32 the product of weights and values is summed in blocks of this many positions, since the order in which the library sums depends on how many there are."""

ROWS = 4
"""A step always has a multiple of this many rows: with fewer than two, libraries choose other kernels."""


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
        rows = rows * scaling
        own = torch.bmm(rows, keys[:, :, : self.width]).view(heads, -1, count, self.width)
        own += self._bias(window, query)
        own = own.view(heads, -1, self.width)
        prefix = self.prefix
        if prefix is None:
            result = weighted_sum(own.softmax(-1), values[:, : self.width])
        else:
            scores = prefix_scores(rows, prefix, layer)
            if window is not None:
                seen = prefix_window(prefix, self._at(query), window, query.dtype)
                scores.view(heads, -1, count, prefix.width).add_(seen)
            weights = torch.cat([scores, own], -1).softmax(-1)
            result = weighted_sum(weights[..., prefix.width :], values[:, : self.width])
            result += torch.bmm(weights[..., : prefix.width], prefix.values[layer])
        return result.view(1, query_heads, count, head_dim).transpose(1, 2)

    def _at(self, like: torch.Tensor) -> torch.Tensor:
        """Positions of the new tokens in the whole prompt."""
        shared = self.prefix.length if self.prefix is not None else 0
        return torch.arange(self.start, self.end, device=like.device) + shared

    def _bias(self, window: int | None, like: torch.Tensor) -> torch.Tensor:
        if window not in self.bias:
            at = torch.arange(self.start, self.end, device=like.device)
            self.bias[window] = own_visibility(at, self.width, window, like.dtype)
        return self.bias[window]


class SlotCache:
    """The key/value cache of `slots` rows with `width` positions each, prefixes not counted.

    One pair of tensors per layer, `keys[layer]` [slots, heads, D, width] and `values[layer]` [slots, heads, width, D]. Matrix products want them contiguous, so the cache is as wide as its longest row needs and is copied when that changes by a block (`resize`).
    """

    def __init__(self, shape: CacheShape, slots: int, width: int):
        self.shape = shape
        self.slots = slots
        self.width = width
        keys, values = self._layer_shapes(width)
        layers = range(shape.layers)
        self.keys = [torch.zeros(keys, **shape.options) for _ in layers]
        self.values = [torch.zeros(values, **shape.options) for _ in layers]

    def _layer_shapes(self, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        heads, head_dim = self.shape.heads, self.shape.head_dim
        return (self.slots, heads, head_dim, width), (self.slots, heads, width, head_dim)

    def resize(self, width: int) -> None:
        """Give every row `width` positions; what lies beyond is dropped, what is new is zero."""
        kept = min(width, self.width)
        key_shape, value_shape = self._layer_shapes(width)
        for layer in range(self.shape.layers):
            keys = torch.empty(key_shape, **self.shape.options)
            keys[..., :kept] = self.keys[layer][..., :kept]
            keys[..., kept:] = 0
            values = torch.empty(value_shape, **self.shape.options)
            values[:, :, :kept] = self.values[layer][:, :, :kept]
            values[:, :, kept:] = 0
            self.keys[layer], self.values[layer] = keys, values
        self.width = width

    def fill(self, slot: int, prompt: Context) -> None:
        """Put a prompt's own keys and values into a slot."""
        length = prompt.length
        for layer in range(self.shape.layers):
            self.keys[layer][slot, :, :, :length] = prompt.keys[layer, ..., :length]
            self.values[layer][slot, :, :length] = prompt.values[layer, :, :length]

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of a slot to another slot."""
        for keys, values in zip(self.keys, self.values, strict=True):
            keys[target, :, :, :length] = keys[source, :, :, :length]
            values[target, :, :length] = values[source, :, :length]


@dataclass(frozen=True)
class Sharers:
    """The rows that share one prefix: `rows` is an index tensor, None for all rows."""

    prefix: Context | None
    rows: torch.Tensor | None


class Decode:
    """The forward pass over the newest token of each of the first n rows of a cache.

    `at` int64 [n] is where each row's new token goes in its own part. Rows are independent of each other; those with one prefix attend to it in one matrix product.
    """

    def __init__(self, cache: SlotCache, at: torch.Tensor, sharers: list[Sharers]):
        self.cache = cache
        self.at = at
        self.sharers = sharers
        self.rows = torch.arange(len(at), device=at.device)
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
        n, query_heads, _, head_dim = query.shape
        heads, width = key.shape[1], self.cache.width
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys[self.rows, :, :, self.at] = key[:, :, 0]
        values[self.rows, :, self.at] = value[:, :, 0]
        keys = keys[:n].view(n * heads, head_dim, width)
        values = values[:n].view(n * heads, width, head_dim)
        query = query.reshape(n, heads, -1, head_dim) * scaling
        own = torch.bmm(query.view(n * heads, -1, head_dim), keys).view(n, heads, -1, width)
        own += self._bias(window, query.dtype)
        if len(self.sharers) == 1:
            weights, shared = self._softmax(self.sharers[0], layer, query, own, window)
        else:
            weights, shared = self._softmax_by_prefix(layer, query, own, window)
        result = weighted_sum(weights.reshape(n * heads, -1, width), values)
        result = result.view(n, heads, -1, head_dim)
        if shared is not None:
            result += shared
        return result.view(n, 1, query_heads, head_dim)

    def _softmax(
        self,
        sharers: Sharers,
        layer: int,
        query: torch.Tensor,
        own: torch.Tensor,
        window: int | None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """From scores to weights of own positions `[n, heads, group, width]`, and what the prefix adds to the result."""
        prefix = sharers.prefix
        if prefix is None:
            return own.softmax(-1), None
        n, heads, group, head_dim = query.shape
        by_head = query.transpose(0, 1).reshape(heads, n * group, head_dim)
        scores = prefix_scores(by_head, prefix, layer).view(heads, n, group, prefix.width)
        if window is not None:
            at = self.at if sharers.rows is None else self.at[sharers.rows]
            scores += prefix_window(prefix, at + prefix.length, window, query.dtype)[:, None]
        weights = torch.cat([scores.transpose(0, 1), own], -1).softmax(-1)
        shared = weights[..., : prefix.width].transpose(0, 1)
        shared = shared.reshape(heads, n * group, prefix.width)
        shared = torch.bmm(shared, prefix.values[layer]).view(heads, n, group, head_dim)
        return weights[..., prefix.width :], shared.transpose(0, 1)

    def _softmax_by_prefix(
        self, layer: int, query: torch.Tensor, own: torch.Tensor, window: int | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        all_weights, all_shared = torch.empty_like(own), torch.zeros_like(query)
        for sharers in self.sharers:
            rows = sharers.rows
            weights, shared = self._softmax(sharers, layer, query[rows], own[rows], window)
            all_weights[rows] = weights
            if shared is not None:
                all_shared[rows] = shared
        return all_weights, all_shared

    def _bias(self, window: int | None, dtype: torch.dtype) -> torch.Tensor:
        if window not in self.bias:
            bias = own_visibility(self.at, self.cache.width, window, dtype)
            self.bias[window] = bias[:, None, None]
        return self.bias[window]


def own_visibility(
    at: torch.Tensor, width: int, window: int | None, dtype: torch.dtype
) -> torch.Tensor:
    """Added to the scores `[n, width]` of own positions: 0 where a token at own position `at` [n] may look, −inf elsewhere.

    With a sliding window only the last `window` positions, its own included, are seen.
    """
    position = torch.arange(width, device=at.device)
    seen = position <= at[:, None]
    if window is not None:
        seen &= position > at[:, None] - window
    return _bias_of(seen, dtype)


def prefix_window(
    prefix: Context, at: torch.Tensor, window: int, dtype: torch.dtype
) -> torch.Tensor:
    """Added to the scores `[n, prefix width]` of a prefix under a sliding window; `at` [n] counts from the prompt's beginning."""
    position = torch.arange(prefix.width, device=at.device)
    return _bias_of(position > at[:, None] - window, dtype)


def _bias_of(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)


def prefix_scores(rows: torch.Tensor, prefix: Context, layer: int) -> torch.Tensor:
    """Scores `[heads, M, prefix width]` of `rows` [heads, M, D], −inf where only padding is stored."""
    scores = torch.bmm(rows, prefix.keys[layer])
    if prefix.length < prefix.width:
        scores[..., prefix.length :] = -torch.inf
    return scores


def weighted_sum(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`weights [B, M, T] @ values [B, T, D]`, with bits that do not change when T grows by zeros."""
    if weights.dtype != torch.float32:
        return torch.bmm(weights, values)
    result = torch.bmm(weights[..., :FLOAT32_BLOCK], values[:, :FLOAT32_BLOCK])
    for start in range(FLOAT32_BLOCK, weights.shape[-1], FLOAT32_BLOCK):
        part = slice(start, start + FLOAT32_BLOCK)
        result = torch.baddbmm(result, weights[..., part], values[:, part])
    return result
