"""The 25 instructions of IFEval (Zhou et al. 2023): does a text follow one?

Each rule is the published one, except where that is random, crashes, or checks something other than what its instruction says; docs/scoring.md lists those.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from taboo.scoring.base import ScoreError
from taboo.scoring.language import LANGUAGES, language_of
from taboo.scoring.sentences import count_sentences

Check = Callable[..., bool]

_BULLET = re.compile(r"^[^\S\n]*+(?:\*[^*\n]|-(?!--)).*$", re.MULTILINE)
_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_WORD = re.compile(r"[^\W_]+(?:[-.'’&/][^\W_]+)*")


def check_instruction(name: str, arguments: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the instruction is known and its arguments are complete and sound."""
    if name not in _RULES:
        raise ScoreError(f"unknown instruction {name}")
    _, wanted = _RULES[name]
    for argument, accepts in wanted.items():
        if argument not in arguments or not accepts(arguments[argument]):
            found = arguments.get(argument)
            raise ScoreError(f"{name}: `{argument}` can't be {found!r}")


def follows(name: str, arguments: Mapping[str, Any], text: str) -> bool:
    """Whether `text` follows the instruction; a blank text follows none."""
    check, wanted = _RULES[name]
    return bool(text.strip()) and check(text, **{key: arguments[key] for key in wanted})


def _compare(count: int, relation: str, target: int) -> bool:
    return count < target if relation == "less than" else count >= target


def _occurrences(word: str, text: str) -> int:
    return len(re.findall(re.escape(word), text, re.IGNORECASE))


def _existence(text: str, keywords: list[str]) -> bool:
    return all(_occurrences(word, text) for word in keywords)


def _frequency(text: str, keyword: str, frequency: int, relation: str) -> bool:
    return _compare(_occurrences(keyword, text), relation, frequency)


def _forbidden_words(text: str, forbidden_words: list[str]) -> bool:
    return not any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
        for word in forbidden_words
    )


