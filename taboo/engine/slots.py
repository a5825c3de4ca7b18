"""The fast engine: fixed slots, a static cache, and results that do not depend on the batch.

Every prompt is computed once, alone and at its exact length, after its declared prefix, which is computed once as well; all conditions of an item start from copies of it. Then all slots take one step together, each row at its own position, and a slot that is done is refilled at once. Rows never mix, so a generation is the same bits whatever else is generated, in whichever order and number of slots (docs/engine.md has the measurements).
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedModel

from taboo.engine.attention import (
    IMPLEMENTATION,
    CacheShape,
    Context,
    Decode,
    Prefill,
    Sharers,
    SlotCache,
    empty_context,
    round_up,
)
from taboo.engine.base import FinishReason, Generation, Request
from taboo.engine.choice import BrokenLogits, Choice, choose_greedy, choose_sampled, uniforms_of
from taboo.engine.loading import (
    check_architecture,
    default_device,
    eos_ids,
    free_memory,
    load_model,
    load_tokenizer,
    pack_linears,
)
from taboo.engine.progress import Progress
from taboo.engine.prompts import Prompt, StopStrings, Tokens
from taboo.files import sha256_text
from taboo.word_starts import Kind, WordStarts, word_starts

ROWS = 4
"""A step always has a multiple of this many rows: with fewer than two, libraries choose other kernels."""
PREFILL_CHUNK = 512
"""Prompts are computed in chunks of this many tokens, which bounds the memory of their attention."""
DEFAULT_SLOTS = 96
"""Slots where the caller names none and memory allows it; beyond it a step grows as the rows do."""
MEMORY_SHARE = 0.6
"""Share of the free memory that the cache may take."""


@dataclass
class _Run:
    """One request in a slot."""

    request: Request
    prefix: Context | None
    prompt_length: int
    own_length: int
    stop: StopStrings | None
    uniforms: torch.Tensor | None
    token_ids: list[int] = field(default_factory=list)
    nominal_ids: list[int] = field(default_factory=list)
    delta_s: list[float] = field(default_factory=list)
    intervened: list[bool] = field(default_factory=list)

    @property
    def at(self) -> int:
        """Where the newest token goes in the request's own part of the cache."""
        return self.own_length + len(self.token_ids) - 1


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
        self.model: PreTrainedModel = load_model(
            model_path, precision, self.device, IMPLEMENTATION
        )
        config = self.model.config
        check_architecture(config)
        limit = config.max_position_embeddings
        if max_length is not None and not 2 <= max_length <= limit:
            raise ValueError(f"max_length must be from 2 to the model's {limit}, not {max_length}")
        self.max_length = max_length or limit
        self.slots = slots
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
            yield from _Session(self, prompts).run()

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
        self, ids: Sequence[Sequence[int]], positions: torch.Tensor, step: Prefill | Decode
    ) -> torch.Tensor:
        """Logits [rows, V] of the last token of each row."""
        output = self.model(
            input_ids=torch.tensor(ids, device=self.device),
            position_ids=positions,
            use_cache=False,
            logits_to_keep=1,
            step=step,
        )
        return output.logits[:, -1]

    def prefill(self, ids: Sequence[int], prefix: Context | None) -> tuple[Context, torch.Tensor]:
        """Keys and values of a prompt's own tokens, and the logits [1, V] after the last one."""
        own = empty_context(self.shape, len(ids))
        offset = prefix.length if prefix is not None else 0
        for start in range(0, len(ids), PREFILL_CHUNK):
            chunk = ids[start : start + PREFILL_CHUNK]
            positions = torch.arange(start, start + len(chunk), device=self.device) + offset
            step = Prefill(own, start, len(chunk), prefix)
            logits = self.forward([chunk], positions[None], step)
        return own, logits

    def slots_for(self, prompts: Sequence[Prompt], width: int) -> int:
        """How many slots to use: the number asked for, else what the work and the memory allow.

        Raises MemoryError if not even the smallest cache fits, or the one asked for does not.
        """
        work = sum(len(prompt.requests) for prompt in prompts)
        per_slot = self.shape.bytes_per_token * width
        budget = int(free_memory(self.device) * MEMORY_SHARE)
        wanted = round_up(min(self.slots or DEFAULT_SLOTS, work), ROWS)
        fitting = budget // per_slot
        if self.slots is not None and fitting < wanted or fitting < ROWS:
            raise MemoryError(
                f"{wanted if self.slots else ROWS} slots of {width} positions need "
                f"{(wanted if self.slots else ROWS) * per_slot / 2**30:.1f} GiB, and "
                f"{budget / 2**30:.1f} GiB are to be had: lower slots (now "
                f"{self.slots or 'chosen from memory'}) or the budget of new tokens"
            )
        return min(wanted, fitting // ROWS * ROWS)


class _Session:
    """One call of `generate`: its cache, its queue and what is running."""

    def __init__(self, engine: SlotEngine, prompts: list[Prompt]):
        self.engine = engine
        width = round_up(max(prompt.room for prompt in prompts), engine.shape.block)
        self.slots = engine.slots_for(prompts, width)
        self.cache = self._allocate(engine.shape.block)
        self.queue = deque(
            (prompt, request) for prompt in prompts for request in prompt.requests
        )
        self.total = len(self.queue)
        self.running: list[_Run] = []
        self.prefix: tuple[tuple[int, ...], Context] | None = None
        self.prompt: tuple[Prompt, Context, torch.Tensor] | None = None
        self.stops: dict[tuple[str, ...], StopStrings] = {}

    def _allocate(self, width: int) -> SlotCache:
        try:
            return SlotCache(self.engine.shape, self.slots, width)
        except (RuntimeError, torch.OutOfMemoryError) as error:
            raise MemoryError(
                f"no memory for {self.slots} slots of {width} positions: lower slots or the "
                f"budget of new tokens ({error})"
            ) from error

    def run(self) -> Iterator[Generation]:
        done = self.engine.throughput
        with Progress(self.total, self.engine.progress) as progress:
            while self.queue or self.running:
                for step in (self._admit, self._advance):
                    for generation in step():
                        done.requests += 1
                        progress.update(done.requests, done.tokens)
                        yield generation
                    progress.update(done.requests, done.tokens)

    def _admit(self) -> list[Generation]:
        """Put waiting requests into free slots; those that end at their first token are returned."""
        started = time.perf_counter()
        finished = []
        while self.queue and len(self.running) < self.slots:
            prompt, request = self.queue.popleft()
            prefix, own, logits = self._contexts(prompt)
            run = self._start(prompt, request, prefix)
            self._choose(logits.clone(), [run])
            self.running.append(run)
            self._fit()
            with torch.inference_mode():
                self.cache.fill(len(self.running) - 1, own)
            finished += self._collect(len(self.running) - 1)
        self.engine.throughput.prefill_seconds += time.perf_counter() - started
        return finished

    def _fit(self) -> None:
        """Make the cache as wide as its longest row needs, not much wider."""
        needed = round_up(max(run.at for run in self.running) + 1, self.engine.shape.block)
        if needed > self.cache.width or needed < self.cache.width // 2:
            with torch.inference_mode():
                self.cache.resize(needed)

    def _start(self, prompt: Prompt, request: Request, prefix: Context | None) -> _Run:
        condition = request.condition
        if condition.stop and condition.stop not in self.stops:
            self.stops[condition.stop] = StopStrings(self.engine.tokens, condition.stop)
        return _Run(
            request,
            prefix,
            prompt.length,
            len(prompt.own),
            self.stops[condition.stop] if condition.stop else None,
            uniforms_of(condition, request.item_id) if condition.temperature else None,
        )

    def _contexts(self, prompt: Prompt) -> tuple[Context | None, Context, torch.Tensor]:
        """A prompt's prefix and own part and the logits after it, computed unless they just were."""
        if self.prompt is None or self.prompt[0] is not prompt:
            prefix = None
            if prompt.prefix:
                if self.prefix is None or self.prefix[0] != prompt.prefix:
                    self.prefix = prompt.prefix, self.engine.prefill(prompt.prefix, None)[0]
                    self.engine.throughput.prompt_tokens += len(prompt.prefix)
                prefix = self.prefix[1]
            self.prompt = prompt, *self.engine.prefill(prompt.own, prefix)
            self.engine.throughput.prompt_tokens += len(prompt.own)
        own, logits = self.prompt[1:]
        return self.prefix[1] if self.prefix and prompt.prefix else None, own, logits

    def _advance(self) -> list[Generation]:
        """One step of all running requests."""
        if not self.running:
            return []
        started = time.perf_counter()
        runs = self.running
        rows = round_up(len(runs), ROWS)
        padding = rows - len(runs)
        at = [run.at for run in runs] + [0] * padding
        device = self.engine.device
        offsets = [run.prompt_length - run.own_length for run in runs] + [0] * padding
        own = torch.tensor(at, device=device)
        self._fit()
        step = Decode(self.cache, own, self._sharers(rows))
        positions = own + torch.tensor(offsets, device=device)
        ids = [[run.token_ids[-1]] for run in runs] + [[0]] * padding
        logits = self.engine.forward(ids, positions[:, None], step)
        self._choose(logits[: len(runs)], runs)
        finished = [
            generation
            for slot in reversed(range(len(runs)))
            for generation in self._collect(slot)
        ]
        self.engine.throughput.decode_seconds += time.perf_counter() - started
        self.engine.throughput.steps += 1
        return finished

    def _sharers(self, rows: int) -> list[Sharers]:
        """The rows of each prefix; rows that only fill up the step go with the first."""
        groups: dict[int, tuple[Context | None, list[int]]] = {}
        for row, run in enumerate(self.running):
            groups.setdefault(id(run.prefix), (run.prefix, []))[1].append(row)
        if len(groups) == 1:
            return [Sharers(self.running[0].prefix, None)]
        result = []
        for prefix, members in groups.values():
            # The first group takes the filling rows, the others repeat a row of theirs.
            members += list(range(len(self.running), rows)) if not result else []
            members += members[:1] * (round_up(len(members), ROWS) - len(members))
            result.append(Sharers(prefix, torch.tensor(members, device=self.engine.device)))
        return result

    @torch.inference_mode()
    def _choose(self, logits: torch.Tensor, runs: list[_Run]) -> None:
        """Append to each run the token chosen from its row of logits [n, V]."""
        sampled = [row for row, run in enumerate(runs) if run.uniforms is not None]
        greedy = [row for row, run in enumerate(runs) if run.uniforms is None]
        for rows in (greedy, sampled):
            if not rows:
                continue
            part = logits if len(rows) == len(runs) else logits[rows]
            chosen_runs = [runs[row] for row in rows]
            try:
                choice = self._choice(part, chosen_runs)
            except BrokenLogits as error:
                run = chosen_runs[error.row]
                raise ValueError(
                    f"item {run.request.item_id}, condition {run.request.condition.name}, step "
                    f"{len(run.token_ids)}: NaN or infinite logits; the weights are damaged or "
                    "the precision overflows"
                ) from None
            columns = (part.tolist() for part in choice)
            for run, token, nominal, intervened, delta in zip(chosen_runs, *columns, strict=True):
                run.token_ids.append(token)
                run.nominal_ids.append(nominal)
                run.intervened.append(intervened)
                run.delta_s.append(delta)
        self.engine.throughput.tokens += len(runs)

    def _choice(self, logits: torch.Tensor, runs: list[_Run]) -> Choice:
        device = self.engine.device
        conditions = [run.request.condition for run in runs]
        ranks = torch.tensor([condition.rank for condition in conditions], device=device)
        mid_word = torch.tensor([c.mode == "mid_word" for c in conditions], device=device)
        kinds = self.engine.kinds
        if runs[0].uniforms is None:
            highest = max(condition.rank for condition in conditions)
            return choose_greedy(logits, kinds, self.engine.absent, ranks, mid_word, highest)
        uniforms = torch.stack([run.uniforms[len(run.token_ids)] for run in runs])  # type: ignore[index]
        temperatures = torch.tensor([c.temperature for c in conditions], device=device)
        return choose_sampled(logits, kinds, ranks, mid_word, temperatures, uniforms)

    def _collect(self, slot: int) -> list[Generation]:
        """The generation of a slot if it is finished; its slot is then taken by the last one."""
        run = self.running[slot]
        reason = self._finish_reason(run)
        if reason is None:
            return []
        last = self.running.pop()
        if last is not run:
            with torch.inference_mode():
                self.cache.move(len(self.running), slot, last.at + 1)
            self.running[slot] = last
        ids = run.token_ids
        text = run.stop.cut(ids) if run.stop and reason == "stop" else None
        return [
            Generation(
                item_id=run.request.item_id,
                condition=run.request.condition,
                prompt_sha256=sha256_text(run.request.prompt),
                token_ids=tuple(ids),
                nominal_ids=tuple(run.nominal_ids),
                delta_s=tuple(run.delta_s),
                intervened=tuple(run.intervened),
                text=self.engine.tokens.decode(ids) if text is None else text,
                finish_reason=reason,
                n_prompt_tokens=run.prompt_length,
            )
        ]

    def _finish_reason(self, run: _Run) -> FinishReason | None:
        if run.token_ids[-1] in self.engine.eos:
            return "eos"
        if run.stop is not None and run.stop.find(run.token_ids):
            return "stop"
        if len(run.token_ids) >= run.request.condition.max_new_tokens:
            return "length"
        return None
