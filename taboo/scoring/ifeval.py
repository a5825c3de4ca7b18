"""IFEval: which of a prompt's instructions the text follows (Zhou et al. 2023)."""

from collections.abc import Mapping
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.instructions import check_instruction, follows
from taboo.scoring.text import without_end_marker


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless every instruction is known and its arguments make sense."""
    names, arguments = item.get("instruction_id_list"), item.get("kwargs")
    if not isinstance(names, list) or not isinstance(arguments, list) or not names:
        raise ScoreError("`instruction_id_list` and `kwargs` must be lists with entries")
    if len(names) != len(arguments):
        raise ScoreError(f"{len(names)} instructions, but {len(arguments)} `kwargs`")
    for name, entry in zip(names, arguments, strict=True):
        check_instruction(name, entry)


def score_text(item: Mapping[str, Any], text: str) -> Verdict:
    """Strict and loose verdicts of every instruction; `correct` is the strict one of the prompt: all are followed.

    The loose verdict of an instruction holds if any of eight versions of the text follows it: with or without its first line, its last line, and its asterisks.
    """
    text = without_end_marker(text)
    rules = list(zip(item["instruction_id_list"], item["kwargs"], strict=True))
    versions = _versions(text)
    strict = [follows(name, arguments, text) for name, arguments in rules]
    loose = [
        verdict or any(follows(name, arguments, version) for version in versions)
        for verdict, (name, arguments) in zip(strict, rules, strict=True)
    ]
    return Verdict(
        correct=all(strict),
        outcome="correct" if all(strict) else "wrong" if text.strip() else "unparsed",
        extracted=None,
        rule="strict",
        details={
            "instructions": [name for name, _ in rules],
            "strict": strict,
            "loose": loose,
            "prompt_strict": all(strict),
            "prompt_loose": all(loose),
        },
    )


def _versions(text: str) -> list[str]:
    lines = text.split("\n")
    cuts = (lines[1:], lines[:-1], lines[1:-1])
    shorter = ["\n".join(cut).strip() for cut in cuts]
    plain = [version.replace("*", "") for version in (text, *shorter)]
    return [*shorter, *plain]
