"""The cost ceiling: no request is sent that could pass it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from taboo.judge.provider import JudgeError, Reply

_OVERHEAD_TOKENS = 100
"""What a provider may wrap around a prompt (roles, a default system prompt)."""


@dataclass(frozen=True)
class Prices:
    """US dollars per 10⁶ tokens, and the most tokens of a reply."""

    input: float
    output: float
    max_new_tokens: int

    @classmethod
    def of(cls, prices: Mapping[str, float], max_new_tokens: int) -> "Prices":
        """Prices from the configuration."""
        return cls(prices["input"], prices["output"], max_new_tokens)

    def most(self, prompt: str) -> float:
        """The most that one attempt can cost. No token is shorter than a byte."""
        return self._cost(len(prompt.encode()) + _OVERHEAD_TOKENS, self.max_new_tokens)

    def cost(self, prompt: str, reply: Reply) -> float:
        """What a reply cost; the most it can have cost where the provider does not say."""
        if reply.input_tokens is None or reply.output_tokens is None:
            return self.most(prompt)
        return self._cost(reply.input_tokens, reply.output_tokens)

    def _cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Spending:
    """What was spent, and what the requests under way may still cost, in US dollars."""

    def __init__(self, ceiling: float, spent: float):
        self.ceiling, self.spent = ceiling, spent
        self._reserved = 0.0
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def reserve(self, most: float) -> None:
        """Wait until a request of that cost fits below the ceiling.

        Raises JudgeError if it does not fit although nothing else is under way.
        """
        async with self._settled:
            while self.spent + self._reserved + most > self.ceiling:
                if not self._under_way:
                    raise JudgeError(
                        f"the cost ceiling of {self.ceiling:g} USD would be passed: "
                        f"{self.spent:.4f} USD are spent, the next request may cost {most:.4f} USD. "
                        "Raise judge.max_cost_usd, or lower the numbers in judge.tasks"
                    )
                await self._settled.wait()
            self._reserved += most
            self._under_way += 1

    async def settle(self, most: float, cost: float) -> None:
        """Replace what was reserved by what it cost."""
        async with self._settled:
            self._reserved -= most
            self._under_way -= 1
            self.spent += cost
            self._settled.notify_all()
