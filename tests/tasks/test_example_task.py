"""The example of docs/tasks.md, added to a copy of the repository as the page says."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml

from taboo.files import read_jsonl
from tests.workflow.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, smollm2_path, root) -> Workspace:
    """A copy of the repository with the task, and a model that is already converted."""
    workspace = Workspace(tmp_path_factory.mktemp("workspace"), smollm2_path)
    folder = workspace.folder
    subprocess.run(["cp", "-r", *(folder / "docs/examples/boolq").iterdir(), folder], check=True)
    for name in ("taboo/tasks/__init__.py", "taboo/scoring/__init__.py"):
        replace(folder / name, '    "gsm8k",\n', '    "gsm8k",\n    "boolq",\n')
    schema = folder / "workflow/schemas/config.schema.yaml"
    replace(schema, "      ifeval: *task\n", "      ifeval: *task\n      boolq: *task\n")
    # The same model, already converted.
    overlay = folder / "config/boolq.yaml"
    settings = yaml.safe_load(overlay.read_text())
    settings["models"]["smollm2-135m-instruct"]["source"] = {"path": str(smollm2_path)}
    overlay.write_text(yaml.safe_dump(settings))
    return workspace


def replace(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def run(workspace, *command):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=workspace.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_is_as_short_as_the_page_says(root):
    files = ("tasks/boolq.py", "scoring/boolq.py")
    lines = sum(
        len((root / "docs/examples/boolq/taboo" / f).read_text().splitlines()) for f in files
    )
    assert lines <= 60


def test_the_example_is_sampled_generated_and_scored(workspace):
    target = "results/boolq/scores/smollm2-135m-instruct/bf16/boolq/taboo_i4.parquet"
    run(workspace, "snakemake", "--cores", "2", "--configfile", "config/boolq.yaml", "--", target)
    outcomes = pq.read_table(workspace.folder / target).column("outcome").to_pylist()
    assert len(outcomes) == 5
    assert set(outcomes) <= {"correct", "wrong", "unparsed"}
    (sample,) = workspace.folder.glob("results/boolq/samples/boolq/*.jsonl")
    assert all(line["prompt"].endswith("\nAnswer:") for line in read_jsonl(sample))


def test_texts_from_elsewhere_are_scored(workspace):
    items = "config/boolq_items/boolq/validation.jsonl"
    texts = [" yes", " No, it is not.", " It depends", "\nQuestion: is it\nAnswer: yes", " true"]
    lines = [
        {"item": item, "text": text}
        for item, text in zip(read_jsonl(workspace.folder / items), texts, strict=True)
    ]
    path = workspace.folder / "texts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = run(workspace, "taboo.cli", "score", "--task", "boolq", "--generations", str(path))
    outcomes = [json.loads(line)["outcome"] for line in shown.splitlines()]
    assert outcomes == ["correct", "correct", "unparsed", "unparsed", "correct"]