def _letter_frequency(text: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    return _compare(text.lower().count(letter.lower()), let_relation, let_frequency)


def _response_language(text: str, language: str) -> bool:
    return language_of(text) == language


def _number_sentences(text: str, num_sentences: int, relation: str) -> bool:
    return _compare(count_sentences(text), relation, num_sentences)


def _number_paragraphs(text: str, num_paragraphs: int) -> bool:
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", text)]
    if not all(parts[1:-1]):
        return False
    return sum(map(bool, parts)) == num_paragraphs


def _number_words(text: str, num_words: int, relation: str) -> bool:
    return _compare(len(re.findall(r"\w+", text)), relation, num_words)


def _nth_paragraph_first_word(
    text: str, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    if len(paragraphs) != num_paragraphs or nth_paragraph > num_paragraphs:
        return False
    word = paragraphs[nth_paragraph - 1].split()[0].lstrip("'\"")
    return re.split(r"[.,?!'\"]", word)[0].lower() == first_word.lower()


def _number_placeholders(text: str, num_placeholders: int) -> bool:
    return len(re.findall(r"\[[^\[\]\n]*\]", text)) >= num_placeholders


def _postscript(text: str, postscript_marker: str) -> bool:
    letters = [re.escape(letter) for letter in re.findall(r"\w", postscript_marker)]
    if postscript_marker in ("P.S.", "P.P.S"):
        pattern = r"\.\s?".join(letters) + (r"\." if postscript_marker.endswith(".") else "")
    else:
        pattern = re.escape(postscript_marker)
    return re.search(pattern, text, re.IGNORECASE) is not None


def _number_bullet_lists(text: str, num_bullets: int) -> bool:
    return len(_BULLET.findall(text)) == num_bullets


def _constrained_response(text: str) -> bool:
    return any(answer in text for answer in _ANSWERS)


def _number_highlighted_sections(text: str, num_highlights: int) -> bool:
    single = re.findall(r"\*[^\n*]*\*", text)
    double = re.findall(r"\*\*[^\n*]*\*\*", text)
    return sum(bool(part.strip("*").strip()) for part in single + double) >= num_highlights


def _multiple_sections(text: str, section_spliter: str, num_sections: int) -> bool:
    heads = re.findall(rf"\s?{re.escape(section_spliter)}\s?\d+\s?", text)
    return len(heads) >= num_sections


def _json_format(text: str) -> bool:
    text = re.sub(r"\A```(?:json)?", "", text.strip(), flags=re.IGNORECASE).removesuffix("```")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str) -> bool:
    for line in text.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if 0 <= start < end and line[start:end].lstrip("<").rstrip(">").strip():
            return True
    return False


def _two_responses(text: str) -> bool:
    parts = text.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    answers = [part.strip() for part in parts if part.strip()]
    return len(answers) == 2 and answers[0] != answers[1]


def _repeat_prompt(text: str, prompt_to_repeat: str) -> bool:
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


def _end_checker(text: str, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def _quotation(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text.startswith('"') and text.endswith('"')


def _capital_word_frequency(text: str, capital_frequency: int, capital_relation: str) -> bool:
    capitals = sum(word.isupper() for word in _WORD.findall(text))
    return _compare(capitals, capital_relation, capital_frequency)


def _english_capital(text: str) -> bool:
    # The detector skips words in capitals, so it is shown the small letters.
    return text.isupper() and language_of(text.lower()) == "en"


def _english_lowercase(text: str) -> bool:
    return text.islower() and language_of(text) == "en"


def _no_comma(text: str) -> bool:
    return "," not in text


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_letter(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[A-Za-z]", value) is not None


def _is_relation(value: Any) -> bool:
    return value in ("less than", "at least")


def _is_language(value: Any) -> bool:
    return value in LANGUAGES


_RULES: dict[str, tuple[Check, dict[str, Callable[[Any], bool]]]] = {
    "keywords:existence": (_existence, {"keywords": _is_texts}),
    "keywords:frequency": (
        _frequency,
        {"keyword": _is_text, "frequency": _is_count, "relation": _is_relation},
    ),
    "keywords:forbidden_words": (_forbidden_words, {"forbidden_words": _is_texts}),
    "keywords:letter_frequency": (
        _letter_frequency,
        {"letter": _is_letter, "let_frequency": _is_count, "let_relation": _is_relation},
    ),
    "language:response_language": (_response_language, {"language": _is_language}),
    "length_constraints:number_sentences": (
        _number_sentences,
        {"num_sentences": _is_count, "relation": _is_relation},
    ),
    "length_constraints:number_paragraphs": (_number_paragraphs, {"num_paragraphs": _is_count}),
    "length_constraints:number_words": (
        _number_words,
        {"num_words": _is_count, "relation": _is_relation},
    ),
    "length_constraints:nth_paragraph_first_word": (
        _nth_paragraph_first_word,
        {"num_paragraphs": _is_count, "nth_paragraph": _is_count, "first_word": _is_text},
    ),
    "detectable_content:number_placeholders": (
        _number_placeholders,
        {"num_placeholders": _is_count},
    ),
    "detectable_content:postscript": (_postscript, {"postscript_marker": _is_text}),
    "detectable_format:number_bullet_lists": (_number_bullet_lists, {"num_bullets": _is_count}),
    "detectable_format:constrained_response": (_constrained_response, {}),
    "detectable_format:number_highlighted_sections": (
        _number_highlighted_sections,
        {"num_highlights": _is_count},
    ),
    "detectable_format:multiple_sections": (
        _multiple_sections,
        {"section_spliter": _is_text, "num_sections": _is_count},
    ),
    "detectable_format:json_format": (_json_format, {}),
    "detectable_format:title": (_title, {}),
    "combination:two_responses": (_two_responses, {}),
    "combination:repeat_prompt": (_repeat_prompt, {"prompt_to_repeat": _is_text}),
    "startend:end_checker": (_end_checker, {"end_phrase": _is_text}),
    "startend:quotation": (_quotation, {}),
    "change_case:capital_word_frequency": (
        _capital_word_frequency,
        {"capital_frequency": _is_count, "capital_relation": _is_relation},
    ),
    "change_case:english_capital": (_english_capital, {}),
    "change_case:english_lowercase": (_english_lowercase, {}),
    "punctuation:no_comma": (_no_comma, {}),
}
INSTRUCTIONS = tuple(_RULES)
