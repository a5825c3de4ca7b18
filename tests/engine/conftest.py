"""Requests and small random models for the engine tests."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3Config, Olmo2Config, Qwen2Config

from taboo.engine import Condition, Request, open_engine
from taboo.engine.base import Generation
from taboo.engine.slots import SlotEngine

FAMILIES = ["smollm2", "gemma", "qwen2", "olmo2", "gemma3_multimodal"]
SMALL = ["qwen2", "olmo2", "gemma3_multimodal"]

SHOTS = (
    "Question: A baker fills 4 trays with 6 rolls each and sells 9 rolls. How many are left?\n"
    "Answer: There are 4 * 6 = 24 rolls. 24 - 9 = 15 are left. The answer is 15.\n\n"
    "Question: Mia reads 12 pages on Monday and twice as many on Tuesday. How many in all?\n"
    "Answer: On Tuesday she reads 2 * 12 = 24 pages. 12 + 24 = 36. The answer is 36."
)
OTHER_SHOTS = "The capital of France is Paris.\nThe capital of Italy is Rome."
QUESTIONS = [
    "A shop has 30 lamps and sells 4 a day for 5 days. How many are left?",
    "Tom walks 3 miles each day. How far does he walk in two weeks, and how far in three?",
    "A farmer has 8 cows. Each gives 9 litres of milk. He keeps 12 litres. How much is sold?",
    "Six friends share 42 marbles evenly. Then one of them loses 3. How many has she now?",
]


@pytest.fixture(scope="session")
def conditions() -> list[Condition]:
    """Conditions that among them use every part of the choice of a token."""
    return [
        Condition(0, max_new_tokens=20, stop=("\n\n",)),
        Condition(2, max_new_tokens=24),
        Condition(8, max_new_tokens=17, stop=("The", "ion")),
        Condition(2, mode="mid_word", max_new_tokens=12),
        Condition(1, temperature=0.7, seed=3, max_new_tokens=14),
    ]


@pytest.fixture(scope="session")
def requests_(conditions: list[Condition]) -> list[Request]:
    """Items with one prefix, with another, and with none, each under all conditions."""
    shown = [
        (f"q{i}", f"{SHOTS}\n\nQuestion: {q}\nAnswer:", SHOTS) for i, q in enumerate(QUESTIONS)
    ]
    shown += [
        ("spain", f"{OTHER_SHOTS}\nThe capital of Spain is", OTHER_SHOTS),
        ("alone", "Once upon a time there was", ""),
    ]
    return [Request(id_, text, c, prefix) for id_, text, prefix in shown for c in conditions]


@pytest.fixture(scope="session")
def model_path(
    smollm2_path: Path, gemma_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The folder of a model by its name; the small ones have random weights and are made here."""
    made: dict[str, Path] = {"smollm2": smollm2_path, "gemma": gemma_path}

    def get(name: str) -> Path:
        if name not in made:
            made[name] = make_small(name, tmp_path_factory.mktemp(name), smollm2_path)
        return made[name]

    return get


def make_small(name: str, folder: Path, tokenizer: Path) -> Path:
    """A model with random weights, three layers and a padded vocabulary."""
    shape = {
        "vocab_size": 49152 + 64,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        "initializer_range": 0.2,
    }
    if name == "qwen2":
        config = Qwen2Config(
            **shape, use_sliding_window=True, sliding_window=40, max_window_layers=1
        )
    elif name == "olmo2":
        config = Olmo2Config(**shape)
    else:
        sliding = {"head_dim": 32, "sliding_window": 24, "query_pre_attn_scalar": 20}
        vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
        vision |= {"num_attention_heads": 2, "image_size": 28, "patch_size": 14}
        config = Gemma3Config(
            text_config={
                **shape,
                **sliding,
                "layer_types": ["sliding_attention"] * 2 + ["full_attention"],
            },
            vision_config=vision,
            eos_token_id=2,
        )
    torch.manual_seed(7)
    AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer / file, folder / file)
    return folder


@pytest.fixture(scope="session")
def engine(model_path: Callable[[str], Path]) -> Callable[[str, str], SlotEngine]:
    """The slot engine of a model and precision, loaded once; set its `slots` as you need."""
    opened: dict[tuple[str, str], SlotEngine] = {}

    def get(name: str, precision: str = "bf16") -> SlotEngine:
        key = name, precision
        if key not in opened:
            opened[key] = open_engine(model_path(name), precision, device="cpu")
        opened[key].slots = None
        return opened[key]

    return get


def by_request(generations: list[Generation]) -> dict[tuple[str, str], Generation]:
    """Generations by item and condition."""
    found = {(g.item_id, g.condition.name): g for g in generations}
    assert len(found) == len(generations)
    return found
