"""How fast cards are: estimates as long as nothing was measured, then what real runs took."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from taboo.files import write_text
from taboo.provenance.records import DamagedRecord, read_record, recorded_outputs

CPU = "CPU"
"""The card that stands for runs without a GPU."""
LONG_BUDGET = 256
"""New tokens per generation from which on a run tells what share of a budget is used."""


class CalibrationError(ValueError):
    """The calibration file is not what it must be; the message names the entry."""


@dataclass(frozen=True)
class Measured:
    """Tokens per second of one model size, from `tokens` new tokens of real runs."""

    tokens_per_s: float
    tokens: int


@dataclass(frozen=True)
class Speeds:
    """A kind of card. `memory_gb` is None for the CPU, `devices` are the names its driver gives.

    `estimate` and `measured` are by precision and size in 10⁹ parameters; `estimate` in tokens per second.
    """

    memory_gb: float | None
    devices: tuple[str, ...]
    estimate: Mapping[str, Mapping[float, float]]
    measured: Mapping[str, Mapping[float, Measured]] = field(default_factory=dict)

    def tokens_per_s(self, precision: str, size_b: float) -> float:
        """New tokens per second of a job: measured where this card was measured in this precision, else estimated.

        Between two sizes the logarithm of the speed is linear in that of the size; beyond the largest it falls as the size grows, and below the smallest it stays. Raises CalibrationError for a precision without any number.
        """
        known = {size: one.tokens_per_s for size, one in self.measured.get(precision, {}).items()}
        points = sorted((known or self.estimate.get(precision, {})).items())
        if not points:
            raise CalibrationError(f"{self.devices[0]} has no speed for precision {precision}")
        if size_b <= points[0][0]:
            return points[0][1]
        for (small, fast), (large, slow) in itertools.pairwise(points):
            if size_b <= large:
                part = math.log(size_b / small) / math.log(large / small)
                return fast * (slow / fast) ** part
        return points[-1][1] * points[-1][0] / size_b

    def is_measured(self, precision: str) -> bool:
        """Whether `tokens_per_s` rests on real runs."""
        return bool(self.measured.get(precision))


@dataclass(frozen=True)
class Run:
    """What one generate job took: `tokens` new tokens for `items` requests, of at most `budget` tokens in all."""

    device: str
    precision: str
    size_b: float
    alignment: str
    items: int
    tokens: int
    budget: int
    seconds: float


@dataclass(frozen=True)
class Calibration:
    """`budget_share`: by alignment, the share of its token budget that a generation takes on average."""

    cards: Mapping[str, Speeds]
    budget_share: Mapping[str, float]


def load_calibration(path: str | Path) -> Calibration:
    """Read a calibration file. Raises CalibrationError naming the entry that is wrong."""
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        cards = {
            name: _speeds(f"{path}: cards.{name}", card) for name, card in data["cards"].items()
        }
        shares = {name: float(data["budget_share"][name]) for name in ("base", "instruct")}
    except yaml.YAMLError as error:
        raise CalibrationError(f"{path} is not valid YAML: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise CalibrationError(
            f"{path} needs `cards`, and `budget_share` of base and instruct: {error}"
        ) from error
    for name, share in shares.items():
        if not 0 < share <= 1:
            raise CalibrationError(f"{path}: budget_share.{name} is {share}, but must be in (0, 1]")
    return Calibration(cards, shares)


def save_calibration(path: str | Path, calibration: Calibration) -> Path:
    """Write a calibration over a file; the comment at its head stays."""
    head = ""
    if Path(path).is_file():
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
        head = "".join(line for line in lines if line.startswith("#"))
    cards: dict[str, Any] = {}
    for name, card in calibration.cards.items():
        cards[name] = {
            "memory_gb": _short(card.memory_gb),
            "devices": list(card.devices),
            "estimate": {precision: dict(sizes) for precision, sizes in card.estimate.items()},
            "measured": {
                precision: {
                    size: {"tokens_per_s": one.tokens_per_s, "tokens": one.tokens}
                    for size, one in sorted(sizes.items())
                }
                for precision, sizes in sorted(card.measured.items())
            },
        }
    data = {"budget_share": dict(calibration.budget_share), "cards": cards}
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    return write_text(path, head + text)


def calibrated(calibration: Calibration, runs: Iterable[Run]) -> Calibration:
    """The calibration with the speeds and the budget shares of `runs` in place of what it had for the same cards, precisions and sizes.

    Several runs of one size count by their tokens. Budget shares are taken from runs with budgets of `LONG_BUDGET` tokens or more, since a short budget is used up by what a longer one would not be. Raises CalibrationError naming a device that is no card of the calibration.
    """
    runs = [run for run in runs if run.tokens]
    cards = dict(calibration.cards)
    totals: dict[tuple[str, str, float], tuple[int, float]] = {}
    for run in runs:
        key = (card_of(calibration, run.device), run.precision, run.size_b)
        tokens, seconds = totals.get(key, (0, 0.0))
        totals[key] = (tokens + run.tokens, seconds + run.seconds)
    for (name, precision, size_b), (tokens, seconds) in totals.items():
        card = cards[name]
        sizes = {**card.measured.get(precision, {})}
        sizes[size_b] = Measured(round(tokens / seconds, 1), tokens)
        cards[name] = replace(card, measured={**card.measured, precision: sizes})
    shares = dict(calibration.budget_share)
    for alignment in shares:
        of = [
            run
            for run in runs
            if run.alignment == alignment and run.budget >= LONG_BUDGET * run.items
        ]
        if of:
            used = sum(run.tokens for run in of) / sum(run.budget for run in of)
            shares[alignment] = round(min(used, 1.0), 3)
    return Calibration(cards, shares)


def runs_of(config: Mapping[str, Any]) -> list[Run]:
    """The generate jobs that the records of the results folder tell of, for models of the configuration."""
    results = Path(config["results"])
    runs = {}
    for output in recorded_outputs(results):
        parts = output.relative_to(results).parts
        if parts[0] != "cells" or parts[1] not in config["models"]:
            continue
        try:
            record = read_record(results, output)
        except DamagedRecord:
            continue
        volatile = record["volatile"] if record else {}
        done = volatile.get("generated")
        if not done or not done["tokens"]:
            continue
        model = config["models"][parts[1]]
        # The cells of one job have the same times.
        runs[volatile["host"], volatile["started"]] = Run(
            volatile["gpu"]["name"] if volatile["gpu"] else CPU,
            parts[2],
            float(model["size_b"]),
            model["alignment"],
            **done,
        )
    return list(runs.values())


def _short(number: float | None) -> float | None:
    return int(number) if number is not None and number.is_integer() else number


def card_of(calibration: Calibration, device: str) -> str:
    """The card that a device name belongs to. Raises CalibrationError if there is none."""
    for name, card in calibration.cards.items():
        if device in card.devices:
            return name
    raise CalibrationError(
        f"{device} is a device of no card: add it, or a card with its memory and an estimate, "
        "to the calibration file"
    )


def _speeds(where: str, card: Mapping[str, Any]) -> Speeds:
    try:
        estimate = {
            precision: {float(size): float(speed) for size, speed in sizes.items()}
            for precision, sizes in card["estimate"].items()
        }
        measured = {
            precision: {
                float(size): Measured(float(one["tokens_per_s"]), int(one["tokens"]))
                for size, one in sizes.items()
            }
            for precision, sizes in (card.get("measured") or {}).items()
        }
        memory = None if card["memory_gb"] is None else float(card["memory_gb"])
        devices = tuple(map(str, card["devices"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CalibrationError(
            f"{where} needs memory_gb, devices, estimate and measured: {error}"
        ) from error
    speeds = [speed for sizes in estimate.values() for speed in sizes.values()]
    speeds += [one.tokens_per_s for sizes in measured.values() for one in sizes.values()]
    if not devices or any(speed <= 0 for speed in speeds):
        raise CalibrationError(f"{where} needs a device, and speeds above 0")
    return Speeds(memory, devices, estimate, measured)
