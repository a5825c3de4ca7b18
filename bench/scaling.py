"""How long Snakemake takes to plan a study of many models, and how much memory: one command.

    python bench/scaling.py [--models 1000] [--profile slurm] [--finished]

Writes an overlay of so many models, each on four tasks under five doses in nf4, to a temporary folder, and plans it with `snakemake --dry-run`, which builds the same DAG as a run. With `--finished` all outputs are there already, empty and with their records, so every file and record is looked at too. Prints the jobs, the files that they make, the seconds and the peak memory of Snakemake, also for a single cell: every job on the cluster plans its own outputs.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from taboo.provenance.records import write_records

ROOT = Path(__file__).parent.parent
TASKS = {"gsm8k": 100, "mmlu": 100, "triviaqa": 100, "humaneval": 100}
DOSES = ["baseline", "taboo_i{1,2,4,8}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument(
        "--profile", default="slurm", help="a profile of Snakemake (default: slurm)"
    )
    parser.add_argument("--finished", action="store_true", help="with every output in place")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        overlay = Path(folder, "many.yaml")
        overlay.write_text(yaml.safe_dump(study(options.models, Path(folder, "results"))))
        plan = [sys.executable, "-m", "snakemake", "--dry-run", "--nolock"]
        how = ["--profile", options.profile, "--configfile", str(overlay)]
        cell = f"{folder}/results/cells/model-0/nf4/gsm8k/baseline.parquet"
        report("one cell, as each job plans it", *measured([*plan, cell, *how]))
        output, *numbers = measured([*plan, *how])
        report("nothing made yet", output, *numbers)
        if options.finished:
            finish(Path(folder, "results"), outputs(output))
            report("all outputs in place", *measured([*plan, *how, "--rerun-triggers", "mtime"]))


def study(models: int, results: Path) -> dict[str, Any]:
    """An overlay with one study of `models` made-up models of the hub, half of them instruct."""
    names = [f"model-{n}{ending}" for n in range((models + 1) // 2) for ending in ("", "-instruct")]
    names = names[:models]
    return {
        "results": str(results),
        "run": ["many"],
        "models": {
            name: {
                "source": {"hub": f"org/{name}"},
                "family": f"family-{number // 20}",
                "label": name,
                "size_b": 1 + number % 30,
                "alignment": "instruct" if name.endswith("-instruct") else "base",
                "licence": "Apache-2.0",
            }
            for number, name in enumerate(names)
        },
        "studies": {
            "many": {
                "models": names,
                "precisions": ["nf4"],
                "tasks": TASKS,
                "conditions": DOSES,
                "analyses": ["tests", "gaps"],
            }
        },
        "figures": {name: {"studies": ["many"]} for name in ("retention", "ladder", "accuracy")},
    }


def measured(command: list[str]) -> tuple[str, float, float]:
    """The output of a command, the seconds it took, and its peak memory in MB."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        output.seek(0)
        text = output.read()
    if status:
        sys.exit(text[-3000:])
    return text, seconds, usage.ru_maxrss / 1024


def outputs(plan: str) -> list[str]:
    """The files that a plan would make."""
    lines = re.findall(r"^ *output: (.*)$", plan, flags=re.MULTILINE)
    return [name for line in lines for name in line.split(", ")]


def finish(results: Path, names: list[str]) -> None:
    """Make empty outputs, each with its record."""
    packages = {"packages": {}, "container": None, "lock": None}
    now = time.time()

    def make(name: str) -> None:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (now, now))  # none is newer than what was made from it
        write_records(results, "bench", {}, [path], {}, {}, packages, {})

    # Each record waits for the disk.
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(make, names))


def report(what: str, plan: str, seconds: float, peak_mb: float) -> None:
    """Print one line of numbers."""
    jobs = re.search(r"^total +(\d+)$", plan, flags=re.MULTILINE)
    files = len(outputs(plan))
    made = f"{jobs[1]} jobs, {files} files" if jobs else "nothing to be done"
    print(f"{what}: {made}; {seconds:.1f} s, {peak_mb:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
