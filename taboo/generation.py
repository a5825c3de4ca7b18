"""Generate the cells of one (model, precision, task): reuse what is valid, produce what is missing."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from taboo.cells import Journal, recipe_key, write_cell
from taboo.conditions import Condition
from taboo.engine.base import Engine, Request
from taboo.files import sha256_json, sha256_text, write_json

OpenEngine = Callable[[], Engine]


def recipe(
    condition: Condition,
    task: Mapping[str, str],
    snapshot_sha256: str,
    word_starts_sha256: str,
    engine: Mapping[str, Any],
    code: str,
) -> dict[str, Any]:
    """Everything that decides how one item is generated, as the parts of a recipe key.

    `task` is the name and version of the task, so that each has a journal of its own, `engine` the engine's own description (name, precision, EOS, versions, machine kind), `code` the source digest of the generating code.
    """
    parts = asdict(condition)
    del parts["named_budget"]
    return {
        "task": dict(task),
        "snapshot": snapshot_sha256,
        "word_starts": word_starts_sha256,
        "condition": {**parts, "stop": list(condition.stop)},
        "engine": dict(engine),
        "code": code,
    }


def generate_cells(
    sample: Sequence[Mapping[str, Any]],
    conditions: Sequence[Condition],
    recipes: Sequence[Mapping[str, Any]],
    outputs: Sequence[str | Path],
    journal_folder: str | Path,
    open_engine: OpenEngine,
    log: logging.Logger,
) -> dict[str, Any]:
    """Write one cell file per condition, generating only what the journals lack.

    `sample` are the lines of a sample file, prompts as the model is to see them. `recipes` and `outputs` belong to `conditions`, one each; what a recipe key stands for is written next to its journal. The engine is opened only if something is missing. Returns what was done: `reused` and `generated` cells, `items`, `tokens` and the `budget` that they had, `seconds`, `keys`.
    """
    sample_sha256 = sha256_json([[line["item_id"], sha256_text(line["prompt"])] for line in sample])
    wanted = [(line["item_id"], sha256_text(line["prompt"])) for line in sample]
    with ExitStack() as stack:
        journals = [
            stack.enter_context(Journal(journal_folder, recipe_key(parts), log))
            for parts in recipes
        ]
        for journal, parts in zip(journals, recipes, strict=True):
            write_json(journal.path.with_suffix(".json"), parts)
        missing = [set(journal.missing(wanted)) for journal in journals]
        requests = [
            Request(line["item_id"], line["prompt"], condition, line["prefix"])
            for line, item in zip(sample, wanted, strict=True)
            for condition, lacking in zip(conditions, missing, strict=True)
            if item in lacking
        ]
        generated = sum(bool(lacking) for lacking in missing)
        log.info("cells: %d reused, %d generated", len(conditions) - generated, generated)
        tokens, seconds = 0, 0.0
        if requests:
            log.info("items: %d to generate", len(requests))
            engine = open_engine()
            started = time.monotonic()
            by_condition = dict(zip(conditions, journals, strict=True))
            for generation in engine.generate(requests):
                by_condition[generation.condition].append(generation)
                tokens += len(generation.token_ids)
            seconds = time.monotonic() - started
            log.info(
                "generated %d tokens in %.1f s: %.1f tokens/s", tokens, seconds, tokens / seconds
            )
        keys = [
            write_cell(path, [journal.records[item] for item in wanted], parts, sample_sha256)
            for path, journal, parts in zip(outputs, journals, recipes, strict=True)
        ]
    return {
        "reused": len(conditions) - generated,
        "generated": generated,
        "items": len(requests),
        "tokens": tokens,
        "budget": sum(request.condition.max_new_tokens for request in requests),
        "seconds": seconds,
        "keys": keys,
    }


def chat_sample(
    sample: Iterable[Mapping[str, Any]], model_folder: str | Path
) -> list[dict[str, Any]]:
    """The sample as an instruct model sees it: lines marked `chat` go through its chat template."""
    sample = list(sample)
    if not any(line["chat"] for line in sample):
        return [dict(line) for line in sample]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)

    def templated(line: Mapping[str, Any]) -> dict[str, Any]:
        if not line["chat"]:
            return dict(line)
        messages = [{"role": "user", "content": line["prompt"]}]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return {**line, "prompt": prompt, "prefix": ""}

    return [templated(line) for line in sample]
