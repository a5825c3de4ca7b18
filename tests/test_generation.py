"""Cells of a real model: reused, resumed after a kill, extended, all to the same bytes."""

import logging
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from taboo.cells import read_cell, recipe_key
from taboo.conditions import Condition
from taboo.engine import describe, open_engine
from taboo.files import read_json, sha256_file
from taboo.generation import chat_sample, generate_cells, recipe

LOG = logging.getLogger("taboo.test")
PREFIX = "Question: What is 2 + 3?\nAnswer: 5"
SAMPLE = [
    {"item_id": f"q{n}", "prefix": PREFIX, "prompt": f"{PREFIX}\n\nQuestion: What is {n} + 4?\nAnswer:", "chat": False, "item": {}}
    for n in range(6)
]  # fmt: skip
TASK = {"name": "sums", "version": "1"}
CONDITIONS = [Condition(0, max_new_tokens=12), Condition(2, max_new_tokens=12)]


def generate(model: Path, folder: Path, sample=SAMPLE, conditions=CONDITIONS, code="code") -> dict:
    """One generate job; its files lie in `folder`."""
    description = describe(model, "bf16")
    recipes = [
        recipe(condition, TASK, "weights", "starts", description, code) for condition in conditions
    ]
    return generate_cells(
        sample,
        conditions,
        recipes,
        [folder / f"{condition.name}.parquet" for condition in conditions],
        folder / "journal",
        lambda: open_engine(model, slots=3),
        LOG,
    )


def digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256_file(path) for path in folder.glob("*.parquet")}


@pytest.fixture(scope="module")
def whole(smollm2_path, tmp_path_factory):
    """An uninterrupted run: (folder, what was done)."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, generate(smollm2_path, folder)


def test_uninterrupted_run_has_all_items_in_sample_order(whole):
    folder, done = whole
    assert (done["reused"], done["generated"], done["items"]) == (0, 2, 12)
    for condition, key in zip(CONDITIONS, done["keys"], strict=True):
        table, metadata = read_cell(folder / f"{condition.name}.parquet")
        assert table.column("item_id").to_pylist() == [line["item_id"] for line in SAMPLE]
        assert metadata["cell_key"] == key
        interventions = sum(map(sum, table.column("intervened").to_pylist()))
        assert (interventions > 0) == (condition.rank > 0)


def test_second_run_reuses_all_without_opening_the_model(whole, caplog):
    folder, first = whole
    before = digests(folder)
    for path in folder.glob("*.parquet"):
        path.unlink()
    caplog.set_level(logging.INFO)
    again = generate_cells(
        SAMPLE,
        CONDITIONS,
        [read_recipe(folder, before, name) for name in ("baseline", "taboo_i2")],
        [folder / "baseline.parquet", folder / "taboo_i2.parquet"],
        folder / "journal",
        lambda: pytest.fail("the model was opened though nothing was missing"),
        LOG,
    )
    assert (again["reused"], again["generated"], again["tokens"]) == (2, 0, 0)
    assert again["keys"] == first["keys"]
    assert digests(folder) == before
    assert "cells: 2 reused, 0 generated" in caplog.text


def read_recipe(folder, before, name):
    # The cell was just deleted, so its recipe comes from the engine again.
    condition = next(c for c in CONDITIONS if c.name == name)
    assert f"{name}.parquet" in before
    return recipe(condition, TASK, "weights", "starts", describe(MODEL["path"], "bf16"), "code")


MODEL: dict[str, Path] = {}


@pytest.fixture(autouse=True)
def _remember(smollm2_path):
    MODEL["path"] = smollm2_path


def run_in_process(model, folder):
    generate(model, folder)


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_killed_anywhere_and_run_again_gives_the_same_bytes(
    whole, smollm2_path, tmp_path, lines, caplog
):
    process = multiprocessing.get_context("spawn").Process(
        target=run_in_process, args=(smollm2_path, tmp_path)
    )
    process.start()
    while process.is_alive() and journal_lines(tmp_path) < lines:
        process.join(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    kept = journal_lines(tmp_path)
    assert lines <= kept
    done = generate(smollm2_path, tmp_path)
    assert done["items"] == 12 - kept
    assert digests(tmp_path) == digests(whole[0])


def journal_lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("journal/*.jsonl"))


def test_larger_sample_generates_only_the_new_items(whole, smollm2_path, tmp_path):
    first = generate(smollm2_path, tmp_path, SAMPLE[:4])
    more = generate(smollm2_path, tmp_path, SAMPLE)
    assert (first["items"], more["items"]) == (8, 4)
    assert digests(tmp_path) == digests(whole[0])
    assert first["keys"] != more["keys"]


def test_new_condition_generates_only_itself(whole, smollm2_path, tmp_path):
    generate(smollm2_path, tmp_path, conditions=CONDITIONS[:1])
    done = generate(smollm2_path, tmp_path)
    assert (done["reused"], done["generated"], done["items"]) == (1, 1, 6)
    assert digests(tmp_path) == digests(whole[0])


def test_changed_prompt_or_code_is_generated_again(smollm2_path, tmp_path):
    generate(smollm2_path, tmp_path, SAMPLE[:2], CONDITIONS[:1])
    other = [{**SAMPLE[0], "prompt": SAMPLE[0]["prompt"] + " "}, SAMPLE[1]]
    assert generate(smollm2_path, tmp_path, other, CONDITIONS[:1])["items"] == 1
    assert generate(smollm2_path, tmp_path, other, CONDITIONS[:1], code="new")["items"] == 2


def test_unnamed_and_named_budget_of_the_same_size_are_one_recipe():
    named = Condition(1, max_new_tokens=512, named_budget=True)
    assert recipe(named, TASK, "w", "s", {}, "c") == recipe(Condition(1), TASK, "w", "s", {}, "c")


def test_tasks_with_the_same_budget_have_journals_of_their_own():
    """Jobs of two tasks run side by side, and a journal has one writer."""
    recipes = [
        recipe(Condition(1), {"name": name, "version": "1"}, "w", "s", {}, "c")
        for name in ("gsm8k", "mmlu")
    ]
    assert recipe_key(recipes[0]) != recipe_key(recipes[1])


def test_what_a_journal_is_of_is_written_next_to_it(whole):
    folder, _ = whole
    for condition in CONDITIONS:
        _, metadata = read_cell(folder / f"{condition.name}.parquet")
        journal = folder / "journal" / metadata["recipe_key"]
        assert read_json(journal.with_suffix(".json")) == metadata["recipe"]
        assert journal.with_suffix(".jsonl").is_file()


def test_chat_lines_go_through_the_template(smollm2_path):
    line = {**SAMPLE[0], "prefix": "", "prompt": "Say hello.", "chat": True}
    templated, plain = chat_sample([line, SAMPLE[1]], smollm2_path)
    assert plain == SAMPLE[1]
    assert templated["prompt"].endswith("<|im_start|>assistant\n")
    assert "<|im_start|>user\nSay hello.<|im_end|>" in templated["prompt"]
