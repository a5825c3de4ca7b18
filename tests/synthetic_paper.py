"""Item tables made up so that they have the paper's numbers, and a small one like the demo's."""

import json
import zlib
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from taboo.conditions import Condition, parse_condition
from taboo.stats.retention import share
from taboo.stats.tables import ITEM_COLUMNS, cell_table

DOSES = (1, 2, 4, 8)
TASKS = ("gsm8k", "mmlu", "triviaqa", "humaneval")
SIZES = {
    "qwen2.5": {
        0.49: "0.5b",
        1.54: "1.5b",
        3.09: "3b",
        7.62: "7b",
        14.8: "14b",
        32.8: "32b",
        72.7: "72b",
    },
    "olmo-2": {1.48: "1b", 7.3: "7b", 13.7: "13b", 32.2: "32b"},
    "gemma-3": {1.0: "1b", 4.3: "4b", 12.2: "12b", 27.4: "27b"},
    "llama-3": {8.03: "8b", 70.6: "70b"},
}
MAIN = ("qwen2.5-7b", "olmo-2-7b", "gemma-3-12b", "llama-3.1-8b")


@dataclass(frozen=True)
class Model:
    name: str
    family: str
    size_b: float
    alignment: str


def models() -> dict[str, Model]:
    """The paper's checkpoints by name."""
    found = {}
    for family, sizes in SIZES.items():
        for size_b, size in sizes.items():
            base = f"{'llama-3.1' if family == 'llama-3' else family}-{size}"
            found[base] = Model(base, family, size_b, "base")
            found[f"{base}-instruct"] = Model(f"{base}-instruct", family, size_b, "instruct")
    return found


@dataclass(frozen=True)
class Cell:
    """One cell in numbers: counts are items, `tokens` and `interventions` are per item."""

    study: str
    model: Model
    task: str
    condition: Condition
    n: int
    right_before: int
    retained: int
    recovered: int = 0
    precision: str = "nf4"
    delta_s: float = 3.0
    tokens: int = 200
    interventions: int = 60
    truncated: int = 0
    loops: int = 0
    failures: tuple[tuple[str, int], ...] = ()
    details: tuple[str, ...] | None = None


def items_of(cell: Cell) -> pd.DataFrame:
    """The item table of one cell; which items are right is drawn from a generator seeded by the model and task."""
    condition, n = cell.condition, cell.n
    name = f"{cell.model.name}/{cell.task}/{condition.seed}"
    before_rng = np.random.default_rng(zlib.crc32(name.encode()))
    order = before_rng.permutation(n)
    rng = np.random.default_rng(zlib.crc32(f"{name}/{condition.name}".encode()))
    before = np.zeros(n, bool)
    before[order[: cell.right_before]] = True
    correct = before.copy()
    if condition.rank > 0:
        correct = np.zeros(n, bool)
        correct[rng.permutation(np.flatnonzero(before))[: cell.retained]] = True
        correct[rng.permutation(np.flatnonzero(~before))[: cell.recovered]] = True
    failure = np.full(n, "", dtype=object)
    failed = np.flatnonzero(before & ~correct)
    if condition.rank > 0:
        modes = [mode for mode, count in cell.failures for _ in range(count)]
        modes += ["wrong_answer"] * (len(failed) - len(modes))
        failure[failed] = modes[: len(failed)]
    interventions = cell.interventions if condition.rank else 0
    spread = rng.normal(1, 0.15, n).clip(0.5, 1.5)
    spread /= spread.mean()
    frame = {
        "study": cell.study,
        "model": cell.model.name,
        "family": cell.model.family,
        "size_b": float(cell.model.size_b),
        "alignment": cell.model.alignment,
        "precision": cell.precision,
        "task": cell.task,
        "condition": condition.name,
        "mode": condition.mode,
        "rank": condition.rank,
        "temperature": condition.temperature,
        "seed": pd.array([pd.NA if condition.seed is None else condition.seed] * n, dtype="Int64"),
        "max_new_tokens": condition.max_new_tokens,
        "item_id": [f"{cell.task}-{index}" for index in range(n)],
        "position": range(n),
        "correct": correct,
        "outcome": np.where(correct, "correct", "wrong"),
        "baseline_correct": pd.array(before, dtype="boolean"),
        "tokens": cell.tokens,
        "words": int(0.7 * cell.tokens),
        "interventions": interventions,
        "delta_s_total": cell.delta_s * interventions * spread,
        "finish_reason": np.where(np.arange(n) < cell.truncated, "length", "eos"),
        "repetition": np.arange(n) < cell.loops,
        "rule": "answer_line",
        "details": list(cell.details) if cell.details else "{}",
        "failure": failure,
    }
    return pd.DataFrame(frame)[ITEM_COLUMNS]


