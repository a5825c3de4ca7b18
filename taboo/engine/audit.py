"""How reproducible an engine is on this machine: measured, not assumed.

The same requests are run under several settings (engine, precision, slots, order, threads), and every generation is compared with that of a reference setting: is it the same, where does it first differ, and how near the two best tokens were there. A second measurement adds noise to the logits and counts how often the next token changes: what a rounding error of that size does.
"""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from taboo.engine.base import Engine, Generation, Request
from taboo.engine.hf import HuggingFaceEngine
from taboo.engine.slots import SlotEngine
from taboo.processor import intervene

NOISE_SCALES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Standard deviations of the noise added to logits, in their own unit (nats)."""


@dataclass(frozen=True)
class Setting:
    """One way to run the same requests. `slots` is the batch size where the engine is "hf"."""

    engine: Literal["slots", "hf"] = "slots"
    precision: str = "bf16"
    slots: int = 16
    order: Literal["given", "shuffled", "alone"] = "given"
    threads: int | None = None
    repeat: int = 0

    @property
    def name(self) -> str:
        """A short name, unique among settings that differ."""
        parts = [self.engine, self.precision, f"x{self.slots}"]
        parts += [self.order] if self.order != "given" else []
        parts += [f"threads{self.threads}"] if self.threads else []
        parts += [f"repeat{self.repeat}"] if self.repeat else []
        return "-".join(parts)


def default_settings(precision: str = "bf16") -> list[Setting]:
    """What the `repro` study runs in one precision: the reference first, then one change at a time."""
    ours = [
        Setting(precision=precision),
        Setting(precision=precision, repeat=1),
        Setting(precision=precision, slots=4),
        Setting(precision=precision, slots=40),
        Setting(precision=precision, order="shuffled"),
        Setting(precision=precision, order="alone", slots=1),
        Setting(precision=precision, threads=1),
    ]
    return ours + [Setting("hf", precision, slots) for slots in (8, 1, 4, 16)]


def run(
    model_path: str | Path,
    requests: Sequence[Request],
    settings: Sequence[Setting],
    device: str | None = None,
) -> list[dict[str, Any]]:
    """Run the requests under every setting: one row per setting and request.

    A row has the fields of the setting, `setting` (its name), `reference` (the first setting of the same engine and precision), `item_id`, `condition`, `token_ids`, `text`, and what `compare` says against the reference. `margin` is the distance in bits between the two best tokens at the first difference, `usual_margin` its median over all steps of the reference.
    """
    rows: list[dict[str, Any]] = []
    for family in dict.fromkeys((s.engine, s.precision) for s in settings):
        members = [s for s in settings if (s.engine, s.precision) == family]
        engine = _open(members[0], model_path, device)
        judge = engine if isinstance(engine, SlotEngine) else None
        known: dict[tuple[str, str], Generation] = {}
        margins: dict[tuple[str, str], list[float]] = {}
        for setting in members:
            for generation in _generate(engine, requests, setting):
                key = generation.item_id, generation.condition.name
                reference = known.setdefault(key, generation)
                row = compare(reference, generation)
                if judge is None:
                    judge = SlotEngine(model_path, setting.precision, 1, device=device)
                if key not in margins:
                    request = next(r for r in requests if (r.item_id, r.condition.name) == key)
                    margins[key] = step_margins(judge, request, generation.token_ids)
                at = row["first_difference"]
                usual = margins[key]
                rows.append(
                    {
                        **asdict(setting),
                        "setting": setting.name,
                        "reference": members[0].name,
                        "item_id": key[0],
                        "condition": key[1],
                        "token_ids": list(generation.token_ids),
                        "text": generation.text,
                        **row,
                        "margin": usual[at] if at is not None and at < len(usual) else None,
                        "usual_margin": sorted(usual)[len(usual) // 2],
                    }
                )
    return rows


def compare(reference: Generation, other: Generation) -> dict[str, Any]:
    """How two generations of one request differ.

    `identical`: the same tokens and the same ΔS, bit for bit; `same_tokens`; `same_text`; `first_difference`: the first step at which the tokens differ (a missing token differs), None if they do not; `same_length`: how many tokens agree before it.
    """
    same_tokens = reference.token_ids == other.token_ids
    pairs = zip(reference.token_ids, other.token_ids, strict=False)
    agreeing = next(
        (step for step, (first, second) in enumerate(pairs) if first != second),
        min(len(reference.token_ids), len(other.token_ids)),
    )
    return {
        "identical": same_tokens and reference.delta_s == other.delta_s,
        "same_tokens": same_tokens,
        "same_text": reference.text == other.text,
        "first_difference": None if same_tokens else agreeing,
        "same_length": agreeing,
    }


def step_margins(engine: SlotEngine, request: Request, token_ids: Sequence[int]) -> list[float]:
    """Distance in bits between the two best tokens, masked as the condition says, at each step of a generation."""
    masked = _masked(engine, request, token_ids)
    best = masked.topk(2, dim=-1).values
    return ((best[:, 0] - best[:, 1]) / math.log(2)).tolist()


def noise_curve(
    engine: SlotEngine,
    generations: Iterable[tuple[Request, Generation]],
    scales: Sequence[float] = NOISE_SCALES,
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """What noise of a known size does: one row per generation and scale.

    Normal noise of standard deviation `scale` is added to the logits of every step of the generation, each step being given the generation's own tokens before it, so that the first changed step is where the text would have left it. A row has `item_id`, `condition`, `scale`, `steps`, `changed` (steps whose best token changes), `first_change` (None without one), `margin_changed` and `margin_kept` (medians over those steps, in bits, None where there are none).
    """
    for request, generation in generations:
        condition = request.condition
        if condition.temperature:
            raise ValueError(
                f"item {request.item_id}, condition {condition.name}: noise is measured on greedy "
                "generations"
            )
        logits = engine.step_logits(request, generation.token_ids).float()
        masked = _mask(engine, request, logits)
        best = masked.topk(2, dim=-1).values
        margins = (best[:, 0] - best[:, 1]) / math.log(2)
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(logits.shape, generator=generator).to(logits.device)
        for scale in scales:
            noisy = _mask(engine, request, logits + scale * noise)
            changed = noisy.argmax(-1) != masked.argmax(-1)
            steps = changed.nonzero().flatten().tolist()
            yield {
                "item_id": request.item_id,
                "condition": condition.name,
                "scale": scale,
                "steps": len(changed),
                "changed": len(steps),
                "first_change": steps[0] if steps else None,
                "margin_changed": _median(margins[changed]),
                "margin_kept": _median(margins[~changed]),
            }


def _median(values: torch.Tensor) -> float | None:
    return float(values.median()) if len(values) else None


def _masked(engine: SlotEngine, request: Request, token_ids: Sequence[int]) -> torch.Tensor:
    return _mask(engine, request, engine.step_logits(request, token_ids).float())


def _mask(engine: SlotEngine, request: Request, logits: torch.Tensor) -> torch.Tensor:
    condition = request.condition
    ranks = torch.full((len(logits),), condition.rank, device=logits.device)
    mid_word = torch.full_like(ranks, condition.mode == "mid_word", dtype=torch.bool)
    return intervene(logits, engine.kinds, ranks, mid_word).masked


def _open(setting: Setting, model_path: str | Path, device: str | None) -> Any:
    if setting.engine == "slots":
        return SlotEngine(model_path, setting.precision, setting.slots, device=device)
    return HuggingFaceEngine(model_path, setting.precision, setting.slots, device=device)


def _generate(engine: Any, requests: Sequence[Request], setting: Setting) -> Iterator[Generation]:
    if isinstance(engine, SlotEngine):
        engine.slots = setting.slots
    else:
        engine.batch_size = setting.slots
    threads = torch.get_num_threads()
    torch.set_num_threads(setting.threads or threads)
    try:
        yield from _in_order(engine, requests, setting)
    finally:
        torch.set_num_threads(threads)


def _in_order(
    engine: Engine, requests: Sequence[Request], setting: Setting
) -> Iterator[Generation]:
    if setting.order == "alone":
        for request in requests:
            yield from engine.generate([request])
    elif setting.order == "shuffled":
        yield from engine.generate(random.Random(0).sample(requests, len(requests)))
    else:
        yield from engine.generate(requests)
