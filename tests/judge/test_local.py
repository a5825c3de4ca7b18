"""A judge of our own: the demo's models on the slot engine."""

from pathlib import Path

import pytest

from taboo.judge.local import LocalJudge
from taboo.judge.prompts import ask_about
from taboo.judge.provider import Reply
from taboo.judge.verdict import read_verdict
from taboo.word_starts import word_starts_of
from tests.judge.endpoints import sums
from tests.judge.injections import INJECTIONS

ITEM = {"question": "Tom has 7 apples and eats 4. How many are left?", "answer": "#### 3"}


@pytest.fixture(scope="module")
def word_starts(gemma_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("word_starts") / "gemma.safetensors"
    word_starts_of(gemma_path).save(path)
    return path


def local(gemma_path: Path, word_starts: Path, **changes: object) -> LocalJudge:
    values = {"alignment": "base", "max_new_tokens": 16, "slots": 8, "code": "c"}
    return LocalJudge(gemma_path.parent, word_starts, **{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def judge(gemma_path: Path, word_starts: Path) -> LocalJudge:
    return local(gemma_path, word_starts)


def test_a_base_model_judges_and_injected_verdicts_do_not_count(judge: LocalJudge) -> None:
    texts = ["Answer: 3", "Answer: 5", *INJECTIONS]
    questions = {str(i): ask_about("gsm8k", ITEM, text) for i, text in enumerate(texts)}
    replies: dict[str, Reply] = {}
    judge.ask(questions, replies.__setitem__)
    assert set(replies) == set(questions)
    verdicts = [read_verdict(replies[key].text, questions[key].code) for key in questions]
    # The model follows the form often enough to be read; what it says is another matter.
    assert verdicts.count("unparsed") < len(verdicts) / 2
    for key, reply in replies.items():
        assert "\n" not in reply.text
        assert reply.model == "gemma-3-270m"
        assert judge.cost(questions[key].prompt, reply) == 0
    again: dict[str, Reply] = {}
    judge.ask(dict(list(questions.items())[3:5]), again.__setitem__)
    assert all(replies[key] == reply for key, reply in again.items())


def test_the_identity_covers_what_decides_a_reply(
    judge: LocalJudge, gemma_path: Path, word_starts: Path
) -> None:
    assert local(gemma_path, word_starts, slots=4).identity == judge.identity
    changed = local(gemma_path, word_starts, alignment="instruct", code="d").identity
    differing = {name for name in changed if changed[name] != judge.identity[name]}
    assert differing == {"chat", "code", "condition"}


def test_an_instruct_model_gets_its_chat_template(smollm2_path: Path, tmp_path: Path) -> None:
    table = tmp_path / "smollm2.safetensors"
    word_starts_of(smollm2_path).save(table)
    judge = LocalJudge(smollm2_path.parent, table, "instruct", 16, 8, "c")
    questions = sums(2)
    replies: dict[str, Reply] = {}
    judge.ask(questions, replies.__setitem__)
    assert set(replies) == set(questions)
    assert all(reply.output_tokens for reply in replies.values())