def with_baseline(cells: list[Cell]) -> list[Cell]:
    """The cells of one model and task, with the baseline they share put first."""
    first = cells[0]
    name = first.condition.baseline_name
    baseline = replace(
        first,
        condition=parse_condition(name, first.condition.max_new_tokens),
        retained=first.right_before,
        recovered=0,
        delta_s=0.0,
        failures=(),
        truncated=first.truncated,
    )
    return [baseline, *cells]


def table(cells: list[Cell]) -> pd.DataFrame:
    """The item table of several cells."""
    return pd.concat([items_of(cell) for cell in cells], ignore_index=True)


def demo_items() -> pd.DataFrame:
    """Two tiny models of two families, one instruct and one base, as in the demo; neither writes code that works."""
    cells = []
    right = {"gsm8k": (20, 15), "mmlu": (12, 11), "triviaqa": (24, 27), "humaneval": (0, 0)}
    for index, model in enumerate(
        (
            Model("smollm2-135m-instruct", "smollm2", 0.135, "instruct"),
            Model("gemma-3-270m", "gemma-3", 0.27, "base"),
        )
    ):
        for task in TASKS:
            before = right[task][index]
            cells += with_baseline(
                [
                    Cell(
                        "demo",
                        model,
                        task,
                        Condition(dose, max_new_tokens=64),
                        n=32,
                        right_before=before,
                        retained=round(before * keep),
                        recovered=1 if before and dose == 1 else 0,
                        precision="bf16",
                        delta_s=2.4 + 0.95 * np.log2(dose) + 0.3 * index,
                        tokens=30 + 4 * dose,
                        interventions=12 + dose,
                    )
                    for dose, keep in zip(DOSES, (0.4, 0.2, 0.1, 0.0), strict=True)
                ]
            )
    return table(cells)


