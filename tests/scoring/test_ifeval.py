"""Which texts follow which instruction, strictly and loosely."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.scoring import ScoreError, score
from taboo.scoring.ifeval import check_item, score_text
from taboo.scoring.instructions import INSTRUCTIONS, check_instruction, follows
from taboo.scoring.language import language_of
from taboo.scoring.sentences import count_sentences

ENGLISH = "the weather was fine all day and we walked along the river with our old friends"
GERMAN = "das Wetter war den ganzen Tag schön und wir gingen mit alten Freunden am Fluss entlang"
HINDI = "मौसम पूरे दिन अच्छा था और हम पुराने दोस्तों के साथ नदी के किनारे चले"

# (instruction, arguments, texts that follow it, texts that do not)
CASES = [
    (
        "keywords:existence",
        {"keywords": ["cat", "C++"]},
        ["A Cat knows C++", "concatenate c++"],
        ["cat", "C++", "c++ and a dog"],
    ),
    (
        "keywords:frequency",
        {"keyword": "war", "frequency": 2, "relation": "at least"},
        ["War and war", "forward war"],
        ["war", "peace"],
    ),
    (
        "keywords:frequency",
        {"keyword": "?", "frequency": 2, "relation": "less than"},
        ["one?", "none"],
        ["a? b?"],
    ),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["rain", "C++"]},
        ["a train", "rainy", "C", "Ukraine"],
        ["Rain!", "the RAIN fell", "c++ it is", "rain-coat"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "E", "let_frequency": 2, "let_relation": "at least"},
        ["Ee", "tree"],
        ["e", "x"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "e", "let_frequency": 2, "let_relation": "less than"},
        ["e", "x"],
        ["tree"],
    ),
    ("language:response_language", {"language": "de"}, [GERMAN], [ENGLISH, HINDI, "123 !!!"]),
    ("language:response_language", {"language": "hi"}, [HINDI], [ENGLISH, "..."]),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "at least"},
        ["One. Two.", "One! Two? Three.", "One. Two"],
        ["One.", "Dr. Smith left."],
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "less than"},
        ["One.", "Dr. J. Smith came at 5.30 p.m. today."],
        ["One. Two."],
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        ["One\n***\nTwo", "One *** Two", "One\n***\nTwo\n***\n"],
        ["One", "One\n\nTwo", "One\n***\n\n***\nTwo", "a\n***\nb\n***\nc"],
    ),
    (
        "length_constraints:number_words",
        {"num_words": 3, "relation": "at least"},
        ["one two three", "one-two three"],
        ["one two", "one, two!"],
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Jasper"},
        ["One\n\njasper two", 'One\n\n"Jasper," two', "One\n\n\n\nJasper", "\n\nOne\n\nJasper"],
        ["Jasper\n\nOne", "One\n\nTwo\n\nJasper", "Jasper", "One\n\nJaspers", "One\nJasper"],
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        ["[a] and [b c]", "[a][b][c]"],
        ["[a]", "a b", "[a\nb]"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
        ["Bye\nP.S. more", "p.s. more", "P. S. more"],
        ["Bye", "PS more"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
        ["Bye\nP.P.S more", "P.P.S. more", "p. p. s more"],
        ["P.S. more"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "NB:"},
        ["nb: more"],
        ["NB more"],
    ),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        ["* a\n* b", "- a\n  - b", "* a\n- b\n---\ntext", "x\n* a\n\n* b"],
        ["* a", "* a\n* b\n* c", "**a**\n**b**", "---\n---", "1. a\n2. b"],
    ),
    (
        "detectable_format:constrained_response",
        {},
        ["My answer is yes.", "Well. My answer is maybe."],
        ["my answer is yes.", "Yes.", "My answer is yes"],
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* and *b*", "**a** and *b*", "**a** **b**"],
        ["*a*", "* *", "****", "*a\nb*"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        ["SECTION 1\na\nSECTION 2\nb", "SECTION1 SECTION2 SECTION3"],
        ["SECTION 1", "Section 1\nSection 2", "SECTION A SECTION B"],
    ),
    (
        "detectable_format:json_format",
        {},
        ['{"a": 1}', '```json\n{"a": 1}\n```', "```JSON\n[1]\n```", "```\n1\n```"],
        ["a", '{"a": 1} and more', "{a: 1}", "[" * 100_000],
    ),
    ("detectable_format:title", {}, ["<<A>>", "x <<a b>> y"], ["<<>>", "<< >>", "<A>", "<<a\nb>>"]),
    (
        "combination:two_responses",
        {},
        ["a\n******\nb", "a******b", "******a******b******"],
        ["a", "a******a", "a******b******c", "a************b", "a***b"],
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Say it. "},
        ["say it. Well", "  SAY IT.\nyes"],
        ["Well. Say it.", "Say", "Sure: say it."],
    ),
    (
        "startend:end_checker",
        {"end_phrase": "That is all."},
        ["Bye. that is all.", 'Bye. That is all." ', "That is all."],
        ["That is all. Bye", "That is all"],
    ),
    ("startend:quotation", {}, ['"a"', ' "a b"\n', '""'], ['"', "a", "“a”", '"a" b', "'a'"]),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        ["NASA and ESA", "I AM", "WELL-KNOWN U.S.", "DON'T STOP"],
        ["NASA", "Nasa Esa", "WELL-KNOWN", "123 456"],
    ),
    (
        "change_case:english_capital",
        {},
        [ENGLISH.upper(), ENGLISH.upper() + " 123!"],
        [ENGLISH, ENGLISH.title(), GERMAN.upper(), "123"],
    ),
    (
        "change_case:english_lowercase",
        {},
        [ENGLISH, ENGLISH + " 123!"],
        [ENGLISH.title(), "A " + ENGLISH, GERMAN.lower(), "123"],
    ),
    ("punctuation:no_comma", {}, ["a b"], ["a, b", ","]),
]


def test_all_25_instructions_are_covered():
    assert len(INSTRUCTIONS) == 25
    assert {name for name, *_ in CASES} == set(INSTRUCTIONS)


@pytest.mark.parametrize(("name", "arguments", "good", "bad"), CASES)
def test_each_instruction(name, arguments, good, bad):
    check_instruction(name, arguments)
    assert [follows(name, arguments, text) for text in good] == [True] * len(good), good
    assert [follows(name, arguments, text) for text in bad] == [False] * len(bad), bad
    assert not follows(name, arguments, "")
    assert not follows(name, arguments, " \n")


@given(st.text(max_size=200))
def test_no_instruction_chokes_on_a_text(text):
    for name, arguments, _, _ in CASES:
        assert follows(name, arguments, text) in (True, False)


def item(*instructions):
    return {
        "key": 1,
        "prompt": "?",
        "instruction_id_list": [name for name, _ in instructions],
        "kwargs": [arguments for _, arguments in instructions],
    }


def test_the_same_text_gets_one_verdict_200_times():
    """Short and mixed texts are those that an unseeded detector wavers on."""
    for text in ("Hello world", "並查看更", "no", "die man in the hotel", ENGLISH.upper()):
        assert len({language_of(text) for _ in range(200)}) == 1
    target = item(("language:response_language", {"language": "en"}))
    assert len({score_text(target, "Hello world").correct for _ in range(200)}) == 1


def test_the_language_does_not_depend_on_what_came_before():
    first = language_of("die man in the hotel")
    for text in (GERMAN, ENGLISH, HINDI, ""):
        language_of(text)
    assert language_of("die man in the hotel") == first


def test_a_text_without_letters_has_no_language():
    for text in ("123 !!!", "", " ", "***", "🙂", "http://a.b"):
        assert language_of(text) is None
    assert not score_text(
        item(("language:response_language", {"language": "en"})), "123 !!!"
    ).correct


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("keywords:letter_frequency", {"letter": "#", "let_frequency": 4, "let_relation": "at least"}, "letter"),
        ("keywords:letter_frequency", {"letter": "ab", "let_frequency": 4, "let_relation": "at least"}, "letter"),
        ("keywords:letter_frequency", {"letter": "", "let_frequency": 4, "let_relation": "at least"}, "letter"),
        ("keywords:letter_frequency", {"letter": "é", "let_frequency": 4, "let_relation": "at least"}, "letter"),
        ("keywords:letter_frequency", {"let_frequency": 4, "let_relation": "at least"}, "letter"),
        ("keywords:frequency", {"keyword": "a", "frequency": 1, "relation": "more than"}, "relation"),
        ("keywords:frequency", {"keyword": "a", "frequency": -1, "relation": "at least"}, "frequency"),
        ("keywords:existence", {"keywords": []}, "keywords"),
        ("keywords:existence", {"keywords": "cat"}, "keywords"),
        ("language:response_language", {"language": "xx"}, "language"),
        ("combination:repeat_prompt", {}, "prompt_to_repeat"),
        ("length_constraints:number_words", {"num_words": "3", "relation": "at least"}, "num_words"),
        ("detectable_format:unheard_of", {}, "unheard_of"),
    ],
)  # fmt: skip
def test_an_instruction_that_can_not_be_checked_is_refused(name, arguments, part):
    with pytest.raises(ScoreError, match=part):
        check_instruction(name, arguments)
    with pytest.raises(ScoreError, match=f"ifeval, item ifeval/9: .*{part}"):
        score("ifeval", [{"item_id": "ifeval/9", **item((name, arguments))}], ["text"])


def test_an_item_of_another_form_is_refused():
    for wrong in ({}, {"instruction_id_list": [], "kwargs": []}, {"instruction_id_list": ["a"]}):
        with pytest.raises(ScoreError, match="instruction_id_list"):
            check_item(wrong)
    with pytest.raises(ScoreError, match="1 instructions, but 2"):
        check_item({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}, {}]})


def test_strict_and_loose_at_both_levels():
    target = item(("punctuation:no_comma", {}), ("startend:end_checker", {"end_phrase": "Bye."}))
    verdict = score_text(target, "Sure, here it is:\nHello there\nBye.")
    assert verdict.details == {
        "instructions": ["punctuation:no_comma", "startend:end_checker"],
        "strict": [False, True],
        "loose": [True, True],
        "prompt_strict": False,
        "prompt_loose": True,
    }
    assert (verdict.correct, verdict.outcome, verdict.rule) == (False, "wrong", "strict")


def test_loose_tries_without_first_line_last_line_and_asterisks():
    quotation = item(("startend:quotation", {}))
    for text in (
        'Here:\n"a"',
        '"a"\nHope it helps',
        'Here:\n"a"\nHope it helps',
        '**"a"**',
        'Here:\n**"a"**\nHope it helps',
    ):
        verdict = score_text(quotation, text)
        assert (verdict.details["prompt_strict"], verdict.details["prompt_loose"]) == (False, True)
    assert not score_text(quotation, 'One:\nTwo:\n"a"').details["prompt_loose"]
    assert not score_text(item(("punctuation:no_comma", {})), "a, b").details["prompt_loose"]


def test_what_is_strictly_followed_is_loosely_followed():
    target = item(("detectable_format:number_highlighted_sections", {"num_highlights": 1}))
    verdict = score_text(target, "*a*")
    assert verdict.details["strict"] == verdict.details["loose"] == [True]


def test_a_blank_text_follows_nothing():
    verdict = score_text(item(("punctuation:no_comma", {})), " \n")
    assert (verdict.correct, verdict.outcome) == (False, "unparsed")
    assert verdict.details["loose"] == [False]


def test_an_end_marker_is_not_part_of_the_text():
    target = item(("startend:end_checker", {"end_phrase": "Bye."}))
    assert score_text(target, "Bye.<|im_end|>").correct


def test_the_control_counts_the_forbidden_words_alone():
    words = ("keywords:forbidden_words", {"forbidden_words": ["rain"]})
    target = item(words, ("punctuation:no_comma", {}))
    right, wrong = score("ifeval_forbidden_words", [target] * 2, ["Sun, sun.", "Rain"])
    assert (right.correct, wrong.correct) == (True, False)
    assert right.details["prompt_strict"] is False
    assert score("ifeval_forbidden_words", [target], [""])[0].outcome == "unparsed"
    with pytest.raises(ScoreError, match="forbidden_words"):
        score("ifeval_forbidden_words", [item(("punctuation:no_comma", {}))], ["a"])


SENTENCES = {
    "": 0,
    "...": 0,
    "12 34": 0,
    "One": 1,
    "One.": 1,
    "One. Two.": 2,
    "One! Two? Three…": 3,
    "What?! No.": 2,
    "He said “Stop.” Then he left.": 2,
    'He said "Stop." then left.': 2,
    "one. two. three": 3,
    "Dr. Smith met Mrs. Jones in St. Louis.": 1,
    "J. K. Rowling wrote it. We read it.": 2,
    "It costs 3.50 dollars. Cheap.": 2,
    "At 5 p.m. we left.": 1,
    "We use e.g. apples, i.e. fruit, etc. and more.": 1,
    "He waited... and waited.": 1,
    "One.\n\nTwo.\nThree": 3,
    "1. First thing\n2. Second thing": 2,
    "(One.) (Two.)": 2,
    "**One.** Two.": 2,
    "We saw the U.S. It was big.": 1,
    "Visit example.com today.": 1,
}


@pytest.mark.parametrize("text", SENTENCES)
def test_counting_sentences(text):
    assert count_sentences(text) == SENTENCES[text]


def test_long_loops_are_counted_fast():
    for text in ("a. " * 50_000, "." * 200_000, "Dr. " * 50_000, '"' * 200_000, "\n" * 200_000):
        assert count_sentences(text) >= 0


def test_the_published_instructions_are_all_known(benchmarks):
    lines = (benchmarks / "ifeval" / "input_data.jsonl").read_bytes().split(b"\n")
    items = [json.loads(line) for line in lines if line]
    refused = []
    for entry in items:
        try:
            check_item(entry)
        except ScoreError:
            refused.append(entry["key"])
    assert refused == [1122, 1129]  # they count `#` and `!` as letters
    names = Counter(name for entry in items for name in entry["instruction_id_list"])
    assert (set(names), names.total()) == (set(INSTRUCTIONS), 834)
