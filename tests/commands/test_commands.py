"""The command line: continuations side by side, summaries, and errors in one line."""

import argparse

import pandas as pd
import pytest
from tokenizers import Tokenizer

from taboo.cli import main
from taboo.commands.show import summary
from taboo.commands.try_model import add_parser, facts, marked
from taboo.conditions import Condition
from taboo.engine.base import Generation


def test_try_shows_both_continuations_and_marks_what_was_forced(smollm2_path, capsys):
    arguments = ["try", "-m", str(smollm2_path), "--rank", "2", "--tokens", "12", "Two and two is"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "baseline" in shown
    assert "taboo_i2" in shown
    assert "0 interventions, 0.0 bits" in shown
    assert "«" in shown
    assert "per intervention" in shown


def generation(tokenizer: Tokenizer, text: str, forced: set[int]) -> Generation:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    intervened = tuple(position in forced for position in range(len(ids)))
    bits = tuple(2.0 if flag else 0.0 for flag in intervened)
    return Generation(
        "x", Condition(1), "", tuple(ids), tuple(ids), bits, intervened, text, "length", 1
    )


def test_marks_keep_the_text_and_wait_for_whole_characters(smollm2_path):
    tokenizer = Tokenizer.from_file(str(smollm2_path / "tokenizer.json"))
    text = " the café 🙂 ends"
    n = len(tokenizer.encode(text, add_special_tokens=False).ids)
    for position in range(n):
        shown = str(marked(tokenizer, generation(tokenizer, text, {position})))
        assert shown.replace("«", "").replace("»", "") == text
        assert shown.count("«") == shown.count("»") == 1
    assert str(marked(tokenizer, generation(tokenizer, text, set()))) == text


def test_facts_name_the_dose(smollm2_path):
    tokenizer = Tokenizer.from_file(str(smollm2_path / "tokenizer.json"))
    assert "2 interventions, 4.0 bits (2.00 per intervention)" in facts(
        generation(tokenizer, " one two three", {0, 2})
    )
    assert "per intervention" not in facts(generation(tokenizer, " one", set()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["try", "-m", "no-such-model", "x"], "no-such-model is neither a model folder nor"),
        (["try", "--rank", "0", "x"], "--rank must be 1 or more"),
        (["show", "--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_errors_are_one_line_without_a_trace(arguments, message, capsys, root, monkeypatch):
    monkeypatch.chdir(root)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_outside_the_repository_it_says_where_to_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 2
    assert "run taboo in the repository's root" in capsys.readouterr().err


def test_every_command_has_a_help_text():
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0


def test_summary_pools_items_and_is_silent_on_what_was_not_run():
    rows = [
        {"model": "m", "task": "gsm8k", "rank": 0, "accuracy": 0.5, "n_baseline_correct": None, "n_retained": None},
        {"model": "m", "task": "gsm8k", "rank": 1, "accuracy": 0.3, "n_baseline_correct": 10, "n_retained": 4},
        {"model": "m", "task": "mmlu", "rank": 0, "accuracy": 0.1, "n_baseline_correct": None, "n_retained": None},
        {"model": "m", "task": "mmlu", "rank": 1, "accuracy": 0.1, "n_baseline_correct": 30, "n_retained": 6},
    ]  # fmt: skip
    cells = pd.DataFrame(rows).assign(
        seed=None, mode="word_start", delta_s_per_intervention=[None, 2.0, None, 3.0]
    )
    baseline, retained, dose = summary(cells, {"m": "Model M"})
    assert "Model M gsm8k 50%, mmlu 10%" in baseline
    assert "i=1 25%" in retained
    assert "i=1 2.5 bits" in dose
    assert len(summary(cells[cells["rank"] == 0], {})) == 1