# Conditional retention on GSM8K at i = 1, 2, 4, 8. What the paper states is in claims.yaml; the rest is filled in.
MAIN_GSM8K = {
    "qwen2.5-7b": (0.08, 0.06, 0.04, 0.03),
    "qwen2.5-7b-instruct": (0.48, 0.42, 0.36, 0.30),
    "olmo-2-7b": (0.15, 0.10, 0.06, 0.04),
    "olmo-2-7b-instruct": (0.45, 0.34, 0.24, 0.16),
    "gemma-3-12b": (0.25, 0.17, 0.11, 0.07),
    "gemma-3-12b-instruct": (0.90, 0.80, 0.66, 0.51),
    "llama-3.1-8b": (0.14, 0.10, 0.07, 0.05),
    "llama-3.1-8b-instruct": (0.16, 0.11, 0.08, 0.05),
}
MAIN_TRIVIAQA = {
    "qwen2.5-7b": (0.50, 0.42, 0.34, 0.25),
    "qwen2.5-7b-instruct": (0.54, 0.45, 0.37, 0.28),
    "olmo-2-7b": (0.52, 0.43, 0.33, 0.24),
    "olmo-2-7b-instruct": (0.56, 0.47, 0.38, 0.29),
    "gemma-3-12b": (0.58, 0.50, 0.41, 0.31),
    "gemma-3-12b-instruct": (0.62, 0.53, 0.44, 0.35),
    "llama-3.1-8b": (0.53, 0.44, 0.36, 0.27),
    "llama-3.1-8b-instruct": (0.45, 0.37, 0.29, 0.21),
}
MAIN_LENGTH = {
    "qwen2.5-7b": (1.5, 1.5, 1.5, 1.5),
    "qwen2.5-7b-instruct": (1.6, 1.6, 1.6, 1.6),
    "olmo-2-7b": (1.5, 1.6, 1.7, 1.8),
    "olmo-2-7b-instruct": (1.9, 2.1, 2.3, 2.4),
    "gemma-3-12b": (1.0, 1.0, 0.98, 0.97),
    "gemma-3-12b-instruct": (2.0, 2.3, 2.6, 2.9),
    "llama-3.1-8b": (0.9, 0.9, 0.88, 0.87),
    "llama-3.1-8b-instruct": (0.8, 0.8, 0.78, 0.75),
}
# The first and the last rank of the ladder on GSM8K, where n is 100.
LADDER_GSM8K = {
    "qwen2.5-0.5b": (0.06, 0.01),
    "qwen2.5-0.5b-instruct": (0.06, 0.02),
    "qwen2.5-1.5b": (0.11, 0.02),
    "qwen2.5-1.5b-instruct": (0.24, 0.08),
    "qwen2.5-3b": (0.23, 0.04),
    "qwen2.5-3b-instruct": (0.40, 0.20),
    "qwen2.5-7b": (0.08, 0.03),
    "qwen2.5-7b-instruct": (0.48, 0.30),
    "qwen2.5-14b": (0.52, 0.10),
    "qwen2.5-14b-instruct": (0.78, 0.50),
    "qwen2.5-32b": (0.59, 0.13),
    "qwen2.5-32b-instruct": (0.93, 0.74),
    "qwen2.5-72b": (0.39, 0.10),
    "qwen2.5-72b-instruct": (0.85, 0.68),
    "llama-3.1-8b": (0.14, 0.05),
    "llama-3.1-8b-instruct": (0.16, 0.05),
    "llama-3.1-70b": (0.36, 0.09),
    "llama-3.1-70b-instruct": (0.75, 0.22),
}
TEMPERATURE = {
    0.7: {
        "qwen2.5-7b": 0.20,
        "qwen2.5-7b-instruct": 0.57,
        "olmo-2-7b": 0.20,
        "olmo-2-7b-instruct": 0.50,
        "gemma-3-12b": 0.41,
        "gemma-3-12b-instruct": 0.85,
        "llama-3.1-8b": 0.22,
        "llama-3.1-8b-instruct": 0.20,
        "qwen2.5-32b": 0.53,
        "qwen2.5-32b-instruct": 0.91,
        "qwen2.5-72b": 0.38,
        "qwen2.5-72b-instruct": 0.86,
    },
    1.0: {
        "qwen2.5-7b": 0.22,
        "qwen2.5-7b-instruct": 0.58,
        "olmo-2-7b": 0.24,
        "olmo-2-7b-instruct": 0.52,
        "gemma-3-12b": 0.43,
        "gemma-3-12b-instruct": 0.84,
        "llama-3.1-8b": 0.25,
        "llama-3.1-8b-instruct": 0.24,
        "qwen2.5-32b": 0.55,
        "qwen2.5-32b-instruct": 0.90,
        "qwen2.5-72b": 0.41,
        "qwen2.5-72b-instruct": 0.85,
    },
}


def surprisal(model: Model, rank: int) -> float:
    """Bits per intervention: about linear in log2 rank, larger for instruct except in Llama-3."""
    shift = {"base": 0.0, "instruct": -0.12 if model.family == "llama-3" else 0.7}
    return 2.0 + 0.85 * np.log2(rank) + shift[model.alignment]


def ranked(
    study: str,
    model: Model,
    task: str,
    keeps: tuple[float, ...],
    *,
    n: int,
    right: int,
    lengths: tuple[float, ...] | None = None,
    precision: str = "nf4",
    baseline_tokens: int = 200,
    baseline_truncated: int = 0,
) -> list[Cell]:
    """A model's baseline and its doses on one task."""
    lengths = lengths or tuple(1.1 + 0.1 * index for index in range(len(DOSES)))
    doses = [
        Cell(
            study,
            model,
            task,
            Condition(rank),
            n=n,
            right_before=right,
            retained=round(keep * right),
            precision=precision,
            delta_s=surprisal(model, rank),
            tokens=round(baseline_tokens * longer),
            interventions=round(0.4 * baseline_tokens * longer),
            truncated=min(n, round(n * (0.15 + 0.1 * np.log2(rank)))),
            loops=round(n * (0.08 + 0.03 * np.log2(rank))),
            failures=failures(right - round(keep * right)),
        )
        for rank, keep, longer in zip(DOSES, keeps, lengths, strict=True)
    ]
    baseline = replace(
        doses[0],
        condition=Condition(0),
        retained=right,
        delta_s=0.0,
        tokens=baseline_tokens,
        truncated=baseline_truncated,
        loops=0,
    )
    return [baseline, *doses]


def failures(count: int) -> tuple[tuple[str, int], ...]:
    """How `count` failures come about: the paper finds derailments and loops more often than wrong answers."""
    return (("derailment", int(0.4 * count)), ("repetition_loop", int(0.35 * count)))


