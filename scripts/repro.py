from pathlib import Path

from job import job

from taboo.conditions import parse_condition
from taboo.files import read_jsonl
from taboo.generation import chat_sample
from taboo.models import verify_snapshot
from taboo.repro import repro_tables
from taboo.stats.csvfile import write_csv

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    model = Path(inputs.snapshot).parent
    verify_snapshot(model)
    settings = params.settings
    sample = read_jsonl(inputs.sample)
    if params.alignment == "instruct":
        sample = chat_sample(sample, model / "files")
    tables = repro_tables(
        model / "files",
        sample,
        settings["task"],
        [parse_condition(name, settings["max_new_tokens"]) for name in settings["conditions"]],
        settings["precisions"],
        settings["temperature"],
        settings["samples"],
        params.sandbox,
        params.seed,
    )
    for name, table in tables.items():
        write_csv(snakemake.output[name], table)  # noqa: F821
        log.info("%s: %d rows", name, len(table))
