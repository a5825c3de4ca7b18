"""From requests to token ids, and from token ids to text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedTokenizerBase

from taboo.engine.base import Request


@dataclass
class Prompt:
    """One prompt and the requests for it: `prefix` and `own` are its token ids, in this order."""

    prefix: tuple[int, ...]
    own: tuple[int, ...]
    requests: list[Request] = field(default_factory=list)

    @property
    def length(self) -> int:
        """The number of its tokens."""
        return len(self.prefix) + len(self.own)

    @property
    def room(self) -> int:
        """Positions its longest request needs beside the prefix."""
        return len(self.own) + max(r.condition.max_new_tokens for r in self.requests)


class Tokens:
    """A tokenizer as the engines use it."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        self.tokenizer = tokenizer
        self._prefixes: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> tuple[int, ...]:
        """Token ids of a prompt, with exactly one BOS where the tokenizer wants one.

        A text that already begins with the BOS, as after a chat template, gets no second one.
        """
        bos = self.tokenizer.bos_token
        present = bos is not None and text.startswith(bos)
        return tuple(self.tokenizer(text, add_special_tokens=not present)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of generated tokens, without special tokens."""
        text = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        assert isinstance(text, str)
        return text

    def prompts(self, requests: Iterable[Request], max_length: int) -> list[Prompt]:
        """The different prompts of the requests, those with one prefix next to each other.

        Raises ValueError, naming the item, for a prompt that together with its new tokens is longer than `max_length`, or whose declared prefix is not where a token ends.
        """
        groups: dict[str, dict[str, Prompt]] = {}
        for request in requests:
            same_prefix = groups.setdefault(request.prefix, {})
            if request.prompt not in same_prefix:
                same_prefix[request.prompt] = self._split(request)
            prompt = same_prefix[request.prompt]
            prompt.requests.append(request)
            total = prompt.length + request.condition.max_new_tokens
            if total > max_length:
                raise ValueError(
                    f"item {request.item_id}: {prompt.length} prompt tokens and "
                    f"{request.condition.max_new_tokens} new ones make {total}, more than the "
                    f"maximum length {max_length}: shorten the prompt, lower max_new_tokens or "
                    "raise max_length"
                )
        return [prompt for same_prefix in groups.values() for prompt in same_prefix.values()]

    def _split(self, request: Request) -> Prompt:
        ids = self.encode(request.prompt)
        if not ids:
            raise ValueError(f"item {request.item_id}: its prompt has no tokens")
        if not request.prefix:
            return Prompt((), ids)
        if request.prefix not in self._prefixes:
            self._prefixes[request.prefix] = self.encode(request.prefix)
        prefix = self._prefixes[request.prefix]
        if ids[: len(prefix)] != prefix:
            raise ValueError(
                f"item {request.item_id}: the tokens of its prefix are not the first tokens of its "
                "prompt, so a token crosses the end of the prefix: let the prefix end where "
                "a token does, for instance before a line break or a space, not after it"
            )
        # Nothing of its own: there must be a token left whose logits give the first new one.
        return Prompt(prefix, ids[len(prefix) :]) if len(ids) > len(prefix) else Prompt((), ids)


class StopStrings:
    """Finds the first stop string in a growing text, looking at its newest tokens alone."""

    def __init__(self, tokens: Tokens, stop: tuple[str, ...]):
        self._tokens = tokens
        self._stop = stop
        self._tail = max(len(text.encode()) for text in stop) + 4
        self._last = {text[-1] for text in stop}
        self._may_end: dict[int, bool] = {}

    def find(self, ids: Sequence[int]) -> bool:
        """Whether a stop string ends within the newest token."""
        newest = ids[-1]
        if newest not in self._may_end:
            piece = self._tokens.decode([newest])
            # Part of a character decodes to U+FFFD: it may complete any.
            self._may_end[newest] = "\ufffd" in piece or any(c in piece for c in self._last)
        if not self._may_end[newest]:
            return False
        tail = self._tokens.decode(ids[-self._tail :])
        return any(text in tail for text in self._stop) and self.cut(ids) is not None

    def cut(self, ids: Sequence[int]) -> str | None:
        """The text before the first stop string, None if there is none."""
        text = self._tokens.decode(ids)
        at = [text.index(stop) for stop in self._stop if stop in text]
        return text[: min(at)] if at else None
