"""Two models in one store: what one has generated is never given out as the other's."""

import logging

import pytest

from taboo.cells import Journal, read_cell
from taboo.conditions import Condition
from taboo.engine import describe, open_engine
from taboo.generation import generate_cells, recipe
from taboo.provenance.keys import differences

LOG = logging.getLogger("taboo.test")
SAMPLE = [
    {"item_id": f"q{n}", "prefix": "", "prompt": f"Question: What is {n} + 4?\nAnswer:", "chat": False}
    for n in range(2)
]  # fmt: skip
CONDITION = Condition(1, max_new_tokens=6)


def generate(model, name, folder, open_model):
    parts = recipe(
        CONDITION,
        {"name": "gsm8k", "version": "1"},
        f"weights of {name}",
        f"word starts of {name}",
        describe(model, "bf16"),
        "code",
    )
    return generate_cells(
        SAMPLE,
        [CONDITION],
        [parts],
        [folder / f"{name}.parquet"],
        folder / "journal",
        open_model,
        LOG,
    )


def test_each_model_is_served_its_own_generations_and_nothing_else(
    smollm2_path, gemma_path, tmp_path
):
    models = {"a": smollm2_path, "b": gemma_path}
    for name, model in models.items():
        done = generate(model, name, tmp_path, lambda model=model: open_engine(model, slots=2))
        assert (done["generated"], done["items"]) == (1, 2)
    first = {name: read_cell(tmp_path / f"{name}.parquet") for name in models}
    for name, model in models.items():
        done = generate(
            model, name, tmp_path, lambda: pytest.fail("generated again though it was there")
        )
        assert done["reused"] == 1
        assert read_cell(tmp_path / f"{name}.parquet")[0].equals(first[name][0])
    (one, a), (other, b) = first["a"], first["b"]
    assert one["token_ids"].to_pylist() != other["token_ids"].to_pylist()
    assert one["prompt_sha256"].to_pylist() == other["prompt_sha256"].to_pylist()
    assert any(
        line.startswith("snapshot: weights of a") for line in differences(a["recipe"], b["recipe"])
    )
    journals = {k: tmp_path / "journal" / f"{m['recipe_key']}.jsonl" for k, (_, m) in first.items()}
    journals["b"].write_bytes(journals["a"].read_bytes())
    with Journal(tmp_path / "journal", b["recipe_key"], LOG) as journal:
        assert journal.records == {}
