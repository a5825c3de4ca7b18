"""Asking over a network: side by side, with patience, and no further than the cost ceiling."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from taboo.judge.prompts import Question
from taboo.judge.provider import JudgeError, Reply, Store
from taboo.judge.spending import Prices, Spending

Ask = Callable[[str], Awaitable[Reply]]
_LONGEST_MESSAGE = 500


class Failure(Exception):
    """One attempt that failed.

    `again`: another attempt may succeed. `billed`: it may have cost something all the same. `wait_s`: how long the server asks to wait.
    """

    def __init__(self, message: str, again: bool, billed: bool = False, wait_s: float = 0.0):
        super().__init__(message)
        self.again, self.billed, self.wait_s = again, billed, wait_s


class Endpoint(Protocol):
    """One remote API: how a prompt is sent and how its errors read."""

    @property
    def identity(self) -> dict[str, Any]:
        """See `Provider.identity`; without address and key."""
        ...

    @property
    def secrets(self) -> list[str]:
        """What must never be written anywhere."""
        ...

    def session(self) -> AbstractAsyncContextManager[Ask]:
        """Open a client. Raises JudgeError if its package or its key is missing."""
        ...

    def failure(self, error: Exception) -> Failure:
        """What an exception of the client means."""
        ...


@dataclass(frozen=True)
class Patience:
    """How often, how long and how many at once.

    Between attempts the wait doubles from `first_wait_s` to `longest_wait_s`, or is what the server asks for, up to the same limit.
    """

    concurrency: int
    timeout_s: float
    attempts: int = 8
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def wait(self, attempt: int, asked_s: float) -> float:
        """Seconds to wait after a failed attempt (from 0); spread, so that requests do not return all at once."""
        own = self.first_wait_s * 2**attempt * random.uniform(0.5, 1.0)
        return min(max(own, asked_s), self.longest_wait_s)


class Remote:
    """A remote judge: an endpoint, asked with patience below a ceiling of US dollars."""

    def __init__(self, endpoint: Endpoint, patience: Patience, prices: Prices, ceiling: float):
        self.endpoint, self.patience = endpoint, patience
        self.prices, self.ceiling = prices, ceiling

    @property
    def identity(self) -> dict[str, Any]:
        """See `Provider.identity`."""
        return self.endpoint.identity

    def cost(self, prompt: str, reply: Reply) -> float:
        """See `Provider.cost`."""
        return self.prices.cost(prompt, reply)

    def ask(self, questions: Mapping[str, Question], store: Store, spent: float = 0.0) -> None:
        """See `Provider.ask`. The first error that lasts stops all, but replies under way are waited for and stored: they are paid for."""
        prompts = iter([(key, question.prompt) for key, question in questions.items()])
        asyncio.run(self._run(prompts, store, Spending(self.ceiling, spent)))

    async def _run(
        self, prompts: Iterator[tuple[str, str]], store: Store, spending: Spending
    ) -> None:
        errors: list[JudgeError] = []

        async def work(ask: Ask) -> None:
            for key, prompt in prompts:
                try:
                    store(key, await self._persist(ask, prompt, spending, errors))
                except JudgeError as error:
                    errors.append(error)
                if errors:
                    return

        async with self.endpoint.session() as ask:
            await asyncio.gather(*(work(ask) for _ in range(self.patience.concurrency)))
        if errors:
            raise errors[0]

    async def _persist(
        self, ask: Ask, prompt: str, spending: Spending, errors: list[JudgeError]
    ) -> Reply:
        """The reply to one prompt, after as many attempts as it takes and is allowed."""
        most = self.prices.most(prompt)
        for attempt in range(self.patience.attempts):
            if errors:
                raise errors[0]
            await spending.reserve(most)
            cost = most
            try:
                reply = await self._attempt(ask, prompt)
                cost = self.prices.cost(prompt, reply)
                return reply
            except Failure as failure:
                cost = most if failure.billed else 0.0
                # First cleaned, then cut: half a key is no key to look for.
                message = self._clean(str(failure))[:_LONGEST_MESSAGE]
                again, asked_s = failure.again, failure.wait_s
            finally:
                await spending.settle(most, cost)
            if not again:
                raise JudgeError(message)
            if attempt + 1 < self.patience.attempts:
                await asyncio.sleep(self.patience.wait(attempt, asked_s))
        raise JudgeError(f"{message} (attempts: {self.patience.attempts})")

    async def _attempt(self, ask: Ask, prompt: str) -> Reply:
        try:
            async with asyncio.timeout(self.patience.timeout_s):
                reply = await ask(prompt)
        except Failure:
            raise
        except TimeoutError:
            raise Failure(
                f"no complete answer within judge.timeout_s = {self.patience.timeout_s:g} s",
                again=True,
                billed=True,
            ) from None
        except Exception as error:
            # Whatever a client raises may quote the request with its key, so nothing of it is
            # chained to what we raise.
            raise self.endpoint.failure(error) from None
        text, finish, model = map(self._clean, (reply.text, reply.finish, reply.model))
        return replace(reply, text=text, finish=finish, model=model)

    def _clean(self, text: str) -> str:
        for secret in self.endpoint.secrets:
            text = text.replace(secret, "[key]")
        return text


def credential(environment: Mapping[str, str], name: str) -> str | None:
    """A key or an address from the environment, None if it is not set or blank.

    Raises JudgeError, without quoting it, if it can't be one.
    """
    value = environment.get(name, "").strip()
    if not all("!" <= character <= "~" for character in value):
        raise JudgeError(f"{name} holds spaces or other characters that don't belong there")
    return value or None


def client_failure(error: Exception) -> Failure:
    """What is left: the client itself failed. Its message may quote the request, so it is left out."""
    return Failure(f"the judge's client failed with {type(error).__name__}", again=False)


def status_failure(status: int, message: str, headers: Mapping[str, str], model: str) -> Failure:
    """What an HTTP error status means; `message` is the server's."""
    said = f": {message}" if message else ""
    if status in (401, 403):
        # Servers like to quote parts of the key here.
        return Failure(f"the judge's endpoint refused the key (status {status})", again=False)
    if status == 404:
        return Failure(
            f"the judge's endpoint does not know the model {model!r} or the address; check judge.model and the base URL{said}",
            again=False,
        )
    if status in (408, 409, 425, 429) or status >= 500:
        wait_s = headers.get("retry-after", "")
        return Failure(
            f"the judge's endpoint answered with status {status}{said}",
            again=True,
            wait_s=float(wait_s) if wait_s.replace(".", "", 1).isdigit() else 0.0,
        )
    return Failure(f"the judge's endpoint refused the request (status {status}){said}", again=False)


def malformed(what: str) -> Failure:
    """An answer that arrived but can't be read: it may have been charged for."""
    return Failure(f"the judge's endpoint sent an answer {what}", again=True, billed=True)


def interrupted(error: Exception) -> Failure:
    """A connection that failed: nobody knows how far the request got."""
    return Failure(
        f"the connection to the judge's endpoint failed ({type(error).__name__})",
        again=True,
        billed=True,
    )


def check_model(asked: str, reported: str | None) -> None:
    """Raise Failure if a reply comes from another model than the one asked for.

    A version behind the name is fine (`gemini-2.0-flash` answers as `gemini-2.0-flash-001`), and so is a server that does not say.
    """
    if reported and not re.fullmatch(re.escape(asked) + r"(?:-[\d-]+)?", reported):
        raise Failure(
            f"the judge's endpoint was asked for the model {asked!r} and answered as {reported!r}; set judge.model to the one that is meant",
            again=False,
            billed=True,
        )


def token_count(usage: Any, name: str) -> int | None:
    """A count of a client's usage object, None where there is none."""
    count = getattr(usage, name, None)
    return count if isinstance(count, int) else None