def mmlu_keeps(model: Model) -> tuple[float, ...]:
    """Near the floor, and rising again at large ranks."""
    return (0.20, 0.10, 0.24, 0.30) if model.alignment == "base" else (0.28, 0.14, 0.22, 0.33)


def main_cells() -> list[Cell]:
    """The study at 7 to 12 B."""
    known, cells = models(), []
    for name in MAIN_GSM8K:
        model = known[name]
        cells += ranked(
            "main", model, "gsm8k", MAIN_GSM8K[name], n=500, right=400, lengths=MAIN_LENGTH[name],
            baseline_truncated=400 if model.family == "llama-3" or name == "gemma-3-12b" else 20,
        )  # fmt: skip
        cells += ranked("main", model, "mmlu", mmlu_keeps(model), n=500, right=300)
        cells += ranked("main", model, "triviaqa", MAIN_TRIVIAQA[name], n=500, right=300)
        last = name == "llama-3.1-8b-instruct"
        code = (0.0, 1 / 102 if last else 0.0, 0.0, 0.0)
        cells += ranked("main", model, "humaneval", code, n=164, right=102 if last else 70)
    return cells


def ladder_cells() -> list[Cell]:
    """All sizes, n = 100."""
    cells = []
    for name, model in models().items():
        right = min(95, int(35 + 15 * np.log2(1 + model.size_b)))
        right = 76 if name == "llama-3.1-8b-instruct" else right
        lift = 0.25 if model.alignment == "instruct" else 0.0
        default = (0.08 + lift + 0.004 * model.size_b, 0.02 + lift / 2)
        first, last = LADDER_GSM8K.get(name, default)
        keeps = tuple(first + (last - first) * share for share in (0, 0.4, 0.75, 1))
        cells += ranked("ladder", model, "gsm8k", keeps, n=100, right=right)
        keeps = tuple(0.1 + keep for keep in mmlu_keeps(model))
        cells += ranked("ladder", model, "mmlu", keeps, n=100, right=min(70, right))
        start = 0.42 + 0.02 * np.log2(1 + model.size_b) + lift / 10
        keeps = tuple(start - 0.09 * step for step in range(4))
        cells += ranked("ladder", model, "triviaqa", keeps, n=100, right=min(75, right))
    return cells


def precision_cells() -> list[Cell]:
    """Ten models in nf4 and bf16: 50 pairs of accuracies, 47 within 0.07, one 0.18 apart; and the 8-bit check."""
    names = ("qwen2.5-3b", "qwen2.5-7b", "qwen2.5-14b", "olmo-2-7b", "llama-3.1-8b")
    known, cells, number = models(), [], 0
    for name in [f"{base}{end}" for base in names for end in ("", "-instruct")]:
        for rank in (0, *DOSES):
            difference = (0, 1, 2, 3, 3, 3, 4, 5, 6, 7)[number % 10]
            bf16 = (80, 45, 36, 27, 18)[(0, *DOSES).index(rank)] + 3 * (number % 4)
            bf16 += 10 if name.endswith("instruct") else 0
            if name == "qwen2.5-14b-instruct" and rank == 2:
                bf16, difference = 62, 18
            elif name in ("olmo-2-7b", "llama-3.1-8b") and rank == 8:
                difference = 8
            number += 1
            model = known[name]
            for precision, right in (("bf16", bf16), ("nf4", bf16 - difference)):
                cells.append(flat("precision", model, rank, right, precision))
    outlier = known["qwen2.5-14b-instruct"]
    for rank in (0, 2):
        for precision, right in (("bf16", 62), ("int8", 58), ("nf4", 44)):
            cells.append(flat("int8_check", outlier, rank, right, precision))
    return cells


def flat(study: str, model: Model, rank: int, right: int, precision: str, **more: object) -> Cell:
    """A GSM8K cell of 100 items of which `right` are right."""
    cell = Cell(
        study,
        model,
        "gsm8k",
        Condition(rank),
        n=100,
        right_before=right if rank == 0 else 100,
        retained=right,
        precision=precision,
        delta_s=surprisal(model, rank) if rank else 0.0,
    )
    return replace(cell, **more)  # type: ignore[arg-type]


