"""The sandbox process: one candidate program, run apart from the tests that judge it.

Started anew for every program as `python -s -S -P -B process.py`, with the standard library alone. It locks itself in, then forks an init process for the new pid namespace, which forks the candidate. The candidate gets the program and, call by call, arguments; what it returns comes back as plain data. The tests stay here, in a process that the candidate has no name for: so it can neither read the expected values nor touch the verdict, and an object that claims to equal everything never gets here.

Standard input: two frames (program; tests). Standard output: one frame with the verdict.
"""

import os
import signal
import sys
import time
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import frames
    import isolation
    import seccomp

    del sys.path[0]
else:  # imported for its path, and so that an edit of these files counts as an edit of the scorer
    from taboo.scoring.sandbox import frames, isolation, seccomp

# Errors that a denied call ends in.
_DENIED = {1, 13, 30, 97, 101, 113}  # EPERM, EACCES, EROFS, EAFNOSUPPORT, ENETUNREACH, EHOSTUNREACH


def main() -> None:
    """Read the program, lock in, start the candidate, read and run the tests, give the verdict."""
    program = frames.read_frame(0)
    channel = os.dup(1)
    try:
        _lock_in(program)
    except OSError as error:
        frames.write_frame(channel, {"outcome": "unavailable", "message": str(error)})
        return
    candidate = _start_candidate(program)
    frames.write_frame(channel, {"ready": True})
    try:
        tests = frames.read_frame(0)
        if program["isolate"]:
            seccomp.filter_calls()
        verdict = _judge(candidate, tests, time.monotonic() + program["timeout_s"])
    finally:
        candidate.kill()
    frames.write_frame(channel, verdict)


def _lock_in(program: dict[str, Any]) -> None:
    if program["isolate"]:
        isolation.enter_namespaces()
        isolation.restrict_files(isolation.enter_root())
    isolation.drop_privileges()
    isolation.set_limits(int(program["timeout_s"]) + 2, program["memory_mb"])
    isolation.die_with_parent()


# ---------------------------------------------------------------- the tests' side


