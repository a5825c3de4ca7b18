"""Run programs that a model wrote against their tests, each in a sandbox process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from taboo.scoring.sandbox import process as sandbox_process
from taboo.scoring.sandbox.frames import pack, unpack

SANDBOXES = ("namespaces", "none")
OUTCOMES = ("passed", "failed", "syntax_error", "timeout", "forbidden")

_PROCESS = sandbox_process.__file__
# Time beyond the limit for start-up and for the sandbox process to end things by itself.
_GRACE_S = 20.0


class SandboxError(OSError):
    """The sandbox can't be had here, or a sandbox process did not answer. Nothing was scored."""


@dataclass(frozen=True)
class Program:
    """`source` defines `entry_point`. `setup` and `test` are the benchmark's own code: what the test needs, and a `check(candidate)` that raises if the candidate is wrong."""

    source: str
    entry_point: str
    setup: str
    test: str


@dataclass(frozen=True)
class Result:
    """`outcome` is one of OUTCOMES; `message` says why where it is not `passed`."""

    outcome: str
    message: str


def run_programs(
    programs: Sequence[Program],
    sandbox: str = "namespaces",
    timeout_s: float = 5.0,
    memory_mb: int = 1024,
    workers: int | None = None,
) -> list[Result]:
    """One result per program, in order, `workers` at a time (default: one per usable core).

    `timeout_s` is wall time for a program and its tests. Raises SandboxError where the sandbox can't be had; it is never left out silently: `sandbox="none"` runs the programs unprotected, as the user who runs this, and only for who asks for it.
    """
    if sandbox not in SANDBOXES:
        raise SandboxError(f"sandbox must be one of {', '.join(SANDBOXES)}, not {sandbox!r}")
    workers = workers or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(_run, program, sandbox == "namespaces", timeout_s, memory_mb)
            for program in programs
        ]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _run(program: Program, isolate: bool, timeout_s: float, memory_mb: int) -> Result:
    first = {
        "source": program.source,
        "entry_point": program.entry_point,
        "isolate": isolate,
        "timeout_s": timeout_s,
        "memory_mb": memory_mb,
    }
    message = pack(first) + pack(
        {"setup": program.setup, "test": program.test, "entry_point": program.entry_point}
    )
    # No -I: it would ignore the hash seed, and the order of sets would differ from run to run.
    process = subprocess.Popen(
        [sys.executable, "-s", "-S", "-P", "-B", _PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONHASHSEED": "0", "HOME": "/tmp", "LC_ALL": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(message, timeout=timeout_s + _GRACE_S)
    except subprocess.TimeoutExpired:
        # Its death ends the candidate's whole namespace.
        process.kill()
        process.communicate()
        return Result("timeout", "the tests did not end")
    frames = unpack(output)
    if not frames:
        lines = errors.decode(errors="replace").strip().splitlines() or ["no message"]
        raise SandboxError(f"a sandbox process ended with status {process.returncode}: {lines[-1]}")
    verdict = frames[-1]
    if verdict.get("outcome") == "unavailable":
        raise SandboxError(_advice(verdict["message"]))
    if "outcome" in verdict:
        return Result(verdict["outcome"], verdict["message"])
    # The tests broke off on what the program returned to them.
    outcome = "timeout" if process.returncode == -signal.SIGXCPU else "failed"
    return Result(outcome, f"the tests ended with status {process.returncode}")


def _advice(reason: str) -> str:
    return (
        f"programs can't be run in a sandbox here ({reason}). It needs user, mount, pid, network "
        "and ipc namespaces for ordinary users. Score on a node that has them (the sysctls "
        "user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns decide), or "
        "inside Apptainer, or start the container with a seccomp profile that allows unshare. "
        "Only if the machine is one that may be lost: `sandbox: none` runs the programs "
        "unprotected."
    )
