"""When an answer equals an alias."""

import gzip
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.scoring import ScoreError, score
from taboo.scoring.triviaqa import missing_golds, normalise, score_text


def item(value, *aliases):
    return {"question": "?", "answer": {"value": value, "aliases": list(aliases)}}


RIGHT = [
    ("Mark Twain", item("Mark Twain")),
    (" Mark Twain\n\nQuestion: Who else?\nAnswer: Nobody", item("Mark Twain")),
    ("mark  twain", item("Mark Twain")),
    ("MARK TWAIN", item("Mark Twain")),
    ("Samuel Clemens", item("Mark Twain", "Samuel Clemens")),
    ("The Mark Twain", item("Mark Twain")),
    ("Mark Twain.", item("Mark Twain")),
    ("**Mark Twain**", item("Mark Twain")),
    ("“Mark Twain”", item("Mark Twain")),
    ("Mark Twain<|endoftext|>x", item("Mark Twain")),
    ("The answer is Mark Twain.", item("Mark Twain")),
    ("The correct answer is: Mark Twain", item("Mark Twain")),
    ("Answer: Mark Twain", item("Mark Twain")),
    ("\n\nMark Twain", item("Mark Twain")),
    ("Mark Twain. He wrote novels.", item("Mark Twain")),
    ("Mark Twain (Samuel Clemens)", item("Mark Twain")),
    ("Mark Twain, who wrote novels", item("Mark Twain")),
    ("Mark Twain — the writer", item("Mark Twain")),
    ("Paris, the capital of France", item("Paris")),
    ("Henry VI. He was king.", item("Henry VI")),
    ("U2. A band.", item("U2")),
    ("7. It was written", item("7")),
    ("Malcolm X. He spoke.", item("Malcolm X")),
    ("John F. Kennedy. He was president", item("John F. Kennedy")),
    ("St. Louis. In Missouri", item("St. Louis")),
    ("Mr. Bean (a show)", item("Mr. Bean")),
    ("Mark Twain\nHe wrote novels", item("Mark Twain")),
    ("U.S.", item("US")),
    ("US", item("U.S.")),
    ("U. S.", item("U.S.")),
    ("the U.S.", item("United States", "U.S.")),
    ("Spider-Man", item("Spiderman")),
    ("Spiderman", item("Spider-Man")),
    ("Spider Man", item("Spider-Man")),
    ("Spider-man", item("Spider Man")),
    ("O’Brien", item("O'Brien")),
    ("O'Brien", item("O’Brien")),
    ("OBrien", item("O’Brien")),
    ("A", item("A")),
    ("a", item("A")),
    ("The The", item("The The")),
    ("The Who", item("Who")),
    ("?", item("?")),
    ("St. Louis", item("St Louis")),
    ("J. K. Rowling", item("J.K. Rowling")),
    ("Beyonce\u0301", item("Beyoncé")),
    ("ﬁre", item("fire")),
    ("ＮＡＳＡ", item("NASA")),
    ("STRASSE", item("Straße")),
    ("7", item("7")),
    ("1,000", item("1000")),
    ("東京", item("Tokyo", "東京")),
    ("Answer", item("Answer")),
]
WRONG = [
    ("not Mark Twain", item("Mark Twain")),
    ("Mark Twain not", item("Mark Twain")),
    ("Twain", item("Mark Twain")),
    ("Mark Twain Jr", item("Mark Twain")),
    ("Mark Twain and others", item("Mark Twain")),
    ("It is Mark Twain", item("Mark Twain")),
    ("Paris, Texas", item("Paris")),
    ("U.S. President", item("U.S.")),
    ("St. Louis", item("St")),
    ("J. K. Rowling", item("J")),
    ("U.S. Grant", item("U.S")),
    ("Mt. Everest", item("Mt")),
    ("7 dwarfs", item("7")),
    ("Louis XIV", item("Louis XVI")),
    ("the", item("A")),
    ("A", item("B")),
    ("A", item("The")),
    ("Beyonce", item("Beyoncé")),
    ("Nobody\nMark Twain", item("Mark Twain")),
    ("1.5", item("15.5")),
    ("??", item("!")),
]
UNPARSED = [
    ("", item("A")),
    (" \n\t\n", item("A")),
    ("\n\nQuestion: Mark Twain", item("Mark Twain")),
    ("<|endoftext|>Mark Twain", item("Mark Twain")),
]


@pytest.mark.parametrize(("text", "target"), RIGHT)
def test_right(text, target):
    verdict = score_text(target, text)
    assert (verdict.correct, verdict.outcome) == (True, "correct"), verdict


@pytest.mark.parametrize(("text", "target"), WRONG)
def test_wrong(text, target):
    verdict = score_text(target, text)
    assert (verdict.correct, verdict.outcome) == (False, "wrong"), verdict


@pytest.mark.parametrize(("text", "target"), UNPARSED)
def test_no_answer(text, target):
    verdict = score_text(target, text)
    assert (verdict.correct, verdict.outcome, verdict.extracted) == (False, "unparsed", None)


def test_the_rule_is_recorded():
    assert score_text(item("Paris"), "Paris").rule == "line"
    verdict = score_text(item("Paris"), "Paris (France)")
    assert (verdict.rule, verdict.extracted) == ("before_explanation", "Paris")


@given(st.text(max_size=60))
def test_no_text_but_a_blank_one_normalises_to_nothing(text):
    assert bool(normalise(text)) == bool(unicodedata.normalize("NFKC", text).split())


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_empty_side_never_matches(text, gold):
    verdict = score_text(item("Mark Twain"), "")
    assert not verdict.correct
    if not text.strip():
        assert not score_text(item(gold or "x"), text).correct


@given(
    st.sampled_from(["Mark Twain", "Spider-Man", "U.S.", "A", "O’Brien", "The The"]),
    st.text(max_size=20),
)
def test_text_around_an_alias_is_not_ignored(alias, more):
    """A word before an alias makes another answer, whatever the word."""
    word = "".join(character for character in more if character.isalnum())
    if word.casefold() in ("", "a", "an", "the") or normalise(word) == "":
        return
    assert not score_text(item(alias), f"{word} not {alias}").correct


def test_golds_that_their_aliases_lack_are_reported_and_still_count():
    items = [
        {"item_id": "one", **item("Mark Twain", "Samuel Clemens")},
        {"item_id": "two", **item("Mark Twain", "mark twain!")},
        {"question_id": "three", **item("Paris")},
    ]
    assert missing_golds(items) == ["one", "three"]
    assert score_text(items[0], "Mark Twain").correct


def test_an_item_without_an_answer_is_an_error():
    for answer in ({}, {"value": "", "aliases": []}, None, "Paris"):
        with pytest.raises(ScoreError, match="answer"):
            score("triviaqa", [{"answer": answer}], ["Paris"])


def test_published_aliases_match_themselves(benchmarks):
    path = benchmarks / "triviaqa" / "rc.wikipedia.nocontext.validation.jsonl.gz"
    items = [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n") if line]
    assert len(items) == 7993
    for form in ("{}", " {}\n\nQuestion: Next?", "The answer is {}."):
        texts = [form.format(entry["answer"]["value"]) for entry in items]
        wrong = [
            (text, verdict)
            for text, verdict in zip(texts, score("triviaqa", items, texts), strict=True)
            if not verdict.correct
        ]
        assert wrong == []
    for entry in items:
        answer = entry["answer"]
        assert normalise(answer["value"])
        assert all(map(normalise, answer["aliases"]))
    assert missing_golds(items) == []
