"""Check that an image holds exactly the versions of its lock: `python check.py LOCK`."""

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def differences(lock: str) -> list[str]:
    """One line for each package that is missing or has another version than the lock says."""
    found = []
    for name, wanted in PIN.findall(lock):
        try:
            # A build of the same version for another device has a local part: 2.13.0+cpu.
            installed = version(name).partition("+")[0]
        except PackageNotFoundError:
            installed = "missing"
        if installed != wanted:
            found.append(f"{name}: locked {wanted}, installed {installed}")
    return found


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    wrong = differences(text)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(PIN.findall(text))} packages as locked")
