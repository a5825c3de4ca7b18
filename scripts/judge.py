import os
from pathlib import Path

import pyarrow.parquet as pq
from job import job

from taboo.cells import read_cell
from taboo.conditions import parse_condition
from taboo.files import read_jsonl, write_json, write_jsonl
from taboo.judge.access import lacking, remote_judge
from taboo.judge.replies import Replies
from taboo.judge.run import candidates, draw, judge
from taboo.judge.settings import Settings

with job(snakemake) as (log, facts):  # noqa: F821
    inputs, params, outputs = snakemake.input, snakemake.params, snakemake.output  # noqa: F821
    settings = Settings(**params.settings)
    if settings.provider == "local":
        from taboo.judge.local import LocalJudge

        provider = LocalJudge(
            Path(inputs.snapshot).parent,
            inputs.word_starts,
            params.alignment,
            settings.max_new_tokens,
            params.slots,
            params.generating_code,
        )
    else:
        provider = remote_judge(settings, os.environ)
    items = {
        task: {line["item_id"]: line["item"] for line in read_jsonl(sample)}
        for task, sample in zip(settings.tasks, inputs.samples, strict=True)
    }
    rows = []
    for spec, cell, scores in zip(params.cells, inputs.cells, inputs.scores, strict=True):
        names = ("study", "model", "precision", "task", "condition")
        rows += candidates(
            {
                **{name: spec[name] for name in names},
                "rank": parse_condition(spec["condition"]).rank,
            },
            read_cell(cell)[0].slice(0, spec["n"]).to_pylist(),
            pq.read_table(scores).slice(0, spec["n"]).to_pylist(),
            items[spec["task"]],
        )
    judging = judge(
        draw(rows, settings.tasks, params.seed),
        provider,
        Replies(params.replies),
        lacking(settings, os.environ),
    )
    write_jsonl(outputs.judged, judging.rows)
    write_json(outputs.about, {"judge": settings.who, **judging.facts})
    facts["judge"] = judging.facts
    if judging.facts["skipped"]:
        log.warning("skipped: %s", judging.facts["skipped"])
