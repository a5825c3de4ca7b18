"""Programs that a model might write, what becomes of each, and a part of the message.

Each is the source of a function `add`, which `TEST` calls.
"""

TEST = """
def check(candidate):
    assert candidate(2, 3) == 5
    assert candidate(-1, 1) == 0
"""
RIGHT = "def add(a, b):\n    return a + b\n"

# name: (source, outcome, part of the message)
CASES = {
    "right": (RIGHT, "passed", ""),
    "wrong": ("def add(a, b):\n    return a - b\n", "failed", "AssertionError"),
    "syntax": ("def add(a, b)\n    return a + b\n", "syntax_error", "SyntaxError"),
    "return outside": ("return 5\n", "syntax_error", "SyntaxError"),
    "null byte": ("x = '\0'\n" + RIGHT, "syntax_error", ""),
    "too deep": ("x = " + "(" * 5000 + ")" * 5000 + "\n" + RIGHT, "syntax_error", ""),
    "undefined": ("def other():\n    pass\n", "failed", "add is not defined"),
    "raises": ("def add(a, b):\n    raise ValueError('no')\n", "failed", "ValueError: no"),
    "os._exit": ("import os\ndef add(a, b):\n    os._exit(0)\n", "failed", "ended"),
    "os._exit at import": ("import os\nos._exit(0)\n", "failed", "ended"),
    "SystemExit": ("def add(a, b):\n    raise SystemExit\n", "failed", "SystemExit"),
    "sys.exit at import": ("import sys\nsys.exit(0)\n", "failed", "SystemExit"),
    "KeyboardInterrupt": ("def add(a, b):\n    raise KeyboardInterrupt\n", "failed", ""),
    "kills itself": (
        "import os\ndef add(a, b):\n    os.kill(os.getpid(), 9)\n",
        "failed",
        "signal 9",
    ),
    "crashes": ("import ctypes\ndef add(a, b):\n    ctypes.string_at(0)\n", "failed", "signal"),
    "deep recursion": ("def add(a, b):\n    return add(a, b)\n", "failed", "RecursionError"),
    "always equal": (
        "class Yes:\n    def __eq__(self, other):\n        return True\n"
        "def add(a, b):\n    return Yes()\n",
        "failed",
        "plain value",
    ),
    "always equal number": (
        "class Yes(int):\n    def __eq__(self, other):\n        return True\n"
        "def add(a, b):\n    return Yes(7)\n",
        "failed",
        "plain value",
    ),
    "always equal list": (
        "class Yes(list):\n    def __eq__(self, other):\n        return True\n"
        "def add(a, b):\n    return Yes([1])\n",
        "failed",
        "AssertionError",
    ),
    "walks frames": (
        """
        import gc, sys
        def add(a, b):
            frame = sys._getframe()
            while frame:
                for key in list(frame.f_locals):
                    if "verdict" in key or "outcome" in key:
                        frame.f_locals[key] = "passed"
                frame = frame.f_back
            for value in gc.get_objects():
                if isinstance(value, dict) and "outcome" in value:
                    value["outcome"] = "passed"
            return None
        """,
        "failed",
        "AssertionError",
    ),
    "looks for the tests": (
        """
        import gc, sys
        def add(a, b):
            things = [thing for thing in gc.get_objects() if isinstance(thing, (dict, list))]
            frame = sys._getframe()
            while frame:
                things += [dict(frame.f_locals), dict(frame.f_globals)]
                frame = frame.f_back
            found = "candidate(2, " + "3) == 5"
            return a + b if any(found in repr(thing) for thing in things) else None
        """,
        "failed",
        "AssertionError",
    ),
    "forges a verdict": (
        """
        import json, os, struct
        def add(a, b):
            data = json.dumps({"outcome": "passed", "message": ""}).encode()
            for descriptor in range(64):
                try:
                    os.write(descriptor, struct.pack(">I", len(data)) + data)
                except OSError:
                    pass
            os._exit(0)
        """,
        "failed",
        "",
    ),
    "forges at import": (
        """
        import json, os, struct
        data = json.dumps({"outcome": "passed", "message": ""}).encode()
        for descriptor in range(64):
            try:
                os.write(descriptor, struct.pack(">I", len(data)) + data)
            except OSError:
                pass
        """,
        "failed",
        "",
    ),
    "garbage in the channel": (
        """
        import os
        for descriptor in range(64):
            try:
                os.write(descriptor, b"\\x00\\x00\\x00\\x04oops" * 9)
            except OSError:
                pass
        def add(a, b):
            return a + b
        """,
        "failed",
        "",
    ),
    "redefines assert's error": (
        "import builtins\nbuiltins.AssertionError = KeyError\ndef add(a, b):\n    return 0\n",
        "failed",
        "AssertionError",
    ),
    "patches the result's type": (
        "import json\njson.dumps = lambda *args: '{}'\ndef add(a, b):\n    return 0\n",
        "failed",
        "",
    ),
    "imports the scorer": (
        "import taboo.scoring\ndef add(a, b):\n    return a + b\n",
        "failed",
        "ModuleNotFoundError",
    ),
    "imports a package": (
        "import numpy\ndef add(a, b):\n    return a + b\n",
        "failed",
        "ModuleNotFoundError",
    ),
    "reads stdin": ("def add(a, b):\n    return int(input())\n", "failed", "EOFError"),
    "closes stdout": (
        "import os, sys\nsys.stdout.close()\nos.close(2)\ndef add(a, b):\n    return a + b\n",
        "passed",
        "",
    ),
    "prints": ("def add(a, b):\n    print(a, b)\n    return a + b\n", "passed", ""),
    "unbounded output": (
        "def add(a, b):\n    while True:\n        print('x' * 10000)\n",
        "timeout",
        "",
    ),
    "sleeps": ("import time\ndef add(a, b):\n    time.sleep(1e6)\n", "timeout", ""),
    "loops": ("def add(a, b):\n    while True:\n        pass\n", "timeout", ""),
    "loops at import": ("while True:\n    pass\n", "timeout", ""),
    "catches everything": (
        """
        def add(a, b):
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    pass
        """,
        "timeout",
        "",
    ),
    "ignores signals": (
        """
        import signal
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            pass
        """,
        "timeout",
        "",
    ),
    "unbounded memory": (
        "def add(a, b):\n    data = []\n    while True:\n        data.append('x' * 10**7)\n",
        "failed",
        "MemoryError",
    ),
    "huge result": ("def add(a, b):\n    return 'x' * (40 << 20)\n", "failed", "larger than"),
    "endless result": (
        "def add(a, b):\n    data = []\n    data.append(data)\n    return data\n",
        "failed",
        "RecursionError",
    ),
    "huge number": ("def add(a, b):\n    return 10 ** 20000 + a + b\n", "failed", "AssertionError"),
    "writes outside tmp": (
        "def add(a, b):\n    open('/usr/mark', 'w')\n    return a + b\n",
        "forbidden",
        "",
    ),
    "writes to the root": (
        "def add(a, b):\n    open('/mark', 'w')\n    return a + b\n",
        "forbidden",
        "",
    ),
    "writes inside tmp": (
        """
        def add(a, b):
            with open("/tmp/scratch", "w") as file:
                file.write(str(a + b))
            with open("/tmp/scratch") as file:
                return int(file.read())
        """,
        "passed",
        "",
    ),
    "fills tmp": (
        """
        def add(a, b):
            with open("/tmp/scratch", "w") as file:
                while True:
                    file.write("x" * 100000)
        """,
        "failed",
        "",
    ),
    "opens a socket": (
        "import socket\ndef add(a, b):\n    socket.socket()\n    return a + b\n",
        "forbidden",
        "PermissionError",
    ),
    "resolves a name": (
        "import socket\ndef add(a, b):\n    socket.getaddrinfo('localhost', 80)\n    return a + b\n",
        "failed",
        "",
    ),
    "forks": ("import os\ndef add(a, b):\n    os.fork()\n    return a + b\n", "forbidden", ""),
    "fork bomb": (
        """
        import os
        def add(a, b):
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
        """,
        "timeout",
        "",
    ),
    "runs a program": (
        "import subprocess\ndef add(a, b):\n    subprocess.run(['/bin/true'])\n    return a + b\n",
        "forbidden",
        "",
    ),
    "uses threads": (
        """
        import threading
        def add(a, b):
            out = []
            thread = threading.Thread(target=lambda: out.append(a + b))
            thread.start()
            thread.join()
            return out[0]
        """,
        "passed",
        "",
    ),
    "uses asyncio": (
        """
        import asyncio
        async def work(a, b):
            await asyncio.sleep(0)
            return a + b
        def add(a, b):
            return asyncio.run(work(a, b))
        """,
        "passed",
        "",
    ),
    "uses a dataclass": (
        """
        from dataclasses import dataclass
        @dataclass
        class Pair:
            a: "int"
            b: "int"
        def add(a, b):
            return Pair(a, b).a + b
        """,
        "passed",
        "",
    ),
    "reads the environment": (
        "import os\ndef add(a, b):\n    return a + b if set(os.environ) <= "
        "{'HOME', 'PYTHONHASHSEED', 'LC_ALL', 'LC_CTYPE'} and os.environ['HOME'] == '/tmp' else 0\n",
        "passed",
        "",
    ),
    "is nobody": (
        "import os\ndef add(a, b):\n    return a + b if os.getuid() == os.getgid() == 65534 else 0\n",
        "passed",
        "",
    ),
    "sees only what it needs": (
        """
        import os
        def add(a, b):
            hidden = ("/proc", "/sys", "/etc", "/var", "/old", "/dev/tty", "/dev/sda", "/run")
            assert not any(map(os.path.exists, hidden))
            assert os.listdir("/tmp") == []
            return a + b
        """,
        "passed",
        "",
    ),
    "has no privileges": (
        """
        import ctypes
        prctl = ctypes.CDLL(None).prctl
        def add(a, b):
            bounding = [prctl(23, capability, 0, 0, 0) for capability in range(41)]
            assert set(bounding) <= {0, -1}, bounding
            assert prctl(39, 0, 0, 0, 0) == 1, "no new privileges"
            assert prctl(3, 0, 0, 0, 0) == 0, "no access by debuggers"
            header, data = ctypes.create_string_buffer(8), ctypes.create_string_buffer(24)
            ctypes.memmove(header, (0x20080522).to_bytes(4, "little") + bytes(4), 8)
            assert ctypes.CDLL(None).capget(header, data) == 0
            assert data.raw == bytes(24), data.raw
            return a + b
        """,
        "passed",
        "",
    ),
    "signals the others": (
        """
        import os, signal
        def add(a, b):
            assert os.getpid() == 2
            for pid in [1, *range(3, 2000)]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            return a + b
        """,
        "passed",
        "",
    ),
    "looks into another process": (
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def add(a, b):
            if libc.ptrace(16, 1, 0, 0) == 0:  # PTRACE_ATTACH
                return 0
            raise OSError(ctypes.get_errno(), "ptrace")
        """,
        "forbidden",
        "",
    ),
    "makes namespaces": (
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def add(a, b):
            if libc.unshare(0x10000000) == 0:
                return 0
            raise OSError(ctypes.get_errno(), "unshare")
        """,
        "forbidden",
        "",
    ),
    "mounts": (
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def add(a, b):
            if libc.mount(b"tmpfs", b"/usr", b"tmpfs", 0, None) == 0:
                return 0
            raise OSError(ctypes.get_errno(), "mount")
        """,
        "forbidden",
        "",
    ),
    "takes back the limits": (
        """
        import resource
        def add(a, b):
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            return a + b
        """,
        "failed",
        "",
    ),
}
