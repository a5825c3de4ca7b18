"""Cards, memory and time: cells get the smallest card that holds them, or a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.resources import (
    BYTES_PER_PARAMETER,
    Card,
    FitsNoCard,
    generate_memory_mb,
    generate_minutes,
    gpu_memory_gb,
    job_memory_mb,
    parse_cards,
    smallest_card,
    weights_gb,
)

CARDS = parse_cards("h100:80:fast a100_40:40:gpu")
SIZES = st.floats(0.1, 500)
PRECISIONS = st.sampled_from(sorted(BYTES_PER_PARAMETER))


def test_cards_are_read_smallest_first():
    assert (Card("a100_40", 40, "gpu"), Card("h100", 80, "fast")) == CARDS
    assert parse_cards("gpu:24:gpu") == (Card(None, 24, "gpu"),)
    assert parse_cards("") == ()


@pytest.mark.parametrize("text", ["a100", "a100:80", "a100:x:gpu", "a100:0:gpu", ":80:gpu",
                                  "a100:nan:gpu", "a100:80:"])  # fmt: skip
def test_card_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError, match=rf"gpu_cards: '{text}' is not of the form"):
        parse_cards(text)


def test_cards_without_a_type_stand_alone():
    with pytest.raises(ValueError, match="cannot stand beside"):
        parse_cards("gpu:24:gpu a100:80:gpu")


@pytest.mark.parametrize(
    ("size_b", "precision", "card"),
    [(0.49, "nf4", "a100_40"), (12.2, "nf4", "a100_40"), (32.8, "nf4", "a100_40"),
     (7.62, "bf16", "a100_40"), (14.8, "bf16", "h100"), (72.7, "nf4", "h100")],
)  # fmt: skip
def test_models_of_the_study_get_the_card_they_need(size_b, precision, card):
    assert smallest_card(CARDS, size_b, precision, None).model == card


def test_cell_that_fits_no_card_says_what_it_needs_and_what_there_is():
    with pytest.raises(FitsNoCard, match=r"72.7 B parameters in bf16 need \d+ GB.*h100 with 80 GB"):
        smallest_card(CARDS, 72.7, "bf16", None)


def test_unknown_precision_is_named():
    with pytest.raises(ValueError, match="unknown precision 'fp8'"):
        weights_gb(7, "fp8")


@given(SIZES, PRECISIONS, st.integers(1, 256))
def test_need_covers_the_weights_and_grows_with_size_and_slots(size_b, precision, slots):
    need = gpu_memory_gb(size_b, precision, slots)
    assert need > weights_gb(size_b, precision) >= BYTES_PER_PARAMETER[precision] * size_b * 0.999
    assert gpu_memory_gb(size_b * 1.5, precision, slots) > need
    assert gpu_memory_gb(size_b, precision, slots + 1) > need


@given(SIZES, PRECISIONS)
def test_the_chosen_card_holds_the_cell_and_no_smaller_one_does(size_b, precision):
    need = gpu_memory_gb(size_b, precision)
    try:
        card = smallest_card(CARDS, size_b, precision, None)
    except FitsNoCard:
        assert need > 80
    else:
        assert card.memory_gb >= need
        assert all(c.memory_gb < need for c in CARDS if c.memory_gb < card.memory_gb)


@given(SIZES, PRECISIONS, st.integers(1, 10**8), st.booleans())
def test_later_attempts_ask_for_more(size_b, precision, tokens, on_gpu):
    own = generate_memory_mb(size_b, precision, on_gpu)
    assert job_memory_mb(own, 2) > job_memory_mb(own, 1) > own >= 3000
    assert generate_minutes(size_b, tokens, on_gpu) > 30
    assert generate_minutes(size_b, 4 * tokens, on_gpu) >= generate_minutes(size_b, tokens, on_gpu)
