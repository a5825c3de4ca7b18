"""The fast engine: fixed slots, a static cache, and results that do not depend on the batch.

Every prompt is computed once, alone and at its exact length, after its declared prefix, which is computed once as well; all conditions of an item start from copies of it. Then all slots take one step together, each row at its own position, and a slot that is done is refilled at once. Rows never mix, so a generation is the same bits whatever else is generated, in whichever order and number of slots (docs/engine.md has the measurements).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import PreTrainedModel

from taboo.engine.attention import (
    IMPLEMENTATION,
    ROWS,
    CacheShape,
    Context,
    Decode,
    Prefill,
    empty_context,
    round_up,
)
from taboo.engine.base import Generation, Request
from taboo.engine.loading import (
    batch_plan,
    check_architecture,
    default_device,
    eos_ids,
    free_memory,
    load_model,
    load_tokenizer,
    pack_linears,
)
from taboo.engine.prompts import Prompt, Tokens
from taboo.engine.session import Session
from taboo.word_starts import Kind, WordStarts, word_starts

PREFILL_CHUNK = 512
"""Prompts are computed in chunks of this many tokens, which bounds the memory of their attention."""
DEFAULT_SLOTS = 96
"""Slots where the caller names none and memory allows it; beyond it a step grows as the rows do."""
MEMORY_SHARE = 0.6
"""Share of the free memory that the cache may take."""


@dataclass
class Throughput:
    """What the last `generate` did: tokens made, and seconds spent in prompts and in steps."""

    requests: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    steps: int = 0


class SlotEngine:
    """See the module. Made by `taboo.engine.open_engine`."""

    def __init__(
        self,
        model_path: str | Path,
        precision: str = "bf16",
        slots: int | None = None,
        max_length: int | None = None,
        device: str | None = None,
        word_starts_table: WordStarts | None = None,
        progress: bool = False,
    ):
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        self.device = torch.device(device or default_device())
        self.model: PreTrainedModel = load_model(model_path, precision, self.device, IMPLEMENTATION)
        config = self.model.config
        check_architecture(config)
        limit = config.max_position_embeddings
        if max_length is not None and not 2 <= max_length <= limit:
            raise ValueError(f"max_length must be from 2 to the model's {limit}, not {max_length}")
        # Where results depend on the shape of a step, that shape is fixed and part of the cell key.
        plan = batch_plan(config, precision, "slots", self.device.type, slots, max_length)
        self.fixed = plan is not None
        self.capture = self.device.type == "cuda" and precision != "int8"
        self.slots = plan["slots"] if plan else slots
        self.max_length = plan["max_length"] if plan else max_length or limit
        self.progress = progress
        tokenizer = load_tokenizer(model_path)
        self.tokens = Tokens(tokenizer)
        self.eos = eos_ids(model_path, config, tokenizer)
        table = word_starts_table or word_starts(tokenizer.backend_tokenizer, config.vocab_size)
        if len(table.kinds) != config.vocab_size:
            raise ValueError(
                f"the word-start table has {len(table.kinds)} entries, the model's logits "
                f"{config.vocab_size} columns: the table was made for another model"
            )
        self.kinds = torch.from_numpy(table.kinds).to(self.device)
        self.absent = (self.kinds == Kind.ABSENT).nonzero().flatten()
        self.shape = CacheShape(
            layers=config.num_hidden_layers,
            heads=config.num_key_value_heads,
            head_dim=getattr(config, "head_dim", None)
            or config.hidden_size // config.num_attention_heads,
            dtype=torch.float32 if precision == "fp32" else torch.bfloat16,
            device=self.device,
        )
        if self.device.type == "cpu" and torch.backends.mkldnn.is_available():
            pack_linears(self.model)
        self.throughput = Throughput()

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """Yield one generation per request, in completion order.

        All requests are read and checked first: nothing is generated if one of them is refused. Raises ValueError naming the item for a prompt that is too long or whose prefix does not end with a token, and naming item, condition and step for NaN logits; MemoryError, saying which numbers to lower, if the cache does not fit.
        """
        prompts = self.tokens.prompts(requests, self.max_length)
        self._check_ranks(prompts)
        self.throughput = Throughput()
        if prompts:
            yield from Session(self, prompts).run()

    def _check_ranks(self, prompts: Sequence[Prompt]) -> None:
        present = len(self.kinds) - len(self.absent)
        for prompt in prompts:
            for request in prompt.requests:
                if request.condition.rank >= present:
                    raise ValueError(
                        f"item {request.item_id}: rank {request.condition.rank} masks the whole "
                        f"vocabulary of {present} tokens"
                    )

    @torch.inference_mode()
    def forward(
        self, ids: torch.Tensor, positions: torch.Tensor, step: Prefill | Decode, keep: int = 1
    ) -> torch.Tensor:
        """Logits [rows, keep, V] of the last tokens of each row; `ids` and `positions` are [rows, tokens]."""
        output = self.model(
            input_ids=ids,
            position_ids=positions,
            use_cache=False,
            logits_to_keep=keep,
            step=step,
        )
        return output.logits

    def prefill(
        self, ids: Sequence[int], prefix: Context | None, keep: int = 1
    ) -> tuple[Context, torch.Tensor]:
        """Keys and values of a prompt's own tokens, and the logits [keep, V] after its last ones."""
        own = empty_context(self.shape, len(ids))
        offset = prefix.length if prefix is not None else 0
        logits = []
        for start in range(0, len(ids), PREFILL_CHUNK):
            chunk = torch.tensor([ids[start : start + PREFILL_CHUNK]], device=self.device)
            count = chunk.shape[1]
            positions = torch.arange(start, start + count, device=self.device) + offset
            step = Prefill(own, start, count, prefix)
            wanted = max(1, min(count, start + count - (len(ids) - keep)))
            logits.append(self.forward(chunk, positions[None], step, wanted)[0])
        return own, torch.cat(logits)[-keep:]

    def step_logits(self, request: Request, token_ids: Sequence[int]) -> torch.Tensor:
        """The unmasked logits [len(token_ids), V] from which each token of a generation was chosen.

        Computed in one pass over the prompt and the tokens, so up to rounding those of the generation.
        """
        (prompt,) = self.tokens.prompts([request], self.max_length)
        ids = [*prompt.prefix, *prompt.own, *token_ids[:-1]]
        return self.prefill(ids, None, len(token_ids))[1]

    def slots_for(self, prompts: Sequence[Prompt], width: int) -> int:
        """How many slots to use: the number asked for, else what the work and the memory allow.

        Raises MemoryError if not even the smallest cache fits, or the one asked for does not.
        """
        work = sum(len(prompt.requests) for prompt in prompts)
        per_slot = self.shape.bytes_per_token * width
        budget = int(free_memory(self.device) * MEMORY_SHARE)
        wanted = self.slots or DEFAULT_SLOTS
        wanted = round_up(wanted if self.fixed else min(wanted, work), ROWS)
        fitting = budget // per_slot
        if fitting < (wanted if self.slots else ROWS):
            raise MemoryError(
                f"{wanted if self.slots else ROWS} slots of {width} positions need "
                f"{(wanted if self.slots else ROWS) * per_slot / 2**30:.1f} GiB, and "
                f"{budget / 2**30:.1f} GiB are to be had: lower slots (now "
                f"{self.slots or 'chosen from memory'}) or the budget of new tokens"
            )
        return min(wanted, fitting // ROWS * ROWS)
