"""A copy of the repository with a small study on one real model, for running Snakemake in."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
MODEL = {
    "family": "smollm2",
    "label": "SmolLM2",
    "size_b": 0.135,
    "alignment": "instruct",
    "licence": "Apache-2.0",
}


class Workspace:
    """A working copy in `folder`; `config` is the overlay, written anew before each call."""

    def __init__(self, folder: Path, model: Path):
        self.folder = folder
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")
        for name in filter(None, map(os.fsdecode, files)):
            if (ROOT / name).is_file() and not name.startswith("tests/"):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        self.config: dict[str, Any] = {
            "results": "results/small",
            "mirror": "config/demo_items",
            "run": ["small"],
            "engine": {"slots": 4},
            "models": {"one": {**MODEL, "source": {"path": str(model)}}},
            # The paper's data sets are pinned; the demo's items are others.
            "tasks": {
                name: {"max_new_tokens": 6, "revision": None, "records": None, "sha256": None}
                for name in ("gsm8k", "triviaqa")
            },
            "studies": {
                "small": {
                    "models": ["one"],
                    "precisions": ["bf16"],
                    "tasks": {"gsm8k": 3, "triviaqa": 3},
                    "conditions": ["baseline", "taboo_i1"],
                }
            },
        }
        self.config["figures"] = {name: {"studies": ["small"]} for name in ("accuracy", "length")}

    @property
    def study(self) -> dict[str, Any]:
        """The study in the overlay."""
        return self.config["studies"]["small"]

    def path(self, name: str) -> Path:
        """A file of the results."""
        return self.folder / self.config["results"] / name

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call Snakemake; the caller looks at its status."""
        self.write_config()
        command = [sys.executable, "-m", "snakemake", *arguments, "--configfile", "small.yaml"]
        return self._call(command)

    def taboo(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call a command of the library; the caller looks at its status."""
        command = [sys.executable, "-m", "taboo.cli", *arguments, "--config", "small.yaml"]
        return self._call(command)

    def write_config(self) -> None:
        """Write the overlay."""
        (self.folder / "small.yaml").write_text(yaml.safe_dump(self.config), encoding="utf-8")

    def _call(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = {
            k: v for k, v in os.environ.items() if k not in ("TABOO_MIRROR", "PYTHONPATH")
        }
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def run(self, *arguments: str) -> str:
        """Run the workflow to its end and return what it printed."""
        done = self.snakemake("--cores", "2", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self) -> dict[str, list[str]]:
        """The jobs of a dry run: for each rule the outputs, without what only sums up."""
        done = self.snakemake("-n")
        assert done.returncode == 0, done.stdout + done.stderr
        jobs: dict[str, list[str]] = {}
        text = done.stdout + done.stderr
        # The jobs of a group are indented below it.
        pattern = r"^ *(?:local)?rule (\w+):\n(?: *input:.*\n)? *output: (.*)$"
        for rule, output in re.findall(pattern, text, re.MULTILINE):
            if rule not in ("manifest", "site_figures", "site_pages"):
                jobs.setdefault(rule, []).append(output)
        return jobs

    @contextmanager
    def edited(self, name: str, edit: Callable[[str], str]) -> Iterator[None]:
        """Within the block, a file of the working copy is changed; its old times come back too."""
        path = self.folder / name
        old, status = path.read_text(encoding="utf-8"), path.stat()
        new = edit(old)
        assert new != old
        path.write_text(new, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(old, encoding="utf-8")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
