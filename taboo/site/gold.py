"""The right answer of an item, as the pages show it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from taboo.judge.prompts import JUDGED


def gold_answer(task: str, item: Mapping[str, Any]) -> str:
    """The right answer of a record as the task reads it; for a task that is not known here its field `answer`, or else the whole record as JSON."""
    if task in JUDGED:
        return JUDGED[task](item)[1]
    return _SHOWN.get(task, _any)(item)


def _humaneval(item: Mapping[str, Any]) -> str:
    return item["canonical_solution"]


def _instructions(item: Mapping[str, Any]) -> str:
    given = item.get("kwargs") or [{}] * len(item["instruction_id_list"])
    return "\n".join(
        " ".join([name, *(f"{k}={_text(v)}" for k, v in arguments.items() if v is not None)])
        for name, arguments in zip(item["instruction_id_list"], given, strict=True)
    )


def _any(item: Mapping[str, Any]) -> str:
    if item.get("answer") is not None:
        return _text(item["answer"])
    return _text({name: value for name, value in item.items() if name != "item_id"})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_SHOWN: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "humaneval": _humaneval,
    "ifeval": _instructions,
    "ifeval_forbidden_words": _instructions,
}
