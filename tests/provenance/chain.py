"""A results folder with one of everything, from weights to a figure, made without a model."""

import logging
import shutil
from dataclasses import asdict
from pathlib import Path

from taboo.cells import Journal, cell_key, recipe_key, write_cell
from taboo.conditions import Condition
from taboo.engine.base import Generation
from taboo.files import sha256_file, sha256_json, sha256_text, write_bytes, write_json, write_jsonl
from taboo.generation import recipe
from taboo.judge.provider import Reply
from taboo.judge.replies import Replies, reply_key
from taboo.provenance.records import input_digests, write_records
from taboo.scoring.base import Verdict
from taboo.scoring.table import write_scores

LOG = logging.getLogger("taboo.test")
PACKAGES = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "transformers": None}


def made(results: Path, rule: str, inputs: list[str], outputs: list[str], **facts) -> None:
    """Record outputs as a job would."""
    write_records(
        results,
        rule,
        input_digests(results, [results / name for name in inputs]),
        [results / name for name in outputs],
        {"code": "c" * 64, "seed": 7},
        facts,
        {"packages": PACKAGES, "container": None},
        {"started": 1.8e9, "seconds": 2.0, "code": {"commit": "abc", "changed": False}},
    )


def make_results(results: Path, token: int = 5, machine: str = "cpu") -> Path:
    """A model, two conditions, three items, a table and a figure. `token` is the last one generated."""
    write_bytes(results / "snapshots/one/files/model.safetensors", b"weights" * 50)
    write_bytes(results / "snapshots/one/files/config.json", b"{}")
    files = {
        name: {
            "sha256": sha256_file(results / "snapshots/one/files" / name),
            "size": (results / "snapshots/one/files" / name).stat().st_size,
        }
        for name in ("config.json", "model.safetensors")
    }
    snapshot = {"source": {"hub": "some/one"}, "files": files, "sha256": sha256_json(files)}
    write_json(results / "snapshots/one/snapshot.json", snapshot)
    made(results, "fetch_model", [], ["snapshots/one/snapshot.json"])
    write_bytes(results / "word_starts/one.safetensors", b"starts")
    starts = ["snapshots/one/snapshot.json"]
    made(results, "word_starts", starts, ["word_starts/one.safetensors"])
    sample = [
        {"item_id": f"q{n}", "prefix": "", "prompt": f"{n}?", "chat": False, "item": {}}
        for n in range(3)
    ]
    write_jsonl(results / "samples/gsm8k/n3.jsonl", sample)
    made(results, "sample", [], ["samples/gsm8k/n3.jsonl"])
    cells, scores, keys = [], [], {}
    for condition in (Condition(0), Condition(1)):
        parts = recipe(
            condition,
            {"name": "gsm8k", "version": "1"},
            snapshot["sha256"],
            sha256_file(results / "word_starts/one.safetensors"),
            {"precision": "bf16", "machine": {"device": machine}},
            "code",
        )
        wanted = [(line["item_id"], sha256_text(line["prompt"])) for line in sample]
        with Journal(results / "journal", recipe_key(parts), LOG) as journal:
            write_json(journal.path.with_suffix(".json"), parts)
            for n, (item, prompt) in enumerate(wanted):
                last = token if n == 2 else 5
                journal.append(
                    Generation(
                        item_id=item,
                        condition=condition,
                        prompt_sha256=prompt,
                        token_ids=(1, 2, last),
                        nominal_ids=(1, 2, 5),
                        delta_s=(0.0, 0.5, 0.0),
                        intervened=(False, condition.rank > 0, False),
                        text=f'answer {last} "sha256":"x" \u2028',
                        finish_reason="length",
                        n_prompt_tokens=2,
                    )
                )
            records = [journal.records[item] for item in wanted]
        digest = sha256_json([list(item) for item in wanted])
        place = f"one/bf16/gsm8k/{condition.name}.parquet"
        write_cell(results / "cells" / place, records, parts, digest)
        keys[condition.name] = cell_key(recipe_key(parts), digest)
        cells.append(f"cells/{place}")
        verdicts = [Verdict(r["token_ids"][-1] == 5, "answered", "5", "last", {}) for r in records]
        write_scores(results / "scores" / place, [item for item, _ in wanted], verdicts)
        scores.append(f"scores/{place}")
    made(
        results,
        "generate",
        [*starts, "word_starts/one.safetensors", "samples/gsm8k/n3.jsonl"],
        cells,
        cell_keys=keys,
    )
    made(results, "score", ["samples/gsm8k/n3.jsonl", *cells], scores)
    judged(results, cells + scores)
    write_bytes(results / "tables/small/cells.csv", b"a,b\n1,2\n")
    made(results, "summarise", [*cells, *scores], ["tables/small/cells.csv"])
    for ending in ("pdf", "csv", "txt"):
        write_bytes(results / f"figures/dose.{ending}", b"figure " + ending.encode())
    figure = [f"figures/dose.{ending}" for ending in ("pdf", "csv", "txt")]
    made(results, "figure", ["tables/small/cells.csv"], figure)
    return results


def judged(results: Path, inputs: list[str]) -> None:
    """A judge's reply and the verdict that was read from it."""
    identity, prompt = {"model": "judge", "temperature": 0}, "Is 5 right?"
    reply = Reply("VERDICT: right", "stop", "judge", 9, 3)
    key = reply_key(identity, prompt)
    Replies(results / "replies").put(key, identity, prompt, reply)
    row = {"item_id": "q0", "key": key, "reply_sha256": sha256_json(asdict(reply))}
    write_jsonl(results / "judge/small/judged.jsonl", [row])
    made(results, "judge", inputs, ["judge/small/judged.jsonl"])


def copy_of(results: Path, folder: Path) -> Path:
    """A copy to tamper with."""
    return Path(shutil.copytree(results, folder, symlinks=True))
