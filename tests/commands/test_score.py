"""`taboo score` on texts of every task, with items in every allowed form."""

import argparse
import json

import pytest

from taboo.commands.score import add_parser
from taboo.scoring import SCORERS
from taboo.tasks import load_task
from taboo.tasks.sampling import load_items, write_sample

INLINE = {
    "gsm8k": ({"question": "1 + 1?", "answer": "#### 2"}, ["Answer: 2", "Answer: 3", "It is 2"]),
    "mmlu": ({"question": "?", "choices": list("wxyz"), "answer": 1}, [" B", "A", "unclear"]),
    "triviaqa": (
        {"question": "Who?", "answer": {"value": "Mark Twain", "aliases": ["Samuel Clemens"]}},
        ["samuel clemens", "not Mark Twain", ""],
    ),
    "humaneval": (
        {
            "task_id": "X/0",
            "prompt": "def one():\n",
            "entry_point": "one",
            "canonical_solution": "    return 1\n",
            "test": "def check(candidate):\n    assert candidate() == 1\n",
        },
        ["    return 1", "    return 2", "    return ("],
    ),
    "ifeval": (
        {
            "key": 1,
            "prompt": "?",
            "instruction_id_list": ["punctuation:no_comma", "startend:quotation"],
            "kwargs": [{}, {}],
        },
        ['"a"', 'Sure:\n"a"', "a, b"],
    ),
    "ifeval_forbidden_words": (
        {
            "key": 1,
            "prompt": "?",
            "instruction_id_list": ["keywords:forbidden_words"],
            "kwargs": [{"forbidden_words": ["rain"]}],
        },
        ["sun", "Rain.", ""],
    ),
}
OUTCOMES = {
    "gsm8k": ["correct", "wrong", "correct"],
    "mmlu": ["correct", "wrong", "unparsed"],
    "triviaqa": ["correct", "wrong", "unparsed"],
    "humaneval": ["passed", "failed", "syntax_error"],
    "ifeval": ["correct", "wrong", "wrong"],
    "ifeval_forbidden_words": ["correct", "wrong", "unparsed"],
}


def run(capsys, *arguments):
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["score", *map(str, arguments)])
    status = options.run(options)
    shown = capsys.readouterr()
    return status, [json.loads(line) for line in shown.out.splitlines()], shown.err


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("task", SCORERS)
def test_items_in_the_file_itself(task, tmp_path, capsys):
    item, texts = INLINE[task]
    path = write(tmp_path / "g.jsonl", [{"text": text, "item": item} for text in texts])
    status, verdicts, summary = run(capsys, "--task", task, "--generations", path)
    assert status == 0
    assert [verdict["outcome"] for verdict in verdicts] == OUTCOMES[task]
    for verdict in verdicts:
        assert {"correct", "outcome", "extracted", "rule"} <= set(verdict)
    right = sum(verdict["correct"] for verdict in verdicts)
    assert f"{task}: {right} of 3 ({100 * right / 3:.1f} %) correct" in summary


def test_the_other_readings_are_in_the_verdict_and_the_summary(tmp_path, capsys):
    item, texts = INLINE["gsm8k"]
    path = write(tmp_path / "g.jsonl", [{"text": text, "item": item} for text in texts])
    _, verdicts, summary = run(capsys, "--task", "gsm8k", "--generations", path)
    assert [(v["strict"], v["flexible"]) for v in verdicts] == [
        (True, True),
        (False, False),
        (False, True),
    ]
    assert "strict: 1 of 3" in summary
    assert "strict and flexible differ: 1" in summary

    item, texts = INLINE["ifeval"]
    path = write(tmp_path / "i.jsonl", [{"text": text, "item": item} for text in texts])
    _, verdicts, summary = run(capsys, "--task", "ifeval", "--generations", path)
    assert [v["strict"] for v in verdicts] == [[True, True], [True, False], [False, False]]
    assert [v["loose"] for v in verdicts] == [[True, True], [True, True], [False, False]]
    assert "strict: 1 of 3 (33.3 %) prompts, 3 of 6 (50.0 %) instructions" in summary
    assert "loose: 2 of 3 (66.7 %) prompts, 4 of 6 (66.7 %) instructions" in summary


@pytest.mark.parametrize("task", SCORERS)
def test_items_by_id(task, tmp_path, capsys, root, monkeypatch):
    """From the task's data, from its published records, and from a sample file."""
    mirror = root / "config" / "demo_items"
    definition = load_task(task)
    items = load_items(definition, mirror)[:3]
    lines = [{"text": "Answer: 1", "item_id": item["item_id"]} for item in items]
    path = write(tmp_path / "g.jsonl", lines)
    sample = write_sample(tmp_path / "n3.jsonl", definition, items)
    arguments = ("--task", task, "--generations", path)
    expected = run(capsys, *arguments, "--mirror", mirror)
    assert [verdict["item_id"] for verdict in expected[1]] == [item["item_id"] for item in items]
    assert run(capsys, *arguments, "--items", mirror / definition.mirror_file) == expected
    assert run(capsys, *arguments, "--items", sample) == expected
    monkeypatch.setenv("TABOO_MIRROR", str(mirror))
    assert run(capsys, *arguments) == expected


def test_the_last_part_of_an_id_will_do(tmp_path, capsys, root):
    path = write(tmp_path / "g.jsonl", [{"text": "5", "item_id": 0}, {"text": "5", "item_id": "1"}])
    mirror = root / "config" / "demo_items"
    _, verdicts, _ = run(capsys, "--task", "gsm8k", "--generations", path, "--mirror", mirror)
    assert [verdict["item_id"] for verdict in verdicts] == ["gsm8k/0", "gsm8k/1"]


def test_a_warning_is_a_line_on_standard_error(tmp_path, capsys):
    item, _ = INLINE["mmlu"]
    path = write(tmp_path / "g.jsonl", [{"text": "?", "item": item}])
    _, _, errors = run(capsys, "--task", "mmlu", "--generations", path)
    assert "warning: mmlu: accuracy is exactly 0 over 1 items" in errors
    assert "warning: mmlu: 1 of 1 texts state no letter" in errors


def test_odd_characters_stay_in_their_line(tmp_path, capsys):
    item = {"question": "?", "answer": {"value": "a\u2028b", "aliases": []}}
    path = tmp_path / "g.jsonl"
    line = json.dumps({"text": "a\u2028b", "item": item}, ensure_ascii=False)
    path.write_bytes((line + "\n").encode())
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["score", "--task", "triviaqa", "--generations", str(path)])
    assert options.run(options) == 0
    written = capsys.readouterr().out.split("\n")
    assert len(written) == 2
    assert json.loads(written[0])["correct"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"item": {}}, "line 1: expected an object with a `text`"),
        ([], "line 1: expected an object with a `text`"),
        ({"text": "x"}, "line 1: expected an `item` or an `item_id`"),
        ({"text": "x", "item": 7}, "line 1: `item` must be an object"),
        ({"text": "x", "item": {"answer": "none"}}, "gsm8k, item .*line 1: `answer` must end"),
        ({"text": "x", "item_id": "gsm8k/999"}, "line 1: there is no item 'gsm8k/999'"),
    ],
)
def test_a_line_that_can_not_be_scored_is_named(line, message, tmp_path, capsys, root):
    path = write(tmp_path / "g.jsonl", [line])
    with pytest.raises(ValueError, match=message):
        run(
            capsys, "--task", "gsm8k", "--generations", path, "--mirror", root / "config/demo_items"
        )
