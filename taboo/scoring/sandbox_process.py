"""The sandbox process: one candidate program, run apart from the tests that judge it.

Started anew for every program as `python -s -S -P -B sandbox_process.py`, with the standard library alone. It locks itself in, then forks an init process for the new pid namespace, which forks the candidate. The candidate gets the program and, call by call, arguments; what it returns comes back as plain data. The tests stay here, in a process that the candidate has no name for: so it can neither read the expected values nor touch the verdict, and an object that claims to equal everything never gets here.

Standard input: two frames (program; tests). Standard output: one frame with the verdict.
"""

import json
import os
import select
import signal
import struct
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import isolation

    del sys.path[0]
else:  # imported for its path, and so that an edit of either file counts as an edit of the scorer
    from taboo.scoring import isolation

_MAX_FRAME = 16 << 20
# Errors that a denied call ends in.
_DENIED = {1, 13, 30, 97, 101, 113}  # EPERM, EACCES, EROFS, EAFNOSUPPORT, ENETUNREACH, EHOSTUNREACH


def main() -> None:
    """Read the program, lock in, start the candidate, read and run the tests, give the verdict."""
    program = _read_frame(0)
    channel = os.dup(1)
    try:
        _lock_in(program)
    except OSError as error:
        _write_frame(channel, {"outcome": "unavailable", "message": str(error)})
        return
    candidate = _start_candidate(program)
    _write_frame(channel, {"ready": True})
    try:
        tests = _read_frame(0)
        if program["isolate"]:
            isolation.filter_calls()
        verdict = _judge(candidate, tests, time.monotonic() + program["timeout_s"])
    finally:
        candidate.kill()
    _write_frame(channel, verdict)


def _lock_in(program: dict) -> None:
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
            _write_frame(self._calls, {"args": _encode(args), "kwargs": _encode(kwargs)})
        except (BrokenPipeError, ConnectionError):
            raise self._gone() from None
        reply = self.reply()
        return _decode(reply["value"])

    def reply(self) -> dict:
        """The next frame from the candidate; raises _Failed if it is an error or does not come."""
        try:
            reply = _read_frame(self._replies, self.deadline)
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


def _judge(candidate: _Candidate, tests: dict, deadline: float) -> dict:
    import random

    random.seed(0)  # some published tests draw their inputs
    candidate.deadline = deadline
    try:
        candidate.reply()
        space: dict = {"__name__": "tests"}
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


def _start_candidate(program: dict) -> _Candidate:
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


def _be_init(program: dict, calls: int, replies: int) -> None:
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


def _be_candidate(program: dict, calls: int, replies: int) -> None:
    import random

    random.seed(0)
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    for descriptor in range(3, 256):
        if descriptor not in (calls, replies):
            try:
                os.close(descriptor)
            except OSError:
                pass
    if program["isolate"]:
        isolation.limit_processes(64)
        isolation.filter_calls()
    del sys.modules["isolation"]
    _write_frame(replies, _define(program, space := {"__name__": "candidate"}))
    function = space.get(program["entry_point"])
    while True:
        call = _read_frame(calls)
        try:
            value = function(*_decode(call["args"]), **_decode(call["kwargs"]))
            reply = {"value": _encode(value)}
        except BaseException as error:
            reply = _failure(error)
        _write_frame(replies, reply)


def _define(program: dict, space: dict) -> dict:
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


def _failure(error: BaseException) -> dict:
    denied = isinstance(error, OSError) and error.errno in _DENIED
    try:
        text = f"{type(error).__name__}: {error}"[:300]
    except BaseException:
        text = type(error).__name__
    return {"outcome": "forbidden" if denied else "failed", "message": text}


# ---------------------------------------------------------------- frames of plain values


def _encode(value: object) -> list:
    """A value as JSON that `_decode` gives back with the same types; TypeError for any other type."""
    if value is None:
        return ["none"]
    for kind, tag in ((bool, "bool"), (str, "str")):
        if type(value) is kind:
            return [tag, value]
    if type(value) is int:
        return ["int", hex(value)]
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if type(value) in (bytes, bytearray):
        return [type(value).__name__, value.hex()]
    for base in (list, tuple, set, frozenset):
        if isinstance(value, base):
            return [base.__name__, [_encode(entry) for entry in base.__iter__(value)]]
    if isinstance(value, dict):
        return ["dict", [[_encode(key), _encode(entry)] for key, entry in dict.items(value)]]
    if type(value).__module__ in ("fractions", "decimal") and type(value).__name__ in _EXACT:
        return [type(value).__name__, str(value)]
    raise TypeError(f"a result of type {type(value).__name__} is no plain value")


_EXACT = ("Fraction", "Decimal")


def _decode(data: list) -> object:
    tag, *rest = data
    if tag == "none":
        return None
    value = rest[0]
    if tag in ("bool", "str"):
        return value
    if tag == "int":
        return int(value, 16)
    if tag == "float":
        return float.fromhex(value)
    if tag == "complex":
        return complex(*map(float.fromhex, rest))
    if tag in ("bytes", "bytearray"):
        return {"bytes": bytes, "bytearray": bytearray}[tag].fromhex(value)
    if tag == "dict":
        return {_decode(key): _decode(entry) for key, entry in value}
    if tag in _EXACT:
        import decimal
        import fractions

        return {"Fraction": fractions.Fraction, "Decimal": decimal.Decimal}[tag](value)
    entries = [_decode(entry) for entry in value]
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[tag](entries)


def _write_frame(descriptor: int, value: dict) -> None:
    data = json.dumps(value).encode()
    view = memoryview(struct.pack(">I", len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read_frame(descriptor: int, deadline: float | None = None) -> dict:
    (size,) = struct.unpack(">I", _read_exactly(descriptor, 4, deadline))
    if size > _MAX_FRAME:
        raise ValueError(f"larger than {_MAX_FRAME >> 20} MB")
    value = json.loads(_read_exactly(descriptor, size, deadline))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _read_exactly(descriptor: int, size: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
        part = os.read(descriptor, min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


if __name__ == "__main__":
    main()
