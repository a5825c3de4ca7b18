"""The mask: exactly i tokens, at word starts, per row, under ties and padding."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList

from taboo.processor import TabooLogitsProcessor, intervene, top_mask
from taboo.word_starts import Kind, WordStarts, word_starts_of

A, C, W, S = Kind.ABSENT, Kind.CONTINUATION, Kind.WORD_START, Kind.SPECIAL


def table(*kinds: Kind) -> WordStarts:
    return WordStarts(np.array(kinds, dtype=np.uint8), "Ġ")


def masked_ids(scores: torch.Tensor) -> list[set[int]]:
    return [set((row == -torch.inf).nonzero().flatten().tolist()) for row in scores]


def test_masks_the_top_i_where_the_nominal_token_starts_a_word():
    scores = torch.tensor([[0.0, 5.0, 4.0, 3.0], [6.0, 5.0, 4.0, 3.0]])
    out = TabooLogitsProcessor(table(C, W, W, C), 2)(None, scores)
    assert masked_ids(out) == [{1, 2}, set()]


def test_top_i_counts_tokens_of_every_kind():
    scores = torch.tensor([[1.0, 9.0, 8.0, 7.0, 6.0]])
    out = TabooLogitsProcessor(table(C, W, S, C, W), 3)(None, scores)
    assert masked_ids(out) == [{1, 2, 3}]


def test_mid_word_mode_masks_where_the_nominal_token_continues_a_word():
    scores = torch.tensor([[0.0, 5.0, 4.0], [6.0, 5.0, 4.0], [1.0, 2.0, 9.0]])
    out = TabooLogitsProcessor(table(C, W, S), 1, "mid_word")(None, scores)
    assert masked_ids(out) == [set(), {0}, set()]


def test_each_row_has_its_own_rank():
    scores = torch.tensor([[1.0, 3.0, 2.0, 0.0]]).repeat(4, 1)
    out = TabooLogitsProcessor(table(W, W, W, W), [0, 1, 2, 3])(None, scores)
    assert masked_ids(out) == [set(), {1}, {1, 2}, {0, 1, 2}]


def test_padded_rows_go_first_and_do_not_count():
    scores = torch.tensor([[9.0, 1.0, 2.0, 8.0]])
    out = TabooLogitsProcessor(table(A, W, W, A), 1)(None, scores)
    assert masked_ids(out) == [{0, 2, 3}]
    assert masked_ids(TabooLogitsProcessor(table(A, W, W, A), 0)(None, scores)) == [{0, 3}]


def test_ties_go_to_the_lowest_id():
    scores = torch.tensor([[1.0, 3.0, 3.0, 3.0, 3.0]])
    out = TabooLogitsProcessor(table(W, W, W, W, W), 2)(None, scores)
    assert masked_ids(out) == [{1, 2}]
    assert out.argmax(-1).tolist() == [3]


def test_scores_are_not_changed_in_place():
    scores = torch.tensor([[1.0, 3.0, 2.0]])
    before = scores.clone()
    TabooLogitsProcessor(table(W, W, W), 1)(None, scores)
    assert torch.equal(scores, before)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_nan_and_infinite_logits_raise_and_name_the_row(bad):
    scores = torch.zeros(3, 4)
    scores[1, 2] = bad
    with pytest.raises(ValueError, match=r"row\(s\) \[1\]"):
        TabooLogitsProcessor(table(W, W, W, W), 1)(None, scores)


@pytest.mark.parametrize("rank", [-1, 1.5, [], [1, -2], "2"])
def test_wrong_ranks_are_refused(rank):
    with pytest.raises(ValueError, match="rank must be"):
        TabooLogitsProcessor(table(W, W), rank)


def test_rank_that_masks_everything_is_refused():
    with pytest.raises(ValueError, match="whole vocabulary of 2 tokens"):
        TabooLogitsProcessor(table(W, W, A), 2)
    with pytest.raises(ValueError, match="whole vocabulary"):
        top_mask(torch.zeros(1, 3), torch.tensor([3]))


def test_table_of_another_model_and_wrong_batch_are_refused():
    with pytest.raises(ValueError, match=r"3 columns.* 2"):
        TabooLogitsProcessor(table(W, W), 1)(None, torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"2 ranks.*3 rows"):
        TabooLogitsProcessor(table(W, W), [1, 0])(None, torch.zeros(3, 2))
    with pytest.raises(ValueError, match="mode must be"):
        TabooLogitsProcessor(table(W, W), 1, "end_word")


@settings(deadline=None)
@given(st.data())
def test_exactly_i_tokens_as_a_sort_by_value_then_id_says(data):
    width = data.draw(st.integers(2, 12))
    rows = data.draw(st.integers(1, 4))
    # Few distinct values, so that ties are everywhere.
    values = st.sampled_from([-2.0, 0.0, 0.5, 3.0])
    logits = torch.tensor(
        [[data.draw(values) for _ in range(width)] for _ in range(rows)], dtype=torch.float32
    )
    kinds = [data.draw(st.sampled_from([A, C, W, S])) for _ in range(width)]
    kinds[data.draw(st.integers(0, width - 1))] = W
    present = [i for i, kind in enumerate(kinds) if kind != A]
    ranks = [data.draw(st.integers(0, len(present) - 1)) for _ in range(rows)]
    mid_word = [data.draw(st.booleans()) for _ in range(rows)]
    found = intervene(
        logits,
        torch.tensor(kinds, dtype=torch.uint8),
        torch.tensor(ranks),
        torch.tensor(mid_word),
    )
    absent = set(range(width)) - set(present)
    for row in range(rows):
        order = sorted(present, key=lambda i: (-logits[row, i].item(), i))
        wanted = C if mid_word[row] else W
        due = ranks[row] > 0 and kinds[order[0]] == wanted
        assert found.nominal[row] == order[0]
        assert bool(found.intervened[row]) == due
        expected = absent | set(order[: ranks[row]] if due else [])
        assert masked_ids(found.masked)[row] == expected
        rest = [i for i in range(width) if i not in expected]
        assert torch.equal(found.masked[row, rest], logits[row, rest])


def test_hugging_face_generate_never_takes_what_is_masked(smollm2_path):
    tokenizer = AutoTokenizer.from_pretrained(smollm2_path, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(smollm2_path, dtype=torch.float32)
    starts = word_starts_of(smollm2_path)
    inputs = tokenizer(
        ["The capital of France is", "Two and two is"], return_tensors="pt", padding=True
    )
    ranks = [0, 4]
    out = model.generate(
        **inputs,
        max_new_tokens=12,
        do_sample=False,
        logits_processor=LogitsProcessorList([TabooLogitsProcessor(starts, ranks)]),
        output_logits=True,
        return_dict_in_generate=True,
    )
    new = out.sequences[:, inputs.input_ids.shape[1] :]
    masked_steps = 0
    for step, logits in enumerate(out.logits):
        order = logits.argsort(dim=-1, descending=True, stable=True)
        assert new[0, step] == order[0, 0]
        if starts.kinds[order[1, 0]] == W:
            masked_steps += 1
            assert new[1, step] == order[1, 4]
        else:
            assert new[1, step] == order[1, 0]
    assert masked_steps > 3
