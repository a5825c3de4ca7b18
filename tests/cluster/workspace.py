"""A copy of the project in a folder of its own, with a small study, to run Snakemake in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "*.sif", "bench", "build", "docs", "results", "tests"
)


class Workspace:
    """A runnable copy of the project whose only model is a snapshot that is already on disk."""

    def __init__(self, folder: Path, model: Path, study: dict):
        self.folder = folder
        self.results = folder / "results"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        (folder / "home").mkdir()
        overlay = {
            "mirror": "config/demo_items",
            "run": ["small"],
            "engine": {"slots": 2},
            "models": {
                "smollm2": {
                    "source": {"path": str(model)},
                    "family": "smollm2",
                    "label": "SmolLM2",
                    "size_b": 0.135,
                    "alignment": "base",
                    "licence": "Apache-2.0",
                }
            },
            "tasks": {
                task: {"max_new_tokens": study["tokens"], "revision": None, "records": None,
                       "sha256": None}
                for task in study["tasks"]
            },
            "studies": {
                "small": {
                    "models": ["smollm2"],
                    "precisions": ["bf16"],
                    "tasks": study["tasks"],
                    "conditions": ["baseline", "taboo_i2"],
                }
            },
            "figures": {"retention": {"studies": ["small"]}},
        }  # fmt: skip
        (folder / "small.yaml").write_text(yaml.safe_dump(overlay))

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the commands: an empty home, one thread, nothing of the caller's Slurm."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SNAKEMAKE_"))}
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.folder / "home" / "cache"),
            "OMP_NUM_THREADS": "1",
        }

    def command(self, *arguments: str) -> list[str]:
        """The command line of a Snakemake run of the small study."""
        return [sys.executable, "-m", "snakemake", "--configfile", "small.yaml", *arguments]

    def start(self, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.Popen:
        """Start a Snakemake run; its output goes to `snakemake.log`."""
        with open(self.folder / "snakemake.log", "ab") as log:
            return subprocess.Popen(
                [*before, *self.command(*arguments)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def taboo(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call a command of the library on the small study."""
        return subprocess.run(
            [sys.executable, "-m", "taboo.cli", *arguments, "--config", "small.yaml"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )

    @property
    def output(self) -> str:
        """What Snakemake printed so far."""
        return (self.folder / "snakemake.log").read_text(errors="replace")

    def cells(self) -> dict[str, bytes]:
        """The bytes of all cell files, by their path."""
        folder = self.results / "cells"
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")
        }
