"""A judge of our own: one of the study's models, on our engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taboo.conditions import Condition
from taboo.engine import Request, describe, open_engine
from taboo.files import sha256_file
from taboo.generation import chat_sample, recipe
from taboo.judge.prompts import Question
from taboo.judge.provider import Reply, Store
from taboo.models import verify_snapshot
from taboo.word_starts import WordStarts

PRECISION = "bf16"


class LocalJudge:
    """The model in a snapshot folder, unmasked and greedy, in bf16.

    An instruct model gets the prompt in its chat template. A base model goes on with the text, and since it knows no end its reply is the first line alone. `code` is the digest of the generating code.
    """

    def __init__(
        self,
        snapshot: str | Path,
        word_starts: str | Path,
        alignment: str,
        max_new_tokens: int,
        slots: int | None,
        code: str,
    ):
        self._model = Path(snapshot) / "files"
        self._word_starts = Path(word_starts)
        self._chat = alignment == "instruct"
        self._slots = slots
        stop = () if self._chat else ("\n",)
        self._condition = Condition(0, max_new_tokens=max_new_tokens, stop=stop)
        self._name = Path(snapshot).name
        parts = recipe(
            self._condition,
            {"name": "judge"},
            verify_snapshot(snapshot)["sha256"],
            sha256_file(word_starts),
            describe(self._model, PRECISION, slots=slots),
            code,
        )
        self.identity: dict[str, Any] = {"provider": "local", "chat": self._chat, **parts}

    def ask(self, questions: Mapping[str, Question], store: Store, spent: float = 0.0) -> None:
        """See `Provider.ask`."""
        lines = [
            {"item_id": key, "prompt": asked.prompt, "prefix": asked.prefix, "chat": self._chat}
            for key, asked in questions.items()
        ]
        engine = open_engine(
            self._model,
            precision=PRECISION,
            slots=self._slots,
            word_starts=WordStarts.load(self._word_starts),
        )
        requests = [
            Request(line["item_id"], line["prompt"], self._condition, line["prefix"])
            for line in chat_sample(lines, self._model)
        ]
        for generation in engine.generate(requests):
            reply = Reply(
                generation.text,
                generation.finish_reason,
                self._name,
                generation.n_prompt_tokens,
                len(generation.token_ids),
            )
            store(generation.item_id, reply)

    def cost(self, prompt: str, reply: Reply) -> float:
        """Nothing."""
        return 0.0
