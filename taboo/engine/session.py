"""One call of the slot engine's `generate`: its cache, its queue and what is running."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from taboo.engine.attention import ROWS, Context, Decode, Sharers, SlotCache, round_up
from taboo.engine.base import FinishReason, Generation, Request
from taboo.engine.choice import BrokenLogits, Choice, choose_greedy, choose_sampled, uniforms_of
from taboo.engine.fixed import FixedStep
from taboo.engine.progress import Progress
from taboo.engine.prompts import Prompt, StopStrings
from taboo.files import sha256_text

if TYPE_CHECKING:
    from taboo.engine.slots import SlotEngine


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


class Session:
    """One call of `generate`: its cache, its queue and what is running."""

    def __init__(self, engine: "SlotEngine", prompts: list[Prompt]):
        self.engine = engine
        block = engine.shape.block
        longest = max(prompt.room for prompt in prompts)
        width = round_up(engine.max_length if engine.fixed else longest, block)
        self.slots = engine.slots_for(prompts, width)
        self.cache = self._allocate(width if engine.fixed else block)
        self.queue = deque((prompt, request) for prompt in prompts for request in prompt.requests)
        self.total = len(self.queue)
        self.running: list[_Run] = []
        self.prefix: tuple[tuple[int, ...], Context] | None = None
        self.prompt: tuple[Prompt, Context, torch.Tensor] | None = None
        self.stops: dict[tuple[str, ...], StopStrings] = {}
        self.step: tuple[Context | None, FixedStep] | None = None

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
        while self.queue and len(self.running) < self.slots and self._may_start(self.queue[0][0]):
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

    def _may_start(self, prompt: Prompt) -> bool:
        """With a fixed shape all rows share one prefix: the next one waits until they are done."""
        if not self.engine.fixed or not self.running:
            return True
        running = self.prefix[0] if self.running[0].prefix and self.prefix else ()
        return prompt.prefix == running

    def _fit(self) -> None:
        """Make the cache as wide as its longest row needs, not much wider."""
        if self.engine.fixed:
            return
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
        logits = self._step_logits(runs)
        self._choose(logits[: len(runs)], runs)
        finished = [
            generation for slot in reversed(range(len(runs))) for generation in self._collect(slot)
        ]
        self.engine.throughput.decode_seconds += time.perf_counter() - started
        self.engine.throughput.steps += 1
        return finished

    def _step_logits(self, runs: list[_Run]) -> torch.Tensor:
        rows = self.slots if self.engine.fixed else round_up(len(runs), ROWS)
        filling = [0] * (rows - len(runs))
        ids = [run.token_ids[-1] for run in runs] + filling
        at = [run.at for run in runs] + filling
        offsets = [run.prompt_length - run.own_length for run in runs] + filling
        self._fit()
        sharers = self._sharers(rows)
        device = self.engine.device

        def run_step(ids: torch.Tensor, at: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
            step = Decode(self.cache, at, sharers)
            return self.engine.forward(ids, (at + offsets)[:, None], step)[:, 0]

        if not self.engine.fixed:
            columns = torch.tensor([ids, at, offsets], device=device)
            return run_step(columns[0, :, None], columns[1], columns[2])
        prefix = runs[0].prefix
        if self.step is None or self.step[0] is not prefix:
            self.step = prefix, FixedStep(run_step, rows, device, self.engine.capture)
        return self.step[1](ids, at, offsets)

    def _sharers(self, rows: int) -> list[Sharers]:
        """The rows of each prefix; rows that only fill up the step go with the first."""
        groups: dict[int, tuple[Context | None, list[int]]] = {}
        for row, run in enumerate(self.running):
            groups.setdefault(id(run.prefix), (run.prefix, []))[1].append(row)
        if len(groups) == 1:
            return [Sharers(self.running[0].prefix, None)]  # all rows, as always with a fixed shape
        result: list[Sharers] = []
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
