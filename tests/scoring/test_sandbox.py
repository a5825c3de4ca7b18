"""What a candidate program can and can't do. Every program here runs in the real sandbox."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from taboo.scoring.sandbox import Program, SandboxError, run_programs
from tests.scoring.programs import CASES, RIGHT, TEST


@pytest.fixture(scope="module")
def results():
    return run_cases(CASES)


def run_cases(names, sandbox="namespaces"):
    """Outcomes by name. Only those that are to run into the time limit get a short one, so that a busy machine changes no outcome."""
    found = {}
    for in_time, timeout_s in ((True, 60.0), (False, 2.0)):
        chosen = [name for name in names if (CASES[name][1] != "timeout") == in_time]
        programs = [Program(textwrap.dedent(CASES[name][0]), "add", "", TEST) for name in chosen]
        done = run_programs(programs, sandbox=sandbox, timeout_s=timeout_s, memory_mb=256)
        found |= zip(chosen, done, strict=True)
    return found


@pytest.mark.parametrize("name", CASES)
def test_outcome(results, name):
    _, outcome, message = CASES[name]
    assert results[name].outcome == outcome, results[name]
    assert message in results[name].message


LAYERS = {
    "namespaces and mounts": (
        "isolation.enter_namespaces()\nisolation.enter_root()",
        "denied(lambda: open('/usr/mark', 'w'), 30)\ndenied(lambda: open('/mark', 'w'), 30)\n"
        "denied(lambda: open('/etc/passwd'), 2)\nopen('/tmp/mark', 'w')\n"
        "denied(lambda: open(sys.base_prefix + '/mark', 'w'), 30)\n"
        "denied(lambda: socket.create_connection(('127.0.0.1', 9), 1), 101)",
    ),
    "landlock": (
        "assert isolation.restrict_files(['/usr', sys.base_prefix])",
        "denied(lambda: open('/etc/passwd'), 13)\ndenied(lambda: os.listdir('/'), 13)\n"
        "denied(lambda: open('/usr/mark', 'w'), 13)\nos.listdir('/usr')\n"
        "os.close(os.open('/dev/null', os.O_WRONLY))",
    ),
    "seccomp": (
        "isolation.drop_privileges()\nassert seccomp.filter_calls()",
        "denied(os.fork, 1)\ndenied(lambda: socket.socket(), 1)\n"
        "denied(lambda: os.execv('/bin/true', ['true']), 1)\ndenied(lambda: os.chroot('/'), 1)\n"
        "thread = threading.Thread(target=print)\nthread.start()\nthread.join()\n"
        "socket.socketpair()",
    ),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_each_layer_holds_without_the_others(layer, tmp_path, root):
    enter, attempts = LAYERS[layer]
    if layer == "landlock" and not _has_landlock():
        pytest.skip("this kernel has no Landlock")
    script = tmp_path / "layer.py"
    script.write_text(
        "import encodings.idna, os, socket, sys, threading\n"
        "from taboo.scoring.sandbox import isolation, seccomp\n"
        "def denied(call, number):\n    try:\n        call()\n    except OSError as error:\n"
        "        assert error.errno == number, error\n    else:\n"
        "        raise AssertionError('not denied')\n"
        f"{enter}\n{attempts}\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _has_landlock():
    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


def test_plain_values_keep_their_types():
    values = [None, True, 0, -(10**50), 0.1, float("inf"), 1j, "a\ud800\n", b"\0", [1, (2, {3})]]
    values += [{(1, "x"): [None], 2: {}}, frozenset({1}), bytearray(b"x")]
    test = (
        f"inf = float('inf')\nVALUES = {values!r}\ndef check(candidate):\n"
        "    for value in VALUES:\n        result = candidate(value)\n"
        "        assert result == value and repr(result) == repr(value), value\n"
    )
    program = Program("def same(x):\n    return x\n", "same", "", test)
    assert run_programs([program])[0].outcome == "passed"


def test_exact_numbers_and_subclasses_of_dict():
    source = (
        "from collections import Counter\nfrom fractions import Fraction\n"
        "def count(text):\n    return Counter(text), Fraction(1, 3)\n"
    )
    test = (
        "from fractions import Fraction\ndef check(candidate):\n"
        "    assert candidate('aab') == ({'a': 2, 'b': 1}, Fraction(1, 3))\n"
    )
    assert run_programs([Program(source, "count", "", test)])[0].outcome == "passed"


def test_keyword_arguments():
    program = Program(RIGHT, "add", "", "def check(f):\n    assert f(a=1, b=2) == 3\n")
    assert run_programs([program])[0].outcome == "passed"


def test_the_order_of_sets_is_the_same_every_time():
    """A program whose result depends on the order of a set gets one verdict, not a coin toss."""
    source = "def first(words):\n    return list(set(words))[0]\n"
    words = [f"word{number}" for number in range(50)]
    test = f"def check(candidate):\n    raise Exception(candidate({words!r}))\n"
    results = run_programs([Program(source, "first", "", test)] * 12)
    assert len({result.message for result in results}) == 1


def test_random_numbers_are_the_same_every_time():
    source = "import random\ndef draw():\n    return random.random()\n"
    test = "def check(candidate):\n    raise Exception(candidate())\n"
    results = run_programs([Program(source, "draw", "", test)] * 6)
    assert len({result.message for result in results}) == 1


def test_tests_that_choke_on_a_result_are_a_verdict():
    test = "def check(candidate):\n    while candidate():\n        pass\n"
    program = Program("def always():\n    return 1\n", "always", "", test)
    assert run_programs([program], timeout_s=1.0)[0].outcome == "timeout"


def test_tests_that_compute_for_ever_on_a_result_are_a_verdict():
    test = "def check(candidate):\n    n = candidate()\n    while n:\n        pass\n"
    program = Program("def always():\n    return 1\n", "always", "", test)
    assert run_programs([program], timeout_s=1.0)[0].outcome == "timeout"


def test_nothing_is_left_when_the_scorer_is_killed(tmp_path, root):
    """The candidate ignores every signal and has undone its own tie to its parent."""
    mark = f"mark-{os.getpid()}-{time.time_ns()}"
    script = tmp_path / "scorer.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from taboo.scoring.sandbox import Program, run_programs
            source = '''
            import ctypes
            ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
            ctypes.CDLL(None).prctl(15, b"{mark[:15]}", 0, 0, 0)  # PR_SET_NAME
            while True:
                pass
            '''
            import textwrap
            run_programs([Program(textwrap.dedent(source), "f", "", "")], timeout_s=60)
            """
        )
    )
    scorer = subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": str(root)})
    try:
        assert _wait_for(lambda: mark[:15] in _process_names())
    finally:
        scorer.send_signal(signal.SIGKILL)
        scorer.wait()
    assert _wait_for(lambda: mark[:15] not in _process_names())


