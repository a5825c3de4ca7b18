"""How fast the scorers are, and how often they agree with lm-evaluation-harness.

    python bench/scoring.py --mirror FOLDER [--results FOLDER ...]

`--mirror` (default: $TABOO_BENCHMARKS) is a folder with the benchmarks as files. Texts are the benchmarks' own answers in the forms that models give them, and, with `--results`, every generation of those results folders. The first run makes an environment for the harness in build/lm_eval.
"""

import argparse
import json
import os
import subprocess
import sys
import textwrap
import time
import venv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from taboo.scoring import score  # noqa: E402
from taboo.scoring.gsm8k import gold  # noqa: E402
from taboo.scoring.sandbox import Program, run_programs  # noqa: E402
from taboo.tasks import load_task  # noqa: E402
from taboo.tasks.sampling import load_items, read_sample, seeded_sample  # noqa: E402

HARNESS = ROOT / "build" / "lm_eval"
Case = tuple[str, str, dict[str, Any], str]  # task, form, item, text

NEXT = "\n\nQuestion: Tom has 3 pens and buys 4. How many has he?\nReasoning: 3 + 4 = 7.\nAnswer: 7"
GSM8K = {
    "answer line": "So it is {0}.\nAnswer: {0}",
    "#### line": "So it is {0}.\n#### {0}",
    "reference solution": "{2}",
    "the answer is": "The answer is {0}.",
    "with cents": "The total is ${0}.00.",
    "with thousands": "The total is {0:,} in all.",
    "explained": "Answer: {0} (see step 2)",
    "comma after it": "The answer is {0}, in total, so we are done.",
    "boxed": "The answer is \\boxed{{{0}}}.",
    "run-on": "So it is {0}.\nAnswer: {0}" + NEXT,
    "wrong by one": "So it is {1}.\nAnswer: {1}",
}
MMLU = {
    "letter": " {0}",
    "letter and choice": " {0}. {2}",
    "brackets": " ({0})",
    "emphasis": "**{0}**",
    "small letter": " {3}",
    "because": " {0} because a car moves.",
    "the answer is": "The answer is {0}. Note that {1} is a common distractor.",
    "run-on": " {0}\n\nQuestion: Which?\nA. a\nB. b\nC. c\nD. d\nAnswer: {1}",
    "wrong letter": " {1}",
    "no letter": " A perfect answer cannot be found.",
}
TRIVIAQA = {
    "value": " {0}",
    "last alias": " {1}",
    "full stop": " {0}.",
    "run-on": " {0}\n\nQuestion: Who?\nAnswer: Nobody",
    "explained": " {0}. It was long ago.",
    "in brackets": " {0} (of course)",
    "the answer is": " The answer is {0}.",
    "negated": " not {0}",
    "more words": " {0} and others",
    "nothing": "\n",
}


def main() -> None:
    """Print the speeds, then the agreement, as Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mirror", default=os.environ.get("TABOO_BENCHMARKS"), type=Path)
    parser.add_argument("--results", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    if options.mirror is None:
        parser.error("name a folder with the benchmarks: --mirror FOLDER, or $TABOO_BENCHMARKS")
    items = {
        name: load_items(load_task(name), options.mirror)
        for name in ("gsm8k", "mmlu", "triviaqa", "humaneval", "ifeval")
    }
    speeds(items)
    cases = list(constructed(items))
    for results in options.results:
        cases += generated(results)
    agreement(cases)


def speeds(items: dict[str, list[dict[str, Any]]]) -> None:
    """Time each scorer on as many texts as its benchmark has items."""
    texts = {
        "gsm8k": [item["answer"] + NEXT for item in items["gsm8k"]],
        "mmlu": [" B. " + " because it is so" * 50] * len(items["mmlu"]),
        "triviaqa": [f" {item['answer']['value']}{NEXT}" for item in items["triviaqa"]],
        "humaneval": [item["canonical_solution"] for item in items["humaneval"]],
        "ifeval": [item["prompt"] for item in items["ifeval"]],
    }
    print("| task | texts | seconds | texts per second |\n| --- | --- | --- | --- |")
    for task, lines in texts.items():
        started = time.perf_counter()
        score(task, items[task], lines)
        seconds = time.perf_counter() - started
        print(f"| {task} | {len(lines)} | {seconds:.2f} | {len(lines) / seconds:.0f} |")
    print(f"\n{len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}\n")


def constructed(items: dict[str, list[dict[str, Any]]]) -> Iterator[Case]:
    """The benchmarks' own answers, right and wrong, in many forms."""
    for item in items["gsm8k"]:
        value = gold(item)
        number = int(value) if value.denominator == 1 else float(value)
        for form, text in GSM8K.items():
            yield "gsm8k", form, item, text.format(number, number + 1, item["answer"])
    for item in seeded_sample(items["mmlu"], 1000, 0):
        right, wrong = ("ABCD"[(item["answer"] + shift) % 4] for shift in (0, 1))
        for form, text in MMLU.items():
            choice = item["choices"][item["answer"]]
            yield "mmlu", form, item, text.format(right, wrong, choice, right.lower())
    for item in seeded_sample(items["triviaqa"], 1000, 0):
        answer = item["answer"]
        for form, text in TRIVIAQA.items():
            yield "triviaqa", form, item, text.format(answer["value"], answer["aliases"][-1])
    forms: dict[str, Callable[[dict[str, Any]], str]] = {
        "canonical body": lambda item: item["canonical_solution"],
        "run-on test": lambda item: item["canonical_solution"] + "\n\nassert False, 'mine'\n",
        "run-on function": lambda item: item["canonical_solution"] + "\n\ndef f(x: Y):\n    pass\n",
        "stripped body": lambda item: item["canonical_solution"].strip(),
        "body without indentation": lambda item: textwrap.dedent(item["canonical_solution"]),
        "signature again": lambda item: item["prompt"] + item["canonical_solution"],
        "fence": lambda item: f"```python\n{item['prompt']}{item['canonical_solution']}```\nDone.",
        "nothing": lambda item: "\n",
    }
    for item in seeded_sample(items["humaneval"], 60, 0):
        for form, make in forms.items():
            yield "humaneval", form, item, make(item)
    for position, item in enumerate(items["ifeval"]):
        yield "ifeval", "its own prompt", item, item["prompt"]
        yield "ifeval", "a solution of GSM8K", item, items["gsm8k"][position]["answer"]
        yield "ifeval", "bullets, title, capitals", item, IFEVAL_TEXT


