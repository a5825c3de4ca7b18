"""The Slurm profile, planned without a Slurm: what each job would ask for."""

import os
import re
import subprocess
import sys

import pytest

from tests.cluster.workspace import Workspace


@pytest.fixture
def plan(root, tmp_path):
    """The output of a dry run from the root with an empty home."""

    def run(*arguments: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "snakemake", "--dry-run", *arguments]
        environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run(
            [*command, "--config", f"results={tmp_path / 'results'}", "--nolock"],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
        )
        output = done.stdout + done.stderr
        assert done.returncode == status, output[-3000:]
        return output

    return run


def asked(output: str, rule: str) -> list[str]:
    """The resources of all jobs of a rule."""
    blocks = re.findall(rf"^(?:local)?rule {rule}\w*:\n((?:    .*\n)+)", output, re.MULTILINE)
    lines = [re.search(r"^    resources: (.*)$", block, re.MULTILINE)[1] for block in blocks]
    # Neither the jobs nor what each asks for come in an order of their own.
    return sorted(", ".join(sorted(line.split(", "))) for line in lines)


def test_generate_jobs_ask_for_a_card_and_no_other_job_does(plan):
    output = plan("--profile", "slurm")
    generate = asked(output, "generate")
    assert len(generate) > 100
    assert all("gpu=1," in line and "gpu_model=a100" in line for line in generate)
    assert all("slurm_partition=gpu" in line for line in generate)
    others = [
        line for rule in ("score", "summarise", "fetch_model") for line in asked(output, rule)
    ]
    assert others
    assert all("gpu=1" not in line and "slurm_partition=cpu" in line for line in others)


def test_each_model_gets_the_smallest_of_several_cards(plan):
    cards = "gpu_cards=a100:40:gpu h100:80:big"
    lines = asked(plan("--profile", "slurm", "--default-resources", cards), "generate")
    models = {
        model: sum(f"gpu_model={model}" in line for line in lines) for model in ("a100", "h100")
    }
    assert models["a100"] > models["h100"] > 0
    assert all(("gpu_model=h100" in line) == ("slurm_partition=big" in line) for line in lines)


def test_cells_that_fit_no_card_are_all_named_before_anything_runs(plan):
    cards = "gpu_cards=a100:40:gpu"
    output = plan("--profile", "slurm", "--default-resources", cards, status=1)
    assert "Some cells fit no card" in output
    for name in ("qwen2.5-72b in nf4", "llama-3.1-70b in nf4", "qwen2.5-14b in bf16"):
        assert re.search(rf"{re.escape(name)}: .* need \d+ GB .* a100 with 40 GB", output)


def test_without_cards_generation_is_planned_on_cpus(plan):
    output = plan("--profile", "slurm", "--default-resources", "slurm_partition=cpu")
    assert not any("gpu=1" in line for line in asked(output, "generate"))


CONTAINERS = ("--profile", "slurm", "--sdm", "apptainer", "--apptainer-args=--nv")


def test_jobs_in_containers_are_planned_as_without(plan):
    inside, outside = plan(*CONTAINERS), plan("--profile", "slurm")
    assert asked(inside, "generate") == asked(outside, "generate")
    assert asked(inside, "score") == asked(outside, "score")


def test_images_that_are_not_built_are_named_before_anything_runs(tmp_path):
    work = Workspace(tmp_path / "work", tmp_path, {"tasks": {"gsm8k": 2}, "tokens": 4})
    assert work.start(*CONTAINERS).wait(timeout=120) == 1
    for role in ("generate", "analyse"):
        command = (
            f"apptainer build --build-arg ROLE={role} containers/{role}.sif containers/taboo.def"
        )
        assert command in work.output
