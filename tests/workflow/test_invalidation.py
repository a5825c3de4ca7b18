"""What a change makes Snakemake do again, on a real model: that and nothing else."""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

from taboo.files import sha256_file
from taboo.provenance.records import read_record, recorded_outputs
from tests.workflow.workspace import Workspace

GENERATED = "results/small/cells/one/bf16/{task}/{condition}.parquet"


@pytest.fixture(scope="module")
def finished(smollm2_path, tmp_path_factory) -> Workspace:
    """A workspace whose study has been run."""
    workspace = Workspace(tmp_path_factory.mktemp("workspace"), smollm2_path)
    workspace.run()
    return workspace


@pytest.fixture(autouse=True)
def same_study_for_each_test(finished):
    before = copy.deepcopy(finished.config)
    yield
    finished.config = before


def cells(workspace: Workspace) -> dict[str, str]:
    folder = workspace.path("cells")
    return {str(p.relative_to(folder)): sha256_file(p) for p in sorted(folder.rglob("*.parquet"))}


def generate_log(workspace: Workspace, task: str) -> str:
    return workspace.path(f"logs/generate/one/bf16/{task}.log").read_text()


def test_nothing_to_do_after_a_finished_run(finished):
    assert finished.planned() == {}
    assert "Nothing to be done" in finished.run()


def test_finished_run_is_intact_back_to_the_weights(finished):
    workspace = finished.path("provenance/workflow")
    assert (workspace / "workflow/Snakefile").is_file()
    for arguments in ([], ["accuracy"], ["--json", "length"]):
        done = finished.taboo("audit", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    check = ["sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"]
    subprocess.run(check, cwd=finished.path(""), check=True)


def test_parameters_hold_no_place_on_this_machine(finished):
    for output in recorded_outputs(finished.path("")):
        record = read_record(finished.path(""), output)
        if record["rule"] != "fetch_model":  # the model of this study is named by its place
            assert str(finished.folder) not in json.dumps(record["params"])


def test_mirror_in_another_place_samples_nothing_and_other_items_do(finished, tmp_path):
    mirror = finished.folder / "config" / "demo_items"
    finished.config["mirror"] = str(shutil.copytree(mirror, tmp_path / "mirror"))
    assert finished.planned() == {}
    items = tmp_path / "mirror" / "gsm8k" / "test.jsonl"
    items.write_text(items.read_text().replace("2 + 3", "3 + 2"))
    jobs = finished.planned()
    assert [len(jobs[rule]) for rule in ("sample", "generate")] == [1, 1]
    assert "samples/gsm8k" in jobs["sample"][0]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("taboo/processor.py", "import torch\n", "import torch  # tensors\n"),
        ("taboo/scoring/gsm8k.py", '"""', '"""Another text. '),
        ("taboo/figures/accuracy.py", "\n\n\ndef ", "\n\n\n\n# a comment\ndef "),
    ],
)
def test_comments_docstrings_and_layout_make_nothing_again(finished, name, old, new):
    with finished.edited(name, lambda text: text.replace(old, new, 1)):
        assert finished.planned() == {}


def test_edited_figure_is_drawn_again_and_no_other(finished):
    with finished.edited("taboo/figures/accuracy.py", lambda text: text + "\nEXTRA = 1\n"):
        jobs = finished.planned()
    assert set(jobs) == {"figure"}
    assert len(jobs["figure"]) == 1
    assert "figures/accuracy.pdf" in jobs["figure"][0]


def test_edited_scorer_scores_its_task_again_and_generates_nothing(finished):
    with finished.edited("taboo/scoring/gsm8k.py", lambda text: text + "\nEXTRA = 1\n"):
        jobs = finished.planned()
    assert len(jobs["score"]) == 1
    assert "scores/one/bf16/gsm8k" in jobs["score"][0]
    assert not set(jobs) & {"fetch_model", "word_starts", "sample", "generate"}


def test_edited_prompt_samples_and_generates_its_task_again(finished):
    with finished.edited("taboo/tasks/prompts/triviaqa.txt", lambda text: "Facts.\n\n" + text):
        jobs = finished.planned()
    assert [len(jobs[rule]) for rule in ("sample", "generate", "score")] == [1, 1, 1]
    assert "samples/triviaqa" in jobs["sample"][0]
    assert "cells/one/bf16/triviaqa" in jobs["generate"][0]


def test_edited_processor_generates_every_cell_again(finished):
    with finished.edited("taboo/processor.py", lambda text: text + "\nEXTRA = 1\n"):
        jobs = finished.planned()
        outputs = " ".join(jobs["generate"])
        for task in ("gsm8k", "triviaqa"):
            for condition in ("baseline", "taboo_i1"):
                assert GENERATED.format(task=task, condition=condition) in outputs
        before = cells(finished)
        finished.run(GENERATED.format(task="triviaqa", condition="baseline"))
        assert "cells: 0 reused, 2 generated" in generate_log(finished, "triviaqa")
    finished.run()
    assert "cells: 2 reused, 0 generated" in generate_log(finished, "triviaqa")
    assert cells(finished) == before


def test_changed_pin_of_a_generating_package_generates_again(finished):
    with finished.edited(
        "envs/constraints.txt", lambda text: text.replace("transformers==", "transformers==9.")
    ):
        jobs = finished.planned()
    assert len(jobs["generate"]) == 2
    assert finished.planned() == {}


