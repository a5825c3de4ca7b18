"""Engines: how tokens are produced."""

from pathlib import Path

from taboo.conditions import Condition
from taboo.engine.base import Engine, Generation, Request
from taboo.engine.hf import HuggingFaceEngine
from taboo.engine.loading import describe
from taboo.engine.slots import SlotEngine
from taboo.word_starts import WordStarts

__all__ = [
    "Condition",
    "Engine",
    "Generation",
    "HuggingFaceEngine",
    "Request",
    "SlotEngine",
    "describe",
    "open_engine",
]


def open_engine(
    model_path: str | Path,
    precision: str = "bf16",
    slots: int | None = None,
    max_length: int | None = None,
    device: str | None = None,
    word_starts: WordStarts | None = None,
    progress: bool = False,
) -> SlotEngine:
    """Load a model from a local folder into the slot engine.

    Args:
        model_path: folder with config.json, safetensors weights and tokenizer files.
        precision: "bf16", "fp32", or with bitsandbytes "nf4" or "int8".
        slots: how many requests run side by side; chosen from work and free memory if None.
        max_length: most tokens of a prompt and its continuation; the model's own limit if None.
        device: "cpu", "cuda" or the like; a GPU where there is one if None.
        word_starts: the model's word-start table; computed from the tokenizer if None.
        progress: show a bar on a terminal, else log a line every 30 seconds.

    Where results depend on the batch plan (`taboo.engine.loading.batch_plan`), `slots` and `max_length` have fixed defaults and belong to the cell key. Raises ValueError for an unknown precision or an architecture the engine can't run, by name; `HuggingFaceEngine` runs those.
    """
    return SlotEngine(model_path, precision, slots, max_length, device, word_starts, progress)
