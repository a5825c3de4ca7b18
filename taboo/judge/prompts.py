"""What the judge is shown: one prompt file per task, filled for one generation."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from taboo.files import sha256_file
from taboo.scoring import gsm8k, mmlu
from taboo.scoring.numerals import written
from taboo.tasks.base import Template

_FOLDER = Path(__file__).with_name("prompts")
_SLOTS = ("question", "reference", "text", "code")
_CODE_LENGTH = 6
_LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class Question:
    """One generation as the judge is asked about it.

    `prompt` is the whole text and starts with `prefix`, which all questions of a task share. `code` marks the generation in it and must be in the reply. `question` and `reference` are what the generation answers and the right answer.
    """

    prompt: str
    prefix: str
    code: str
    question: str
    reference: str


def ask_about(task: str, item: Mapping[str, Any], text: str) -> Question:
    """The judge's question about `text`, generated for `item`, a record as the task reads it.

    Raises ValueError for a task without a prompt.
    """
    question, reference = _shown(task)(item)
    template = _template(task)
    values = {"question": question, "reference": reference, "text": text}
    code = code_for(template.fill({**values, "code": ""}).prompt)
    filled = template.fill({**values, "code": code})
    return Question(filled.prompt, filled.prefix, code, question, reference)


def code_for(text: str) -> str:
    """A code that follows from `text` and does not occur in it.

    The model that wrote the text could not know it, so nothing that it wrote can be read as a verdict, whoever repeats it.
    """
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{attempt}\n{text}".encode()).hexdigest()
        if digest[:_CODE_LENGTH] not in text.lower():
            return digest[:_CODE_LENGTH]
        attempt += 1


def prompt_sha256(task: str) -> str:
    """Digest of a task's prompt file."""
    return sha256_file(prompt_file(task))


def prompt_file(task: str) -> Path:
    """Where the prompt of a task lies. Raises ValueError for a task without one."""
    _shown(task)
    return _FOLDER / f"{task}.txt"


def _gsm8k(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["question"].strip(), written(gsm8k.gold(item))


def _mmlu(item: Mapping[str, Any]) -> tuple[str, str]:
    choices = zip(_LETTERS, item["choices"], strict=False)
    lines = [f"{letter}. {choice.strip()}" for letter, choice in choices]
    return "\n".join([item["question"].strip(), *lines]), lines[_LETTERS.index(mmlu.gold(item))]


def _triviaqa(item: Mapping[str, Any]) -> tuple[str, str]:
    answer = item["answer"]
    names = dict.fromkeys([answer["value"], *answer.get("aliases", [])])
    return item["question"].strip(), "; ".join(names)


# HumanEval and IFEval have no prompt: programs are run and instructions checked, so there is no
# reading of an answer to be checked.
JUDGED: dict[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "gsm8k": _gsm8k,
    "mmlu": _mmlu,
    "triviaqa": _triviaqa,
}


def _shown(task: str) -> Callable[[Mapping[str, Any]], tuple[str, str]]:
    if task not in JUDGED:
        raise ValueError(f"the judge has no prompt for {task!r}; it has {', '.join(JUDGED)}")
    return JUDGED[task]


@cache
def _template(task: str) -> Template:
    return Template(prompt_file(task), _SLOTS)
