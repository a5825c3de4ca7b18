"""What every engine takes and gives."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from taboo.conditions import Condition

FinishReason = Literal["eos", "length", "stop"]


@dataclass(frozen=True)
class Request:
    """One item under one condition.

    `prompt` is the whole text shown to the model. `prefix` is the beginning of it that the task declares as shared by its items; it is declared, never inferred from what else is in a batch, because where a prefill is split decides its bits.
    """

    item_id: str
    prompt: str
    condition: Condition
    prefix: str = ""

    def __post_init__(self) -> None:
        if not self.prompt.startswith(self.prefix):
            raise ValueError(f"item {self.item_id}: its prompt does not begin with its prefix")
        if not self.prompt:
            raise ValueError(f"item {self.item_id}: its prompt is empty")


@dataclass(frozen=True)
class Generation:
    """What was generated for one request.

    `token_ids`, `nominal_ids`, `delta_s` and `intervened` have one entry per generated token, an EOS that ended the generation included: the token taken, the token the model would have taken unmasked, the injected surprisal in bits (float32 values, paper eq. 3) and whether the mask was applied. `text` is the decoded continuation without special tokens, cut before a stop string.
    """

    item_id: str
    condition: Condition
    prompt_sha256: str
    token_ids: tuple[int, ...]
    nominal_ids: tuple[int, ...]
    delta_s: tuple[float, ...]
    intervened: tuple[bool, ...]
    text: str
    finish_reason: FinishReason
    n_prompt_tokens: int


class Engine(Protocol):
    """Produces tokens. A generation depends on the model, its request and the machine kind alone."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        """Yield one generation per request, in completion order."""
        ...
