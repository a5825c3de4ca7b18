import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.stats.repetition import (
    FEWEST_COPIES,
    FEWEST_TOKENS,
    LONGEST_FRAGMENT,
    loop_length,
)

IDS = st.lists(st.integers(0, 30), max_size=60)


@given(IDS, st.lists(st.integers(0, 30), min_size=1, max_size=LONGEST_FRAGMENT), st.integers(0, 40))
def test_a_fragment_repeated_to_the_end_is_found_whatever_comes_before(start, fragment, more):
    copies = max(FEWEST_COPIES, -(-FEWEST_TOKENS // len(fragment)))
    ids = start + fragment * copies + (fragment * 41)[:more]
    found = loop_length(ids)
    assert 0 < found <= len(fragment)
    needed = max(FEWEST_TOKENS, FEWEST_COPIES * found)
    assert ids[-needed:][found:] == ids[-needed:][:-found]


@given(st.lists(st.integers(0, 5), max_size=200))
def test_every_loop_that_is_reported_is_one(ids):
    found = loop_length(ids)
    periodic = [
        length
        for length in range(1, LONGEST_FRAGMENT + 1)
        for needed in [max(FEWEST_TOKENS, FEWEST_COPIES * length)]
        if len(ids) >= needed and ids[-needed:][length:] == ids[-needed:][:-length]
    ]
    assert found == (min(periodic) if periodic else 0)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("the average is 30 . 60 / 2 = 30 . " * 6, 11),
        ("so far so good . then " + "no " * 30, 1),
        ("no " * 23, 0),  # too short to be a loop
        ("16 - 3 - 4 = 9 . 9 * 2 = 18 . Answer: 18 " * 1, 0),
        ("a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2, 0),  # two copies
    ],
)
def test_texts(text, length):
    words = text.split()
    ids = [sorted(set(words)).index(word) for word in words]
    assert loop_length(ids) == length


def test_a_token_after_the_loop_ends_it():
    assert loop_length([1, 2, 3] * 20) == 3
    assert loop_length([*[1, 2, 3] * 20, 9]) == 0
    assert loop_length(np.array([1, 2, 3] * 20)) == 3
    assert loop_length([]) == 0
