"""Prompts to tokens and tokens to text, with both families of tokenizers."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.engine import Condition, Request
from taboo.engine.loading import load_tokenizer
from taboo.engine.prompts import StopStrings, Tokens
from tests.engine.conftest import SHOTS

BASELINE = Condition(0, max_new_tokens=8)


@pytest.fixture(scope="module", params=["smollm2_path", "gemma_path"])
def tokens(request: pytest.FixtureRequest) -> Tokens:
    path: Path = request.getfixturevalue(request.param)
    return Tokens(load_tokenizer(path))


def test_one_bos_where_the_tokenizer_wants_one(smollm2_path: Path, gemma_path: Path) -> None:
    gemma = Tokens(load_tokenizer(gemma_path))
    plain = gemma.encode("The sky is")
    assert plain == gemma.encode("<bos>The sky is")
    assert plain.count(gemma.tokenizer.bos_token_id) == 1
    smollm2 = Tokens(load_tokenizer(smollm2_path))
    assert smollm2.tokenizer.bos_token_id not in smollm2.encode("The sky is")


def test_a_chat_template_gets_no_second_bos(smollm2_path: Path) -> None:
    smollm2 = Tokens(load_tokenizer(smollm2_path))
    messages = [{"role": "user", "content": "Hello"}]
    template = smollm2.tokenizer.apply_chat_template
    text = template(messages, tokenize=False, add_generation_prompt=True)
    ids = template(messages, tokenize=True, add_generation_prompt=True, return_dict=False)
    assert smollm2.encode(text) == tuple(ids)


def test_prefix_is_split_off_where_a_token_ends(tokens: Tokens) -> None:
    request = Request("a", SHOTS + "\n\nQuestion: Why?\nAnswer:", BASELINE, SHOTS)
    (prompt,) = tokens.prompts([request], 1000)
    assert prompt.prefix == tokens.encode(SHOTS)
    assert prompt.prefix + prompt.own == tokens.encode(request.prompt)


def test_prefix_inside_a_token_is_refused_by_item(tokens: Tokens) -> None:
    with pytest.raises(ValueError, match=r"item maths/7: .*let the prefix end where a token does"):
        tokens.prompts([Request("maths/7", "Extraordinary claims", BASELINE, "Extraord")], 1000)


def test_a_prompt_that_is_its_own_prefix_has_none(tokens: Tokens) -> None:
    (prompt,) = tokens.prompts([Request("a", SHOTS, BASELINE, SHOTS)], 1000)
    assert prompt.prefix == ()
    assert prompt.own == tokens.encode(SHOTS)


def test_too_long_is_refused_by_item_before_anything_runs(tokens: Tokens) -> None:
    fine = Request("short", "Hello", BASELINE)
    with pytest.raises(ValueError, match=r"item long: .* raise max_length"):
        tokens.prompts([fine, Request("long", SHOTS, BASELINE)], 40)


def test_requests_for_one_prompt_share_it(tokens: Tokens) -> None:
    conditions = [Condition(rank, max_new_tokens=rank + 1) for rank in (0, 3)]
    requests = [Request(id_, f"{id_} is", c) for c in conditions for id_ in ("Rome", "Paris")]
    prompts = tokens.prompts(requests, 1000)
    assert [[r.item_id for r in p.requests] for p in prompts] == [["Rome"] * 2, ["Paris"] * 2]
    assert prompts[0].room == len(prompts[0].own) + 4


ALPHABET = st.sampled_from(["a", "b", " ", "\n", "Question", ":", "é", "日", "🙂", "def"])


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_stop_string_is_found_when_it_first_appears(tokens: Tokens, data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(ALPHABET, min_size=1, max_size=20)))
    stop = tuple(
        data.draw(
            st.lists(
                st.lists(ALPHABET, min_size=1, max_size=3).map("".join), min_size=1, max_size=2
            )
        )
    )
    ids = tokens.tokenizer(text, add_special_tokens=False)["input_ids"]
    finder = StopStrings(tokens, stop)
    for end in range(1, len(ids) + 1):
        whole = tokens.decode(ids[:end])
        present = any(s in whole for s in stop)
        assert finder.find(ids[:end]) == present
        if present:
            before = finder.cut(ids[:end])
            assert before is not None
            assert not any(s in before for s in stop)
            assert whole.startswith(before)
            break
    else:
        assert finder.cut(ids) is None
