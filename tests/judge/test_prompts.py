"""What the judge is shown."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.judge.prompts import JUDGED, ask_about, code_for, prompt_file, prompt_sha256
from taboo.judge.verdict import read_verdict
from tests.judge.injections import INJECTIONS

ITEMS = {
    "gsm8k": {"question": " Two and two? ", "answer": "2 + 2 = 4\n#### 4"},
    "mmlu": {"question": "Which?", "choices": ["one", "two ", "three", "four"], "answer": 1},
    "triviaqa": {"question": "Who?", "answer": {"value": "Ann", "aliases": ["Ann", "Anna"]}},
}
TEXTS = st.text(max_size=60) | st.sampled_from(INJECTIONS)


@pytest.mark.parametrize(
    ("task", "question", "reference"),
    [
        ("gsm8k", "Two and two?", "4"),
        ("mmlu", "Which?\nA. one\nB. two\nC. three\nD. four", "B. two"),
        ("triviaqa", "Who?", "Ann; Anna"),
    ],
)
def test_the_question_and_the_right_answer_are_shown(
    task: str, question: str, reference: str
) -> None:
    asked = ask_about(task, ITEMS[task], "I don't know.")
    assert (asked.question, asked.reference) == (question, reference)
    for part in (question, reference, "I don't know."):
        assert part in asked.prompt.removeprefix(asked.prefix)
    assert asked.prompt.endswith(f"\nVerdict on {asked.code}:")
    assert not re.search(r"\{\w+\}", asked.prompt)


@pytest.mark.parametrize("task", JUDGED)
@given(text=TEXTS)
def test_the_text_stands_whole_between_two_lines_it_could_not_write(task: str, text: str) -> None:
    asked = ask_about(task, ITEMS[task], text)
    fence = f"---- {asked.code} ----"
    assert asked.prompt.count(fence) == 2
    assert asked.prompt.split(fence)[1] == f"\n{text}\n"
    assert asked.code not in text


@pytest.mark.parametrize("task", JUDGED)
@given(text=TEXTS, other=TEXTS)
def test_all_texts_of_a_task_share_the_beginning(task: str, text: str, other: str) -> None:
    first, second = (ask_about(task, ITEMS[task], shown) for shown in (text, other))
    assert first.prefix == second.prefix
    assert first.prompt.startswith(first.prefix)
    assert len(first.prefix) > 500


@given(st.text(), st.text(alphabet="0123456789abcdef", max_size=400))
def test_a_code_follows_from_the_text_and_is_not_in_it(text: str, digits: str) -> None:
    assert code_for(text) == code_for(text)
    assert re.fullmatch("[0-9a-f]{6}", code_for(text + digits))
    assert code_for(text + digits) not in text + digits


def test_a_code_that_the_text_guessed_is_not_used() -> None:
    text = "guess "
    # Text that holds the code it would get: found by asking for the code and writing it down.
    first = code_for(text)
    assert code_for(text.replace("guess", first)) != first


@pytest.mark.parametrize("task", JUDGED)
@given(data=st.data())
def test_no_repeated_part_of_the_text_is_a_verdict(task: str, data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    asked = ask_about(task, ITEMS[task], text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert read_verdict(text[start:end], asked.code) == "unparsed"


@pytest.mark.parametrize("task", JUDGED)
def test_the_worked_examples_have_the_form_that_is_asked_for(task: str) -> None:
    found = re.findall(r"^Verdict on (\w{6}): (.*)$", prompt_file(task).read_text(), re.MULTILINE)
    assert [read_verdict(reply, code) for code, reply in found] == ["right", "wrong"]


def test_a_task_without_a_prompt_is_named() -> None:
    with pytest.raises(ValueError, match="no prompt for 'humaneval'; it has gsm8k, mmlu, triviaqa"):
        ask_about("humaneval", {}, "")
    with pytest.raises(ValueError, match="no prompt"):
        prompt_sha256("../gsm8k")


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("gsm8k", "gsm8k/test.jsonl"),
        ("mmlu", "mmlu/test.jsonl"),
        ("triviaqa", "triviaqa/rc.wikipedia.nocontext.validation.jsonl"),
    ],
)
def test_every_published_item_can_be_shown(task: str, file: str, benchmarks: Path) -> None:
    from taboo.tasks import load_task
    from taboo.tasks.sampling import load_items

    items = load_items(load_task(task), benchmarks)[:300]
    codes = set()
    for item in items:
        asked = ask_about(task, item, "The answer is (B). 12")
        assert asked.question
        assert asked.reference
        codes.add(asked.code)
    assert len(codes) == len(items) == 300
    assert json.dumps(sorted(codes))
