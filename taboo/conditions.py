"""Conditions: which intervention is applied, how the next token is drawn, and for how long."""

import re
from dataclasses import dataclass
from typing import Literal

Mode = Literal["word_start", "mid_word"]

_NAME = re.compile(
    r"(?:(?P<baseline>baseline)|(?P<kind>taboo|midword)_i(?P<rank>[1-9]\d*))"
    r"(?:_t(?P<temperature>\d+(?:\.\d+)?)_s(?P<seed>\d+))?"
    r"(?:_max(?P<budget>[1-9]\d*))?"
)
_NAME_HELP = (
    "a condition is 'baseline', 'taboo_i<rank>' or 'midword_i<rank>', then optionally "
    "'_t<temperature>_s<seed>', then optionally '_max<new tokens>', for example taboo_i2_t0.7_s0"
)


@dataclass(frozen=True)
class Condition:
    """One way to generate: intervention × decoding × budget (paper section 2.2, appendix H).

    `rank` is the taboo rank i, the number of top tokens that are masked at an intervention; 0 is the baseline. `mode` says where: at steps whose nominal token starts a word, or (the paper's ablation) at steps inside a word. `temperature` 0 is greedy; above 0 a token is drawn from the masked distribution with top-p 1 and no top-k, and `seed` is required. `stop` are strings that end a generation when they appear in its text.
    """

    rank: int
    mode: Mode = "word_start"
    temperature: float = 0.0
    seed: int | None = None
    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    named_budget: bool = False

    def __post_init__(self) -> None:
        if self.rank < 0:
            raise ValueError(f"rank must be 0 (baseline) or more, not {self.rank}")
        if self.mode not in ("word_start", "mid_word"):
            raise ValueError(f"mode must be 'word_start' or 'mid_word', not {self.mode!r}")
        if self.rank == 0 and self.mode != "word_start":
            raise ValueError("a baseline (rank 0) masks nothing, so it has no mode of its own")
        if self.temperature < 0:
            raise ValueError(f"temperature must be 0 or more, not {self.temperature}")
        if (self.temperature > 0) != (self.seed is not None):
            raise ValueError("a seed goes with a temperature above 0, and only with one")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, not {self.max_new_tokens}")
        if any(not text for text in self.stop):
            raise ValueError("a stop string must not be empty")

    @property
    def name(self) -> str:
        """The condition's name in configuration, file names and tables."""
        if self.rank == 0:
            name = "baseline"
        else:
            name = f"{'taboo' if self.mode == 'word_start' else 'midword'}_i{self.rank}"
        if self.seed is not None:
            name += f"_t{self.temperature:g}_s{self.seed}"
        if self.named_budget:
            name += f"_max{self.max_new_tokens}"
        return name

    @property
    def baseline_name(self) -> str:
        """The name of the condition this one is compared with: the same, but nothing masked."""
        return Condition(
            0,
            temperature=self.temperature,
            seed=self.seed,
            max_new_tokens=self.max_new_tokens,
            named_budget=self.named_budget,
        ).name


def parse_condition(name: str, max_new_tokens: int = 512, stop: tuple[str, ...] = ()) -> Condition:
    """The condition called `name`; `max_new_tokens` and `stop` are the task's own.

    A `_max<n>` in the name replaces `max_new_tokens`. Raises ValueError for a name that does not follow the pattern or is not in its shortest form (`taboo_i02`, `_t0.70`), so that one condition has one name.
    """
    match = _NAME.fullmatch(name)
    if not match:
        raise ValueError(f"unknown condition {name!r}: {_NAME_HELP}")
    condition = Condition(
        rank=int(match["rank"] or 0),
        mode="mid_word" if match["kind"] == "midword" else "word_start",
        temperature=float(match["temperature"] or 0),
        seed=None if match["seed"] is None else int(match["seed"]),
        max_new_tokens=int(match["budget"] or max_new_tokens),
        stop=stop,
        named_budget=match["budget"] is not None,
    )
    if condition.name != name:
        raise ValueError(f"condition {name!r} is written {condition.name!r}")
    return condition
