"""Who is asked: the protocol that all judges follow, and their errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from taboo.judge.prompts import Question


@dataclass(frozen=True)
class Reply:
    """What a judge answered.

    `finish` is why it stopped, in the provider's own word; `model` the model it says it is, empty where it does not say. The token counts are what the provider charges for, None where it does not say.
    """

    text: str
    finish: str
    model: str
    input_tokens: int | None
    output_tokens: int | None


Store = Callable[[str, Reply], None]
"""Takes a question's key and the reply to it."""


class JudgeError(RuntimeError):
    """The judge can't be asked, or not any further; the message says why and what to do. It never holds a key."""


class Provider(Protocol):
    """A judge that can be asked."""

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that, with the prompt, decides a reply, as JSON values."""
        ...

    def ask(self, questions: Mapping[str, Question], store: Store, spent: float = 0.0) -> None:
        """Ask all `questions`, which have keys, and store each reply as it arrives.

        `spent` are the US dollars that earlier replies of the same sample cost. Raises JudgeError if some can't be answered; what was stored until then stays valid.
        """
        ...

    def cost(self, prompt: str, reply: Reply) -> float:
        """What a reply cost in US dollars."""
        ...
