"""The workflow on a real Slurm: the whole chain, and jobs that are killed in every way Slurm has.

Slurm (one node, one pretended A100) is installed and started if need be, and stopped again.
"""

import logging
import os
import re
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from taboo.cells import Journal, JournalInUse
from taboo.files import read_json
from taboo.provenance.records import record_path
from tests.cluster.packages import need_packages
from tests.cluster.slurm_node import PACKAGES, SYSTEM_CONFIG, Slurm
from tests.cluster.workspace import Workspace
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

CELL = "results/cells/smollm2/bf16/gsm8k/baseline.parquet"
ITEMS = 12
SMALL = {"tasks": {"gsm8k": 4, "mmlu": 4}, "tokens": 6}
LONGER = {"tasks": {"gsm8k": ITEMS}, "tokens": 40}
ON_CPUS = (
    "--default-resources",
    "slurm_partition=cpu",
    "--slurm-init-seconds-before-status-checks=2",
    # Four jobs run side by side: threads that wait for each other on two cores take minutes.
    "--set-threads=generate=1",
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    need_packages(*PACKAGES)
    with FileLock("/tmp/taboo-test-slurm.lock"):
        if SYSTEM_CONFIG.exists():
            pytest.skip(f"this machine has a Slurm of its own: {SYSTEM_CONFIG}")
        with Slurm(tmp_path_factory.mktemp("slurm")) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def runs(slurm, smollm2_path, tmp_path_factory):
    """All runs side by side, since most of their time is waiting; each test waits for its own."""
    folder = tmp_path_factory.mktemp("runs")
    with ThreadPoolExecutor() as pool:

        def start(name: str, study: dict, run: Callable[[Workspace], object]) -> Future:
            return pool.submit(run, Workspace(folder / name, smollm2_path, study))

        yield {
            "whole": start("whole", SMALL, whole),
            "local": start("local", LONGER, local),
            "timeout": start("timeout", LONGER, lambda w: timeout(w, slurm)),
            "scancel": start("scancel", LONGER, lambda w: scancel(w, slurm)),
            "requeue": start("requeue", LONGER, lambda w: requeue(w, slurm)),
            "memory": start("memory", LONGER, out_of_memory),
        }


def whole(work: Workspace) -> Workspace:
    """Everything, with nothing but `--profile slurm`."""
    ended(work, work.start("--profile", "slurm"))
    return work


def local(work: Workspace) -> Workspace:
    """What the killed jobs must come to: the cell made at one go, here, with the network cut."""
    ended(work, work.start("--cores=1", CELL, before=("unshare", "--net")))
    return work


def scancel(work: Workspace, slurm: Slurm) -> tuple[Workspace, str]:
    run = work.start("--profile", "slurm", CELL, *ON_CPUS)
    job, _ = writer(work)
    slurm("scancel", job)
    ended(work, run)
    return work, job


def requeue(work: Workspace, slurm: Slurm) -> tuple[Workspace, str]:
    run = work.start("--profile", "slurm", CELL, *ON_CPUS)
    job, _ = writer(work)
    slurm("scontrol", "requeue", job)
    # Slurm lets a requeued job wait two minutes.
    wait_for(lambda: slurm.job(job)["JobState"] == "PENDING", 30)
    slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
    ended(work, run)
    return work, job


def timeout(work: Workspace, slurm: Slurm) -> tuple[Workspace, str, str]:
    """A job that hangs until its time is up; meanwhile a second writer tries its cell."""
    limit = "generate:runtime=10*attempt-9"
    run = work.start("--profile", "slurm", CELL, *ON_CPUS, "--set-resources", limit)
    job, process = writer(work)
    os.kill(process, signal.SIGSTOP)
    path = first_journal(work)
    refusal = ""
    try:
        with Journal(path.parent, path.stem, logging.getLogger("second")):
            pass
    except JournalInUse as error:
        refusal = str(error)
    wait_for(lambda: slurm.job(job)["JobState"] == "TIMEOUT", 180)
    ended(work, run)
    return work, job, refusal


def out_of_memory(work: Workspace) -> Workspace:
    limit = "generate:mem_mb=500*attempt**3"
    ended(work, work.start("--profile", "slurm", CELL, *ON_CPUS, "--set-resources", limit))
    return work


def first_journal(work: Workspace) -> Path | None:
    """The journal with records in it, if there is one yet."""
    for path in sorted(work.results.glob("journal/*.jsonl")):
        if path.stat().st_size:
            return path
    return None


def writer(work: Workspace) -> tuple[str, int]:
    """Wait for the first record and return the Slurm job and the process that writes, by the lock."""
    path = wait_for(lambda: first_journal(work), 180)
    holder = path.with_suffix(".lock").read_text()
    process, job = re.fullmatch(r"process (\d+) on \S+, job (\d+)", holder).groups()
    return job, int(process)


def ended(work: Workspace, run: subprocess.Popen) -> None:
    """Wait for a run to end well."""
    try:
        status = run.wait(timeout=400)
    finally:
        run.terminate()
    assert status == 0, work.output[-6000:]


def job_of(work: Workspace, output: str = CELL) -> str:
    """The Slurm job that made an output, from its record."""
    path = work.folder / output
    return read_json(record_path(work.results, path))["volatile"]["slurm_job"]


def items_generated(work: Workspace) -> int:
    """How many items the job that finished the cell had to generate."""
    log = (work.results / "logs/generate/smollm2/bf16/gsm8k.log").read_text()
    return int(re.search(r"items: (\d+) to generate", log)[1])


def test_whole_chain_from_an_empty_home(runs, slurm):
    work = runs["whole"].result()
    for output in ("figures/retention.svg", "tables/small/cells.csv", "provenance/manifest.json"):
        assert (work.results / output).is_file()
    generate = slurm.job(job_of(work))
    assert generate["Partition"] == "gpu"
    assert generate["TresPerJob"] == "gres:gpu:a100:1"
    assert slurm.job(job_of(work, "results/tables/small/cells.csv"))["Partition"] == "cpu"
    assert job_of(work, "results/figures/retention.svg") is None


def test_small_jobs_share_an_allocation(runs):
    work = runs["whole"].result()
    jobs = {
        job_of(work, f"results/scores/smollm2/bf16/{task}/baseline.parquet")
        for task in SMALL["tasks"]
    }
    assert len(jobs) == 1


def test_cancelled_job_is_sent_again_and_resumes(runs):
    work, job = runs["scancel"].result()
    assert f"SLURM-job '{job}' failed, SLURM status is: 'CANCELLED'" in work.output
    assert job_of(work) != job
    assert 0 < items_generated(work) < 2 * ITEMS
    assert work.cells() == runs["local"].result().cells()


def test_requeued_job_resumes_as_the_same_job(runs, slurm):
    work, job = runs["requeue"].result()
    assert job_of(work) == job
    assert slurm.job(job)["Restarts"] == "1"
    assert 0 < items_generated(work) < 2 * ITEMS
    assert work.cells() == runs["local"].result().cells()


def test_job_out_of_time_is_sent_again_with_more_and_resumes(runs, slurm):
    work, job, _ = runs["timeout"].result()
    assert f"SLURM-job '{job}' failed, SLURM status is: 'TIMEOUT'" in work.output
    assert slurm.job(job)["TimeLimit"] == "00:01:00"
    assert slurm.job(job_of(work))["TimeLimit"] == "00:11:00"
    assert 0 < items_generated(work) < 2 * ITEMS
    assert work.cells() == runs["local"].result().cells()


def test_second_writer_is_refused_and_told_the_job(runs):
    _, job, refusal = runs["timeout"].result()
    assert re.search(rf"is being written by process \d+ on \S+, job {job};", refusal)


def test_job_out_of_memory_is_sent_again_with_more(runs, slurm):
    if not slurm.limits_memory:
        pytest.skip("the memory cgroup cannot be used here, so no job is held to its memory")
    work = runs["memory"].result()
    assert re.search(
        r"SLURM-job '\d+' failed, SLURM status is: '(FAILED|OUT_OF_MEMORY)'", work.output
    )
    assert slurm.job(job_of(work))["MinMemoryNode"] in ("4000M", "13500M")
    assert work.cells() == runs["local"].result().cells()