def test_removed_condition_generates_nothing_and_keeps_its_cells(finished):
    finished.study["conditions"].remove("taboo_i1")
    jobs = finished.planned()
    assert not set(jobs) & {"fetch_model", "word_starts", "sample"}
    assert finished.path("cells/one/bf16/gsm8k/taboo_i1.parquet").is_file()


def test_added_model_generates_its_cells_alone(finished):
    finished.run()  # whatever the tests before this one left
    finished.config["models"]["two"] = {**finished.config["models"]["one"]}
    finished.study["models"].append("two")
    jobs = finished.planned()
    assert len(jobs["generate"]) == 2
    assert all("cells/two/" in output for output in jobs["generate"])
    assert all("/two/" in output for output in jobs["fetch_model"] + jobs["score"])


def test_added_condition_generates_one_cell_per_group(finished):
    before = cells(finished)
    finished.study["conditions"].append("taboo_i2")
    finished.run(
        *(GENERATED.format(task=task, condition="taboo_i2") for task in ("gsm8k", "triviaqa"))
    )
    for task in ("gsm8k", "triviaqa"):
        assert "cells: 2 reused, 1 generated" in generate_log(finished, task)
    after = cells(finished)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 2


def test_larger_sample_generates_the_new_items_alone(finished):
    finished.study["tasks"]["triviaqa"] = 5
    finished.run(GENERATED.format(task="triviaqa", condition="baseline"))
    assert "items: 4 to generate" in generate_log(finished, "triviaqa")


def test_deleted_and_corrupted_outputs_are_reported_set_aside_and_made_again(finished):
    finished.run()  # whatever the tests before this one left
    before = cells(finished)
    names = [
        "cells/one/bf16/gsm8k/baseline.parquet",
        "scores/one/bf16/triviaqa/taboo_i1.parquet",
        "samples/triviaqa/n3.jsonl",
        "word_starts/one.safetensors",
        "tables/small/cells.csv",
        "tables/small/items.parquet",
        "figures/length.svg",
        "figures/accuracy.txt",
    ]
    good = {name: finished.path(name).read_bytes() for name in names}
    for name, content in good.items():
        path, middle = finished.path(name), len(content) // 2
        status = path.stat()
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    finished.path("cells/one/bf16/triviaqa/taboo_i1.parquet").unlink()
    dry = finished.snakemake("-n")
    printed = finished.run()
    for text in (dry.stdout + dry.stderr, printed):
        for name in names:
            assert f"{name}: it is not what was recorded" in text
    for name, content in good.items():
        assert finished.path(name).read_bytes() == content
    aside = [path for path in finished.path("damaged").rglob("*") if path.suffix != ".record"]
    assert len([path for path in aside if path.is_file()]) == len(names)
    for task in ("gsm8k", "triviaqa"):
        assert "cells: 2 reused, 0 generated" in generate_log(finished, task)
    assert cells(finished) == before
    assert finished.planned() == {}


def test_touched_output_makes_nothing_again(finished):
    os.utime(finished.path("cells/one/bf16/gsm8k/baseline.parquet"))
    assert "Nothing to be done" in finished.run()


def test_second_workflow_on_the_same_results_refuses_and_names_the_holder(finished):
    finished.path("figures/length.pdf").unlink()
    holder = (
        "import sys, time\nfrom taboo.provenance.hold import hold\n"
        "held = hold('results/small')\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", holder], cwd=finished.folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    try:
        refused = finished.snakemake("--cores", "1")
        assert refused.returncode != 0
        assert (
            f"results/small is in use by process {process.pid}" in refused.stdout + refused.stderr
        )
    finally:
        process.kill()
        process.wait()
    finished.run()
    assert finished.path("figures/length.pdf").is_file()


def test_workflow_killed_in_a_cell_goes_on_to_the_same_bytes(smollm2_path, tmp_path, finished):
    workspace = Workspace(tmp_path, smollm2_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(workspace.config))
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", "small.yaml"],
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = workspace.path("journal")
    while process.poll() is None and not any(
        path.stat().st_size > 0 for path in journal.glob("*.jsonl")
    ):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert workspace.snakemake("--unlock").returncode == 0
    workspace.run("--rerun-incomplete")
    whole = {name: digest for name, digest in cells(finished).items() if "i2" not in name}
    assert cells(workspace) == whole


def test_exported_results_come_back_and_only_an_edited_figure_is_drawn(
    smollm2_path, tmp_path, finished
):
    finished.run()  # whatever the tests before this one left
    archive = str(tmp_path / "results.tar")
    assert finished.taboo("export", archive).returncode == 0
    (tmp_path / "other").mkdir()
    other = Workspace(tmp_path / "other", smollm2_path)
    other.write_config()
    done = other.taboo("import", archive)
    assert done.returncode == 0, done.stdout + done.stderr
    assert other.planned() == {}
    with other.edited("taboo/figures/accuracy.py", lambda text: text + "\nEXTRA = 1\n"):
        jobs = other.planned()
        assert {rule: len(outputs) for rule, outputs in jobs.items()} == {"figure": 1}
        other.run()
    for name in ("figures/accuracy.pdf", "figures/accuracy.csv"):
        assert sha256_file(other.path(name)) == sha256_file(finished.path(name))


def test_config_errors_stop_before_anything_runs(finished):
    finished.config["studies"]["small"]["conditions"] = ["baseline", "taboo_x"]
    stopped = finished.snakemake("-n")
    assert stopped.returncode != 0
    assert (
        "studies.small.conditions: unknown condition 'taboo_x'" in stopped.stdout + stopped.stderr
    )
