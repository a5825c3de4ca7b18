"""The two scripts of the workflow on real files: what they write, what they skip, and what they never write."""

import logging
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taboo.cells import CELL_SCHEMA, cell_key, recipe_key
from taboo.files import canonical_json, read_json, read_jsonl, write_jsonl
from taboo.scoring import score
from taboo.scoring.table import write_scores
from taboo.stats.csvfile import read_csv
from tests.judge.endpoints import KEY
from tests.judge.fault_server import FaultServer

CONDITIONS = ("baseline", "taboo_i2")
RECORDS = [{"question": f"{i} + {i}?", "answer": f"#### {2 * i}"} for i in range(12)]


class Named(list[str]):
    """Named files, as Snakemake gives them."""

    def __init__(self, **files: Any):
        super().__init__()
        for name, value in files.items():
            setattr(self, name, value)
            self.extend(value if isinstance(value, list) else [value])
        self.get = files.get


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A results folder with a sample, two cells and their scores."""
    for name in ("GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    root = Path(__file__).parents[2]
    monkeypatch.setattr(sys, "path", [str(root / "scripts"), *sys.path])
    results = tmp_path / "results"
    ids = [f"gsm8k/{i}" for i in range(len(RECORDS))]
    lines = [{"item_id": name, "item": item} for name, item in zip(ids, RECORDS, strict=True)]
    write_jsonl(results / "samples/n12.jsonl", lines)
    for rank, condition in enumerate(CONDITIONS):
        texts = [f"Answer: {2 * i + (rank and i % 3)}" for i in range(len(RECORDS))]
        write_cell(results / f"cells/{condition}.parquet", ids, texts)
        verdicts = score("gsm8k", RECORDS, texts)
        write_scores(results / f"scores/{condition}.parquet", ids, verdicts)
    yield results
    # The scripts leave their log handlers to the end of their process.
    for handler in logging.getLogger().handlers[:]:
        if isinstance(handler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


def write_cell(path: Path, ids: list[str], texts: list[str]) -> None:
    """A cell file; the tokens do not matter here."""
    recipe: dict[str, Any] = {"test": True}
    columns: dict[str, list[Any]] = {
        "item_id": ids,
        "prompt_sha256": ["0" * 64] * len(ids),
        **{name: [[]] * len(ids) for name in ("token_ids", "nominal_ids", "delta_s", "intervened")},
        "text": texts,
        "finish_reason": ["eos"] * len(ids),
        "n_prompt_tokens": [1] * len(ids),
    }
    metadata = {
        "cell_key": cell_key(recipe_key(recipe), "s"),
        "recipe_key": recipe_key(recipe),
        "recipe": canonical_json(recipe).decode(),
        "sample_sha256": "s",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pydict(columns, schema=CELL_SCHEMA.with_metadata(metadata)), path)


def run_script(name: str, results: Path, inputs: Named, outputs: Named, params: Any) -> None:
    log = results / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    snakemake = SimpleNamespace(
        input=inputs,
        output=outputs,
        params=SimpleNamespace(**params, items=lambda: params.items()),
        log=[str(log)],
        rule=name,
        wildcards=SimpleNamespace(),
        threads=1,
        resources=SimpleNamespace(),
    )
    script = Path(__file__).parents[2] / "scripts" / f"{name}.py"
    runpy.run_path(str(script), init_globals={"snakemake": snakemake})


def run_judge(results: Path, provider: str, **changes: Any) -> None:
    cells = [
        {
            **{"study": "demo", "model": "m", "precision": "bf16", "task": "gsm8k"},
            **{"condition": condition, "n": 10},
        }
        for condition in CONDITIONS
    ]
    chosen = {
        **{"study": "demo", "tasks": {"gsm8k": 8}, "provider": provider, "model": "judge-1"},
        **{"served_by": "a test", "temperature": 0, "thinking": None, "max_new_tokens": 16},
        **{"concurrency": 2, "timeout_s": 5, "prices": {"input": 1, "output": 1}},
        **{"max_cost_usd": 1, "human_labels": None, "notice": None},
        **changes,
    }
    run_script(
        "judge",
        results,
        Named(
            samples=[str(results / "samples/n12.jsonl")],
            cells=[str(results / f"cells/{condition}.parquet") for condition in CONDITIONS],
            scores=[str(results / f"scores/{condition}.parquet") for condition in CONDITIONS],
        ),
        Named(
            judged=str(results / "judge/demo/judged.jsonl"),
            about=str(results / "judge/demo/about.json"),
        ),
        {"settings": chosen, "cells": cells, "seed": 1, "replies": str(results / "replies")},
    )


def run_agreement(results: Path, **human: str) -> str:
    folder = results / "judge/demo"
    outputs = {
        "agreement": results / "tables/demo/judge.csv",
        **{name: folder / f"{name}.csv" for name in ("disagreements", "human", "sheet")},
        "caption": folder / "summary.txt",
    }
    run_script(
        "agreement",
        results,
        Named(judged=str(folder / "judged.jsonl"), about=str(folder / "about.json"), **human),
        Named(**{name: str(path) for name, path in outputs.items()}),
        {"notice": "A notice."},
    )
    return (folder / "summary.txt").read_text()


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_judge_and_agreement_write_no_key_anywhere(
    provider: str,
    results: Path,
    fault_server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fault_server.address}/v1")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fault_server.address)
    fault_server.steps.extend(["echo key", 429, "bad json"])
    run_judge(results, provider)
    rows = read_jsonl(results / "judge/demo/judged.jsonl")
    assert [row["judge"] for row in rows].count("unparsed") >= 1
    assert {row["judge"] for row in rows} == {"right", "unparsed"}
    summary = run_agreement(results)
    assert summary.endswith("A notice.\n")
    assert "1 of 8 replies hold no verdict" in summary or "2 of 8" in summary
    table = read_csv(results / "tables/demo/judge.csv")
    assert list(table["group"]) == ["all", "baseline", "taboo", "taboo_i2"]
    records = list((results / "provenance/records").rglob("*.json"))
    assert len(records) == 7
    # A fault that lasts, too: the error goes to the log.
    fault_server.steps.extend([401] * 9)
    with pytest.raises(Exception, match="refused the key"):
        run_judge(results, provider, model="judge-1-001", tasks={"gsm8k": 9})
    written = everything_in(results) + "".join(capfd.readouterr()).encode()
    assert b"refused the key" in written
    assert KEY.encode() not in written
    assert str(fault_server.server_port).encode() not in everything_in(results / "judge")


def test_without_a_key_the_tables_are_empty_and_the_report_says_why(results: Path) -> None:
    run_judge(results, "gemini")
    about = read_json(results / "judge/demo/about.json")
    assert about["skipped"] == "GEMINI_API_KEY is not set"
    assert (results / "judge/demo/judged.jsonl").read_bytes() == b""
    assert "was not asked: GEMINI_API_KEY is not set" in run_agreement(results)
    table = read_csv(results / "tables/demo/judge.csv")
    assert len(table) == 0
    assert "agreement" in table


def test_the_same_bytes_from_the_kept_replies(
    results: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fault_server.address}/v1")
    run_judge(results, "openai")
    first, asked = everything_in(results / "judge"), len(fault_server.seen)
    monkeypatch.delenv("OPENAI_BASE_URL")
    run_judge(results, "openai")
    assert everything_in(results / "judge") == first
    assert len(fault_server.seen) == asked


def test_human_labels_are_compared_the_same_way(
    results: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{fault_server.address}/v1")
    run_judge(results, "openai")
    run_agreement(results)
    sheet = (results / "judge/demo/sheet.csv").read_text()
    labels = results / "labels.csv"
    labels.write_text(
        "\n".join(line + "wrong" if line.endswith(",") else line for line in sheet.splitlines())
    )
    summary = run_agreement(results, human=str(labels))
    human = read_csv(results / "judge/demo/human.csv")
    overall = human[human["group"] == "all"]
    assert list(zip(overall["first"], overall["second"], strict=True)) == [
        ("human", "scorer"),
        ("human", "judge"),
    ]
    assert list(overall["n"]) == [8, 8]
    assert "human and judge agree on 0 of 8" in summary
