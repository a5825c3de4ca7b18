"""The reference engine: Hugging Face `generate`, one condition at a time, batches of fixed size.

This is how such studies are usually run. In float32 the slot engine gives the same tokens; in bfloat16 this one's results depend on its batch size and on what shares a batch, which `taboo.engine.audit` measures.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from taboo.conditions import Condition
from taboo.engine.base import FinishReason, Generation, Request
from taboo.engine.choice import choose_sampled, uniforms_of
from taboo.engine.loading import (
    HF_BATCH_SIZE,
    default_device,
    eos_ids,
    load_model,
    load_tokenizer,
)
from taboo.engine.prompts import StopStrings, Tokens
from taboo.files import sha256_text
from taboo.processor import intervene
from taboo.surprisal import injected_surprisal
from taboo.word_starts import WordStarts, word_starts


class HuggingFaceEngine:
    """`generate` of transformers with the taboo mask, left-padded batches of up to `slots` requests."""

    def __init__(
        self,
        model_path: str | Path,
        precision: str = "bf16",
        slots: int | None = None,
        max_length: int | None = None,
        device: str | None = None,
        word_starts_table: WordStarts | None = None,
        attention: str = "sdpa",
    ):
        self.device = torch.device(device or default_device())
        self.model: Any = load_model(model_path, precision, self.device, attention)
        self.batch_size = slots or HF_BATCH_SIZE
        self.max_length = max_length or self.model.config.max_position_embeddings
        tokenizer = load_tokenizer(model_path)
        self.tokens = Tokens(tokenizer)
        self.eos = eos_ids(model_path, self.model.config, tokenizer)
        # A checkpoint's own defaults (repetition penalty, top-k) are not part of any condition.
        self.model.generation_config = GenerationConfig()
        width = self.model.config.vocab_size
        table = word_starts_table or word_starts(tokenizer.backend_tokenizer, width)
        self.kinds = torch.from_numpy(table.kinds).to(self.device)

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """Yield one generation per request, batch by batch. Raises like the slot engine's."""
        requests = list(requests)
        ids = {
            request.prompt: prompt.prefix + prompt.own
            for prompt in self.tokens.prompts(requests, self.max_length)
            for request in prompt.requests
        }
        by_condition: dict[Condition, list[Request]] = {}
        for request in requests:
            by_condition.setdefault(request.condition, []).append(request)
        for condition, members in by_condition.items():
            for start in range(0, len(members), self.batch_size):
                batch = members[start : start + self.batch_size]
                yield from self._batch(condition, batch, [ids[r.prompt] for r in batch])

    @torch.inference_mode()
    def _batch(
        self, condition: Condition, batch: Sequence[Request], prompts: Sequence[Sequence[int]]
    ) -> list[Generation]:
        longest = max(map(len, prompts))
        pad = min(self.eos)
        padded = [[pad] * (longest - len(ids)) + list(ids) for ids in prompts]
        mask = [[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompts]
        recorder = _Recorder(condition, batch, self.kinds)
        stop = StopStrings(self.tokens, condition.stop) if condition.stop else None
        output = self.model.generate(
            input_ids=torch.tensor(padded, device=self.device),
            attention_mask=torch.tensor(mask, device=self.device),
            max_new_tokens=condition.max_new_tokens,
            do_sample=False,
            eos_token_id=sorted(self.eos),
            pad_token_id=pad,
            logits_processor=LogitsProcessorList([recorder]),
            stopping_criteria=StoppingCriteriaList([_Stop(stop, longest)] if stop else []),
        )
        recorder.settle(output)
        return [
            self._generation(request, ids, row[longest:], recorder, index, stop)
            for index, (request, ids, row) in enumerate(
                zip(batch, prompts, output.tolist(), strict=True)
            )
        ]

    def _generation(
        self,
        request: Request,
        prompt: Sequence[int],
        new: list[int],
        recorder: "_Recorder",
        index: int,
        stop: StopStrings | None,
    ) -> Generation:
        end, reason = self._end(new, stop)
        ids = new[:end]
        text = stop.cut(ids) if stop and reason == "stop" else None
        return Generation(
            item_id=request.item_id,
            condition=request.condition,
            prompt_sha256=sha256_text(request.prompt),
            token_ids=tuple(ids),
            nominal_ids=tuple(int(step[index]) for step in recorder.nominal[:end]),
            delta_s=tuple(float(step[index]) for step in recorder.delta_s[:end]),
            intervened=tuple(bool(step[index]) for step in recorder.intervened[:end]),
            text=self.tokens.decode(ids) if text is None else text,
            finish_reason=reason,
            n_prompt_tokens=len(prompt),
        )

    def _end(self, new: list[int], stop: StopStrings | None) -> tuple[int, FinishReason]:
        for end, token in enumerate(new, start=1):
            if token in self.eos:
                return end, "eos"
            if stop is not None and stop.find(new[:end]):
                return end, "stop"
        return len(new), "length"


class _Recorder(LogitsProcessor):
    """Masks, and keeps what a generation records; a step's chosen token is seen at the next step."""

    def __init__(self, condition: Condition, batch: Sequence[Request], kinds: torch.Tensor):
        self.condition = condition
        self.batch = batch
        self.kinds = kinds
        self.nominal: list[torch.Tensor] = []
        self.intervened: list[torch.Tensor] = []
        self.delta_s: list[torch.Tensor] = []
        self._last: torch.Tensor | None = None
        self._uniforms = (
            torch.stack([uniforms_of(condition, request.item_id) for request in batch])
            if condition.temperature
            else None
        )

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.settle(input_ids)
        rows = len(scores)
        ranks = torch.full((rows,), self.condition.rank, device=scores.device)
        mid_word = torch.full((rows,), self.condition.mode == "mid_word", device=scores.device)
        try:
            if self._uniforms is None:
                masked, nominal, intervened = intervene(scores, self.kinds, ranks, mid_word)
            else:
                masked, nominal, intervened = self._draw(scores, ranks, mid_word)
        except ValueError as error:
            row = int((torch.isnan(scores) | (scores == torch.inf)).any(-1).nonzero()[0])
            raise ValueError(
                f"item {self.batch[row].item_id}, condition {self.condition.name}, step "
                f"{len(self.nominal)}: {error}"
            ) from None
        self.nominal.append(nominal)
        self.intervened.append(intervened)
        self._last = scores.clone()
        return masked

    def _draw(
        self, scores: torch.Tensor, ranks: torch.Tensor, mid_word: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Draw from each request's own generator and leave only the drawn token for greedy search."""
        assert self._uniforms is not None
        temperatures = torch.full((len(scores),), self.condition.temperature, device=scores.device)
        uniforms = self._uniforms[:, len(self.nominal)]
        choice = choose_sampled(scores, self.kinds, ranks, mid_word, temperatures, uniforms)
        only = torch.full_like(scores, -torch.inf).scatter_(1, choice.chosen[:, None], 0.0)
        return only, choice.nominal, choice.intervened

    def settle(self, input_ids: torch.Tensor) -> None:
        """Compute ΔS of the last step, now that its chosen tokens end `input_ids`."""
        if self._last is not None:
            delta = injected_surprisal(
                self._last, self.nominal[-1], input_ids[:, -1], self.intervened[-1]
            )
            self.delta_s.append(delta)
            self._last = None


class _Stop(StoppingCriteria):
    def __init__(self, stop: StopStrings, prompt_length: int):
        self._stop = stop
        self._start = prompt_length

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        done = [self._stop.find(row[self._start :]) for row in input_ids.tolist()]
        return torch.tensor(done, device=input_ids.device)
