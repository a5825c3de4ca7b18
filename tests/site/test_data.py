"""What the pages are given: texts whole, numbers or the reason why there are none."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from taboo.files import read_jsonl
from taboo.site.gold import gold_answer
from taboo.site.group import group_data, write_data
from taboo.site.marks import Names, packed_marks, split
from taboo.stats.examples import pieces
from tests.conftest import snapshot
from tests.site.conftest import CONDITIONS, RIGHT, SAMPLE, SCRIPT, TEXTS, make_cell

TOKENIZERS = {
    name: Tokenizer.from_file(str(snapshot(name) / "tokenizer.json"))
    for name in ("smollm2-135m-instruct", "gemma-3-270m")
}


def read(path):
    """What a browser reads in a script of data."""
    text = path.read_text(encoding="ascii")
    return json.loads(text.removeprefix("taboo.receive(").removesuffix(");\n"))


def unpacked(text, marks):
    """(chosen text, number of the nominal token, bits) of each mark, as the page takes them apart."""
    at = 0
    for mark in filter(None, marks.split(";")):
        skip, length, nominal, centibits = map(int, mark.split(","))
        at += skip
        yield text[at : at + length], nominal, centibits / 100
        at += length


def test_text_goes_out_and_comes_back_and_nothing_in_it_can_end_the_script(
    cells, tokenizer, tmp_path
):
    data = group_data(cells, SAMPLE, tokenizer, SCRIPT)
    write_data(tmp_path / "a.js", data)
    content = (tmp_path / "a.js").read_bytes()
    assert content.isascii()
    assert b"\x00" not in content
    assert content.count(b"\n") == 1
    back = read(tmp_path / "a.js")
    assert back == data
    assert back["cells"][1]["text"] == TEXTS
    assert back["cells"][0]["read"][:2] == [SCRIPT, SCRIPT]
    assert back["items"][3]["question"] == "Question: 3 <b>apples</b>? \ud800"
    write_data(tmp_path / "b.js", group_data(cells, SAMPLE, tokenizer, SCRIPT))
    assert (tmp_path / "b.js").read_bytes() == content


def test_every_intervention_is_marked_with_its_tokens_and_surprisal(cells, tokenizer):
    data = group_data(cells, SAMPLE, tokenizer, "One")
    for given_cell, shown in zip(cells, data["cells"], strict=True):
        for row, text, marks in zip(
            given_cell.cell.itertuples(), shown["text"], shown["marks"], strict=True
        ):
            expected = [
                (tokenizer.decode([chosen]), tokenizer.decode([nominal]), bits)
                for chosen, nominal, bits, masked in zip(
                    row.token_ids, row.nominal_ids, row.delta_s, row.intervened, strict=True
                )
                if masked
            ]
            found = list(unpacked(text, marks))
            assert [data["nominal"][number] for _, number, _ in found] == [e[1] for e in expected]
            assert [bits for *_, bits in found] == [e[2] for e in expected]
            whole = [(f[0], e[0]) for f, e in zip(found, expected, strict=True) if "�" not in e[0]]
            assert [one for one, _ in whole] == [other for _, other in whole]


def test_verdicts_failures_and_numbers(cells, tokenizer):
    baseline, low, high = group_data(cells, SAMPLE, tokenizer, "One")["cells"]
    assert (baseline["correct"], low["correct"]) == (RIGHT["baseline"], RIGHT["taboo_i1"])
    assert low["before"] == high["before"] == RIGHT["baseline"]
    assert low["retention"] == "50 %"
    assert ["of these still right (retention)", "2 of 4, 50 % (15–85)"] in low["facts"]
    assert [bool(mode) for mode in low["failure"]] == [True, False, False, True, False, False]
    assert not any(baseline["failure"])
    assert [name for name, _ in baseline["facts"]] == [
        "right", "tokens per item", "ran to the budget", "ends in a loop"]  # fmt: skip


def test_nothing_right_at_baseline_is_not_available(tokenizer):
    none = [make_cell(tokenizer, name, "000000") for name in CONDITIONS]
    shown = group_data(none, SAMPLE, tokenizer, "One")["cells"][2]
    assert shown["retention"] == "n/a"
    facts = dict(shown["facts"])
    assert facts["of these still right (retention)"] == "0 of 0, n/a"
    assert facts["marginal retention"] == "n/a"


def test_a_cell_without_its_baseline_says_so(tokenizer):
    alone = [make_cell(tokenizer, "taboo_i2", "001000")]
    shown = group_data(alone, SAMPLE, tokenizer, "One")["cells"][0]
    assert shown["before"] == "------"
    assert dict(shown["facts"])["of these still right (retention)"] == "n/a"


def test_what_was_not_scored_is_told_apart(cells, tokenizer):
    cut = cells[0].cell.assign(text=[text[:5] for text in TEXTS])
    data = group_data([replace(cells[0], cell=cut)], SAMPLE, tokenizer, "One")
    assert data["cells"][0]["text"] == TEXTS
    assert data["cells"][0]["read_to"] == [min(5, len(text)) for text in TEXTS]


def test_a_sample_of_other_items_is_refused(cells, tokenizer):
    with pytest.raises(ValueError, match=r"one/bf16/gsm8k/baseline"):
        group_data(cells, SAMPLE[::-1], tokenizer, "One")


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=60)
@given(data=st.data())
def test_pieces_of_any_tokens_are_the_whole_and_as_in_the_examples(name, data):
    tokenizer = TOKENIZERS[name]
    size = tokenizer.get_vocab_size()
    text = tokenizer.encode(data.draw(st.text(max_size=12)), add_special_tokens=False).ids
    ids = data.draw(st.one_of(st.just(text), st.lists(st.integers(0, size - 1), max_size=12)))
    whole = tokenizer.decode(ids, skip_special_tokens=False)
    found = split(ids, tokenizer)
    slowly = list(pieces(ids, lambda one: tokenizer.decode(one, skip_special_tokens=False)))
    for way in (found, slowly):
        assert "".join(way) == whole
        assert len(way) == len(ids)
    if "�" not in whole:
        assert found == slowly


def test_bytes_that_are_no_character_are_not_lost():
    tokenizer = TOKENIZERS["gemma-3-270m"]
    nul, byte = tokenizer.token_to_id("<0x00>"), tokenizer.token_to_id("<0x80>")
    assert tokenizer.decode([nul]) == "\x00"
    for other in (byte, nul):
        whole = tokenizer.decode([nul, byte, other], skip_special_tokens=False)
        assert "".join(split([nul, byte, other], tokenizer)) == whole
    assert split([nul, byte], tokenizer) == ["", "\ufffd\ufffd"]
    assert split([], tokenizer) == []


@given(st.lists(st.tuples(st.text(max_size=3), st.floats(0, 40, width=32), st.booleans())))
def test_marks_can_be_taken_apart_again(steps):
    texts, bits, masked = zip(*steps, strict=True) if steps else ((), (), ())
    names = Names(TOKENIZERS["smollm2-135m-instruct"])
    nominal = [100 + number % 3 for number in range(len(steps))]
    packed = packed_marks(texts, nominal, bits, masked, names)
    found = list(unpacked("".join(texts), packed))
    assert [chosen for chosen, *_ in found] == [t for t, m in zip(texts, masked, strict=True) if m]
    assert [share for *_, share in found] == pytest.approx(
        [b for b, m in zip(bits, masked, strict=True) if m], abs=0.0051
    )
    assert len(names.texts) <= 3


DEMO = {
    "gsm8k": ("gsm8k/test.jsonl", "5"),
    "mmlu": ("mmlu/test.jsonl", "B. Paris"),
    "triviaqa": ("triviaqa/rc.wikipedia.nocontext.validation.jsonl", "Paris"),
    "humaneval": ("humaneval/HumanEval.jsonl", "    return a + b\n"),
    "ifeval": ("ifeval/input_data.jsonl", "punctuation:no_comma"),
}


@pytest.mark.parametrize("task", DEMO)
def test_right_answer_of_each_task(root, task):
    file, answer = DEMO[task]
    assert gold_answer(task, read_jsonl(root / "config" / "demo_items" / file)[0]) == answer


def test_right_answer_of_a_task_that_is_not_known_here():
    assert gold_answer("boolq", {"item_id": "b/1", "answer": True}) == "true"
    assert gold_answer("other", {"item_id": "o/1", "key": "é"}) == '{"key": "é"}'
    arguments = {"instruction_id_list": ["a:b"], "kwargs": [{"n": 2, "word": None}]}
    assert gold_answer("ifeval", arguments) == "a:b n=2"