class _Failed(BaseException):
    """The candidate did not return. No `Exception`, so that no test catches it."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


class _Candidate:
    """The candidate as the tests see it: a function whose calls run in the other process."""

    def __init__(self, process: int, calls: int, replies: int, group: bool) -> None:
        self._process, self._calls, self._replies = process, calls, replies
        self._kill = os.killpg if group else os.kill
        self.deadline = 0.0
        self._status: int | None = None

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            frames.write_frame(
                self._calls, {"args": frames.encode(args), "kwargs": frames.encode(kwargs)}
            )
        except (BrokenPipeError, ConnectionError):
            raise self._gone() from None
        reply = self.reply()
        return frames.decode(reply["value"])

    def reply(self) -> dict[str, Any]:
        """The next frame from the candidate; raises _Failed if it is an error or does not come."""
        try:
            reply = frames.read_frame(self._replies, self.deadline)
        except TimeoutError:
            raise _Failed("timeout", "no result within the time limit") from None
        except EOFError:
            raise self._gone() from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise _Failed("failed", f"the result can't be read: {error}") from None
        if "outcome" in reply:
            # Whatever the candidate may have written here, it can only fail.
            outcome = reply["outcome"]
            known = outcome if outcome in ("syntax_error", "forbidden") else "failed"
            raise _Failed(known, str(reply.get("message", ""))[:300])
        return reply

    def kill(self) -> int:
        """End the candidate and everything it started; the wait status of its first process."""
        if self._status is None:
            self._kill(self._process, signal.SIGKILL)
            self._status = os.waitpid(self._process, 0)[1]
        return self._status

    def _gone(self) -> _Failed:
        # How it ended may take a moment to be known.
        until = min(self.deadline, time.monotonic() + 1)
        while self._status is None and time.monotonic() < until:
            pid, status = os.waitpid(self._process, os.WNOHANG)
            if pid:
                self._status = status
            else:
                time.sleep(0.002)
        code = os.waitstatus_to_exitcode(self.kill())
        number = code - 128 if code > 128 else -code
        if number == signal.SIGXCPU:
            return _Failed("timeout", "out of processor time")
        how = f"signal {number}" if number > 0 else f"exit status {code}"
        return _Failed("failed", f"the program ended before the tests did ({how})")


def _judge(candidate: _Candidate, tests: dict[str, Any], deadline: float) -> dict[str, Any]:
    import random

    random.seed(0)  # some published tests draw their inputs
    candidate.deadline = deadline
    try:
        candidate.reply()
        space: dict[str, Any] = {"__name__": "tests"}
        exec(compile(tests["setup"], "<setup>", "exec"), space)
        space[tests["entry_point"]] = candidate  # for a test that calls it by name
        exec(compile(tests["test"], "<test>", "exec"), space)
        space["check"](candidate)
    except _Failed as failure:
        return {"outcome": failure.outcome, "message": str(failure)}
    except AssertionError as error:
        return {"outcome": "failed", "message": f"AssertionError: {error}"[:300]}
    except Exception as error:
        return {
            "outcome": "failed",
            "message": f"in the tests, {type(error).__name__}: {error}"[:300],
        }
    return {"outcome": "passed", "message": ""}


# ---------------------------------------------------------------- the candidate's side


def _start_candidate(program: dict[str, Any]) -> _Candidate:
    calls, calls_end = os.pipe()
    replies_end, replies = os.pipe()
    start = _be_init if program["isolate"] else _be_candidate
    process = os.fork()
    if process == 0:
        try:
            start(program, calls, replies)
        finally:
            os._exit(1)
    os.close(calls)
    os.close(replies)
    if not program["isolate"]:
        os.setpgid(process, process)
    return _Candidate(process, calls_end, replies_end, group=not program["isolate"])


def _be_init(program: dict[str, Any], calls: int, replies: int) -> None:
    """Process 1 of the candidate's namespace: when it goes, the kernel ends all the others."""
    isolation.die_with_parent()
    pid = os.fork()
    if pid == 0:
        try:
            _be_candidate(program, calls, replies)
        finally:
            os._exit(1)
    os.closerange(0, 256)
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _be_candidate(program: dict[str, Any], calls: int, replies: int) -> None:
    import random

    random.seed(0)
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    low, high = sorted((calls, replies))
    for first, last in ((3, low), (low + 1, high), (high + 1, 256)):
        os.closerange(first, last)
    if program["isolate"]:
        isolation.limit_processes(64)
        seccomp.filter_calls()
    for name in ("frames", "isolation", "seccomp"):
        del sys.modules[name]
    module = type(sys)("candidate")
    sys.modules["candidate"] = module
    space = module.__dict__
    frames.write_frame(replies, _define(program, space))
    function: Any = space[program["entry_point"]]
    while True:
        call = frames.read_frame(calls)
        try:
            value = function(*frames.decode(call["args"]), **frames.decode(call["kwargs"]))
            reply = {"value": frames.encode(value)}
        except BaseException as error:
            reply = _failure(error)
        frames.write_frame(replies, reply)


def _define(program: dict[str, Any], space: dict[str, Any]) -> dict[str, Any]:
    try:
        code = compile(program["source"], "<candidate>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        return {"outcome": "syntax_error", "message": f"{type(error).__name__}: {error}"}
    try:
        exec(code, space)
    except BaseException as error:
        return _failure(error)
    if not callable(space.get(program["entry_point"])):
        return {"outcome": "failed", "message": f"{program['entry_point']} is not defined"}
    return {}


def _failure(error: BaseException) -> dict[str, Any]:
    denied = isinstance(error, OSError) and error.errno in _DENIED
    try:
        text = f"{type(error).__name__}: {error}"[:300]
    except BaseException:
        text = type(error).__name__
    return {"outcome": "forbidden" if denied else "failed", "message": text}


if __name__ == "__main__":
    main()