def _process_names():
    names = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(path.read_text().strip())
        except OSError:
            continue
    return names


def _wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_it_fails_closed_and_says_what_to_do(tmp_path, root):
    """In a user namespace that may have no more namespaces inside, nothing is scored."""
    script = tmp_path / "scorer.py"
    script.write_text(
        textwrap.dedent(
            """
            import ctypes, os
            from taboo.scoring.sandbox import Program, SandboxError, run_programs
            assert ctypes.CDLL(None).unshare(0x10000000) == 0
            with open("/proc/sys/user/max_user_namespaces", "w") as file:
                file.write("0")
            program = Program("def f():\\n    return 1", "f", "", "def check(f):\\n    assert f()")
            try:
                run_programs([program])
            except SandboxError as error:
                print(error)
            else:
                raise SystemExit("it ran")
            """
        )
    )
    # One user namespace around it gives the right to forbid further ones, without touching ours.
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for word in ("Apptainer", "max_user_namespaces", "sandbox: none"):
        assert word in done.stdout


def test_an_ordinary_user_has_the_same_sandbox(root):
    """Where the tests run as root, they also run a few programs as somebody else."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0:
        pytest.skip("all tests of this file already ran as an ordinary user")
    version = subprocess.run([python, "-c", _IS_RECENT], capture_output=True, check=False)
    if version.returncode != 0:
        pytest.skip(f"{python}, which an ordinary user can read, is older than 3.11")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(root / "taboo", f"{folder}/taboo")
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        names = ("right", "wrong", "forks", "opens a socket", "uses threads", "fork bomb")
        sources = [textwrap.dedent(CASES[name][0]) for name in names] + [MANY_THREADS]
        command = (
            "import os\nfrom taboo.scoring.sandbox import Program, run_programs\n"
            f"programs = [Program(source, 'add', '', {TEST!r}) for source in {sources!r}]\n"
            "print(os.getuid(), *(r.outcome for r in run_programs(programs, timeout_s=10.0)))\n"
        )
        done = subprocess.run(
            ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", python, "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["12345", *(CASES[name][1] for name in names), "failed"]


MANY_THREADS = """
import threading
threading.stack_size(1 << 18)
def add(a, b):
    done = threading.Event()
    for _ in range(100):
        threading.Thread(target=done.wait).start()
    done.set()
    return a + b
"""
_IS_RECENT = "import sys; sys.exit(sys.version_info < (3, 11))"


def test_none_must_be_said_in_so_many_words():
    program = Program(RIGHT, "add", "", TEST)
    assert run_programs([program], sandbox="none")[0].outcome == "passed"
    for word in ("", "None", "off", "no", "NONE"):
        with pytest.raises(SandboxError, match="must be one of namespaces, none"):
            run_programs([program], sandbox=word)


def test_without_a_sandbox_the_limits_and_the_verdicts_still_hold():
    names = ("wrong", "syntax", "os._exit", "always equal", "forges a verdict", "loops", "sleeps")
    names += ("unbounded memory", "reads stdin", "imports the scorer")
    results = run_cases(names, sandbox="none")
    assert {name: results[name].outcome for name in names} == {
        name: CASES[name][1] for name in names
    }
