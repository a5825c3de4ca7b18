"""HumanEval: does the completed function pass the published tests (pass@1, paper section 3.3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from taboo.scoring.base import ScoreError, Verdict
from taboo.scoring.program import assemble, stub
from taboo.scoring.sandbox import Program, run_programs
from taboo.scoring.text import without_end_marker


def check_item(item: Mapping[str, Any]) -> None:
    """Raise ScoreError unless the item has a prompt, an entry point and a test."""
    for key in ("prompt", "entry_point", "test"):
        if not isinstance(item.get(key), str):
            raise ScoreError(f"`{key}` must be text, found {item.get(key)!r}")


def score_texts(
    items: Sequence[Mapping[str, Any]], texts: Sequence[str], sandbox: str = "namespaces"
) -> list[Verdict]:
    """Assemble, run in the sandbox, and take its outcome: `passed`, `failed`, `syntax_error`, `timeout` or `forbidden` (ended by something that the sandbox denies).

    `extracted` is the program that was run. What `passed` promises: for every call that the tests make, the program's function returned a plain value (numbers, text, lists, tuples, sets, dicts and None) for which the tests' assertions hold.
    """
    programs = [
        Program(
            source=assemble(item["prompt"], without_end_marker(text), item["entry_point"]),
            entry_point=item["entry_point"],
            setup=stub(item["prompt"]),
            test=item["test"],
        )
        for item, text in zip(items, texts, strict=True)
    ]
    return [
        Verdict(
            correct=result.outcome == "passed",
            outcome=result.outcome,
            extracted=program.source,
            rule="pass@1",
            details={"message": result.message},
        )
        for program, result in zip(programs, run_programs(programs, sandbox), strict=True)
    ]
