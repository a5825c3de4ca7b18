"""Write the locks: `make lock`. For each role, from `<role>.txt` and constraints.txt:

- `<role>.lock`: every package with its version and the sha256 of its files, for Linux x86-64 and Python 3.12, as the public index has them (torch is its CUDA build);
- `<role>.yaml`: the same pins for users of conda.

Needs the network and uv (`pip install uv`).
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROLES = ("analyse", "generate", "judge")


def lock(role: str) -> str:
    """The text of a role's lock."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "compile"),
            *("--quiet", "--no-config", "--no-header", "--no-annotate", "--generate-hashes"),
            *("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_28"),
            *("--constraint", "constraints.txt", f"{role}.txt"),
        ],
        cwd=HERE,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return f"# Written by `make lock` for Linux x86-64 and Python 3.12.\n{done.stdout}"


def conda_environment(text: str) -> str:
    """The pins of a lock as an environment of conda."""
    pins = re.findall(r"^(\S+==[^\s;]+)", text, flags=re.MULTILINE)
    lines = [
        "# Written by `make lock`.",
        "channels: [conda-forge]",
        "dependencies:",
        "  - python=3.12",
        "  - pip",
        "  - pip:",
        "      - --no-deps",
        *(f"      - {pin}" for pin in pins),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for role in ROLES:
        text = lock(role)
        (HERE / f"{role}.lock").write_text(text)
        (HERE / f"{role}.yaml").write_text(conda_environment(text))