def midword_cells() -> list[Cell]:
    """i = 2 at word starts and inside words."""
    known, cells = models(), []
    inside = dict(zip(MAIN_GSM8K, (0.02, 0.05, 0.03, 0.04, 0.02, 0.01, 0.05, 0.03), strict=True))
    for name, keeps in MAIN_GSM8K.items():
        model = known[name]
        at_start = 81 if name == "gemma-3-12b-instruct" else round(90 * keeps[1])
        cells.append(flat("midword", model, 0, 90, "nf4"))
        cells.append(flat("midword", model, 2, at_start, "nf4", right_before=90))
        condition = Condition(2, mode="mid_word")
        bits = surprisal(model, 2) - 1.5
        right = round(100 * inside[name])
        cells.append(
            flat(
                "midword",
                model,
                2,
                right,
                "nf4",
                right_before=90,
                condition=condition,
                delta_s=bits,
            )
        )
    return cells


def temperature_cells() -> list[Cell]:
    """Two temperatures, three seeds, i = 1 as the paper has it and larger ranks below."""
    known, cells = models(), []
    for temperature, kept in TEMPERATURE.items():
        for name, keep in kept.items():
            for seed in range(3):
                doses = [
                    Cell(
                        "temperature",
                        known[name],
                        "gsm8k",
                        Condition(rank, temperature=temperature, seed=seed),
                        n=100,
                        right_before=80,
                        retained=max(0, round(80 * (keep - 0.06 * np.log2(rank))) + (seed - 1)),
                        delta_s=surprisal(known[name], rank),
                    )
                    for rank in DOSES
                ]
                cells += with_baseline(doses)
    return cells


def budget_cells() -> list[Cell]:
    """Llama-3.1-8B with 1,024 new tokens."""
    cells = []
    for name, kept in (("llama-3.1-8b", 18), ("llama-3.1-8b-instruct", 19)):
        condition = Condition(1, max_new_tokens=1024, named_budget=True)
        right = 80 if kept == 19 else 82
        cell = Cell("budget", models()[name], "gsm8k", condition, 100, right, kept, truncated=85)
        cells += with_baseline([cell])
    return cells


def forbidden_words_cells() -> list[Cell]:
    """25 IFEval prompts that forbid words: compliance changes by 0.0 to +0.2."""
    cells = []
    for name, gain in zip(MAIN, (0, 1, 3, 5), strict=True):
        model = models()[f"{name}-instruct"]
        for rank, followed in ((0, 15), (2, 15 + gain)):
            details = tuple(
                json.dumps(
                    {"instructions": ["keywords:forbidden_words"], "strict": [place < followed]}
                )
                for place in range(25)
            )
            condition = Condition(rank)
            cell = Cell(
                "forbidden_words", model, "ifeval_forbidden_words", condition, 25, 15, 15, gain
            )
            cells.append(replace(cell, details=details))
    return cells


def judge_table() -> pd.DataFrame:
    """The judge's agreement with the paper's three numbers."""
    counts = {"gsm8k": ((94, 100), (100, 100)), "mmlu": ((80, 100), (78, 100))}
    rows = []
    for task, (baseline, taboo) in counts.items():
        both = (baseline[0] + taboo[0], baseline[1] + taboo[1])
        for group, (agree, n) in (("all", both), ("baseline", baseline), ("taboo", taboo)):
            part = share(agree, n)
            numbers = {"agreement": part.value, "low": part.low, "high": part.high}
            flat = agree == n
            rows.append(
                {"study": "main", "task": task, "group": group, "n_asked": n, "n": n, **numbers}
                | {"kappa": None if flat else 0.8, "ac1": 1.0 if flat else 0.9}
            )
    return pd.DataFrame(rows)


def timing_table() -> pd.DataFrame:
    """Minutes per condition as the paper has them."""
    rows = [
        ("ladder", "qwen2.5-7b-instruct", 4.0),
        ("main", "qwen2.5-7b-instruct", 20.0),
        ("ladder", "qwen2.5-32b-instruct", 9.0),
        ("ladder", "qwen2.5-72b-instruct", 16.0),
    ]
    frame = pd.DataFrame(rows, columns=["study", "model", "minutes"])
    return frame.assign(task="gsm8k", condition="taboo_i1", precision="nf4")


@cache
def paper_items() -> pd.DataFrame:
    """The item table of every study, with the paper's numbers; the same frame each time, not to be changed."""
    parts = (main_cells, ladder_cells, precision_cells, midword_cells, temperature_cells)
    parts = (*parts, budget_cells, forbidden_words_cells)
    cells = [cell for part in parts for cell in part()]
    return table(cells)


@cache
def paper_cells() -> pd.DataFrame:
    """The cell table of every study; the same frame each time, not to be changed."""
    return cell_table(paper_items())
