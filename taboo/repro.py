"""The repro study: how reproducible generation is on this machine, at three levels (docs/engine.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from taboo.conditions import Condition
from taboo.engine.audit import default_settings, noise_curve, run
from taboo.engine.base import Request
from taboo.engine.slots import SlotEngine
from taboo.scoring import score
from taboo.stats.repro import distributions, noise, stability


def repro_tables(
    model_path: str | Path,
    sample: Sequence[Mapping[str, Any]],
    task: str,
    conditions: Sequence[Condition],
    precisions: Sequence[str],
    temperature: float,
    samples: int,
    sandbox: str,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The tables `stability` (bitwise and semantic), `noise` and `distribution` of one model.

    `sample` are the lines of a sample file, prompts as the model is to see them; `conditions` are greedy. For the distributional level every item is sampled `samples` times in each of two blocks at `temperature`, unmasked.
    """
    requests = [
        Request(line["item_id"], line["prompt"], condition, line["prefix"])
        for line in sample
        for condition in conditions
    ]
    items = {line["item_id"]: line["item"] for line in sample}
    rows = [
        row
        for precision in precisions
        for row in run(model_path, requests, default_settings(precision))
    ]
    verdicts = score(
        task, [items[row["item_id"]] for row in rows], [row["text"] for row in rows], sandbox
    )
    answers = {
        (row["setting"], row["item_id"], row["condition"]): (verdict.extracted, verdict.correct)
        for row, verdict in zip(rows, verdicts, strict=True)
    }
    engine = SlotEngine(model_path, precisions[0])
    asked = {(r.item_id, r.condition): r for r in requests}
    greedy = [(asked[g.item_id, g.condition], g) for g in engine.generate(requests)]
    blocks = _blocks(engine, sample, conditions[0], temperature, samples, task, sandbox)
    return {
        "stability": stability(rows, answers),
        "noise": noise(noise_curve(engine, greedy, seed=seed)),
        "distribution": distributions(*blocks, seed=seed),
    }


def _blocks(
    engine: SlotEngine,
    sample: Sequence[Mapping[str, Any]],
    greedy: Condition,
    temperature: float,
    samples: int,
    task: str,
    sandbox: str,
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The answers of two independent blocks of samples, by item."""
    items = {line["item_id"]: line["item"] for line in sample}
    drawn = [
        replace(greedy, rank=0, mode="word_start", temperature=temperature, seed=number)
        for number in range(2 * samples)
    ]
    generations = list(
        engine.generate(
            Request(line["item_id"], line["prompt"], condition, line["prefix"])
            for line in sample
            for condition in drawn
        )
    )
    verdicts = score(
        task, [items[g.item_id] for g in generations], [g.text for g in generations], sandbox
    )
    answers = {
        (g.item_id, g.condition.seed): verdict.extracted
        for g, verdict in zip(generations, verdicts, strict=True)
    }
    first, second = (
        {name: [answers[name, seed] for seed in seeds] for name in items}
        for seeds in (range(samples), range(samples, 2 * samples))
    )
    return first, second
