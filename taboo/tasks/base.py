"""What a task is: where its records are, what they must look like, and what a model is shown."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROMPTS = Path(__file__).with_name("prompts")

Item = dict[str, Any]


class TaskError(ValueError):
    """A task, its data or its sample is not as it must be; the message says what was expected."""


@dataclass(frozen=True)
class Hub:
    """Where the data set is on the hub: `files` is a glob over the paths of the repository."""

    dataset: str
    files: str
    revision: str

    @property
    def repository(self) -> str:
        """The data set's name among all repositories of the hub."""
        return f"datasets/{self.dataset}"


@dataclass(frozen=True)
class Prompt:
    """What a model is shown. `prompt` is the whole text and starts with `prefix`, the part that all items share. `chat`: an instruct model gets it in its chat template."""

    prefix: str
    prompt: str
    chat: bool = False


@dataclass(frozen=True)
class Task:
    """One benchmark.

    `version` is raised when the meaning of an item or a prompt changes. `mirror_file` is the file in a local mirror, with or without `.gz`. `normalise` takes a record as published and its position among the records and gives the record in the mirror's schema, or raises TaskError; `identify` gives its `item_id` and `render` its prompt. `stratum` names the group that sampling balances, `keep` selects items, and `refuse` gives the reason why an item can't be used, if there is one. `prompt_file` is the readable file with the task's few-shot text.
    """

    name: str
    version: str
    hub: Hub
    mirror_file: str
    prompt_file: Path
    normalise: Callable[[Mapping[str, Any], int], Item]
    identify: Callable[[Item, int], str]
    render: Callable[[Item], Prompt]
    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    stratum: Callable[[Item], str | None] = lambda item: None
    keep: Callable[[Item], bool] = lambda item: True
    refuse: Callable[[Item], str | None] = lambda item: None

    def read(self, record: Mapping[str, Any], position: int) -> Item:
        """The item of the record at `position` (from 0): its normalised fields and `item_id`."""
        item = self.normalise(record, position)
        return {"item_id": self.identify(item, position), **item}


class Template:
    """A prompt file: the few-shot text, an empty line, and the last block with `{slots}`.

    The prefix ends before the line breaks in front of the last block: a line break at its very end would be cut into other tokens than the same line break followed by a letter.
    """

    def __init__(self, path: Path, slots: tuple[str, ...]) -> None:
        text = path.read_text(encoding="utf-8").removesuffix("\n")
        self._slot = re.compile(r"\{(" + "|".join(slots) + r")\}")
        first = self._slot.search(text)
        if first is None:
            raise TaskError(f"{path} has none of the slots {', '.join(slots)}")
        block = text.rfind("\n\n", 0, first.start())
        self.prefix = text[:block].rstrip("\n") if block > 0 else ""
        self._rest = text[len(self.prefix) :]

    def fill(self, values: Mapping[str, str], chat: bool = False) -> Prompt:
        """The prompt with every slot replaced; text that looks like a slot inside a value stays."""
        rest = self._slot.sub(lambda match: values[match[1]], self._rest)
        return Prompt(self.prefix, self.prefix + rest, chat)


def text_field(record: Mapping[str, Any], key: str, where: str, empty: bool = False) -> str:
    """The string under `key`; TaskError if it is missing, no string or (unless `empty`) blank."""
    value = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(value, str) or not (empty or value.strip()):
        raise TaskError(f"{where}: `{key}` must be text, found {_brief(value)}")
    return value


def text_list(record: Mapping[str, Any], key: str, where: str) -> list[str]:
    """The list of strings under `key`; TaskError if it is anything else."""
    value = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise TaskError(f"{where}: `{key}` must be a list of texts, found {_brief(value)}")
    return value


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