IFEVAL_TEXT = """<<A SHORT TITLE>>

* The *first* point, with **emphasis**.
* The second point. It has two sentences!

***

SECTION 1
Dear [name], NASA wrote to [address]. My answer is maybe.

P.S. That is all."""


def generated(results: Path) -> Iterator[Case]:
    """Every generation of a results folder, with its condition as the form."""
    import pyarrow.parquet

    for path in sorted(results.glob("cells/*/*/*/*.parquet")):
        task = path.parent.name
        rows = pyarrow.parquet.read_table(path, columns=["item_id", "text"]).to_pylist()
        samples = (results / "samples" / task).glob("n*.jsonl")
        items = {
            line["item_id"]: line["item"] for sample in samples for line in read_sample(sample)
        }
        for row in rows:
            yield task, f"generated, {path.stem}", items[row["item_id"]], row["text"]


def agreement(cases: list[Case]) -> None:
    """Print, for each form and each reading of the harness, how often both say the same."""
    theirs = harness_verdicts(cases)
    counts: dict[tuple[str, str, str], Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for task in dict.fromkeys(task for task, *_ in cases):
        chosen = [index for index, case in enumerate(cases) if case[0] == task]
        verdicts = score(task, [cases[i][2] for i in chosen], [cases[i][3] for i in chosen])
        for index, verdict in zip(chosen, verdicts, strict=True):
            form = cases[index][1]
            for reading, other in theirs[index].items():
                mine = verdict.correct
                if task == "ifeval":
                    mine = verdict.details["strict"][int(reading)]
                if other is not None:
                    name = "strict, per instruction" if task == "ifeval" else reading
                    counts[task, name, form][mine, other] += 1
    print("| task | harness's reading | form | same | only ours right | only theirs right |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (task, reading, form), count in counts.items():
        same = (count[True, True] + count[False, False]) / count.total()
        print(
            f"| {task} | {reading} | {form} | {100 * same:.1f} % of {count.total()} "
            f"| {count[True, False]} | {count[False, True]} |"
        )


def harness_verdicts(cases: list[Case]) -> list[dict[str, bool]]:
    """The harness's verdicts by the name of its reading; its programs run in our sandbox."""
    lines = [
        json.dumps({"task": task, "item": item, "text": text}) for task, _, item, text in cases
    ]
    done = subprocess.run(
        [str(harness_python()), str(Path(__file__).with_name("lm_eval_verdicts.py"))],
        input="\n".join(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    programs = {
        index: Program(answer["program"], item["entry_point"], item["prompt"], item["test"])
        for index, (answer, (_, _, item, _)) in enumerate(zip(answers, cases, strict=True))
        if "program" in answer
    }
    for index, result in zip(programs, run_programs(list(programs.values())), strict=True):
        answers[index] = {"verdicts": {"pass@1": result.outcome == "passed"}}
    return [answer["verdicts"] for answer in answers]


def harness_python() -> Path:
    """The Python of an environment with the harness, made if there is none."""
    python = HARNESS / "bin" / "python"
    if not python.exists():
        venv.create(HARNESS, with_pip=True)
        requirements = Path(__file__).with_name("lm_eval.txt")
        command = [str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", str(requirements)]
        subprocess.run(command, check=True)
    return python


if __name__ == "__main__":
    main()
