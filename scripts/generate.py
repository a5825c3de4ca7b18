import os
from pathlib import Path

# A node whose network swallows packets must not wait for the hub; all is in the snapshot.
os.environ["HF_HUB_OFFLINE"] = "1"

from job import job

from taboo.conditions import parse_condition
from taboo.engine import describe, open_engine
from taboo.files import read_jsonl, sha256_file
from taboo.generation import chat_sample, generate_cells, recipe
from taboo.models import verify_snapshot
from taboo.tasks import load_task
from taboo.word_starts import WordStarts

with job(snakemake) as (log, facts):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    model = Path(inputs.snapshot).parent
    snapshot = verify_snapshot(model)
    conditions = [parse_condition(c, params.budget, tuple(params.stop)) for c in params.conditions]
    engine = describe(model / "files", params.precision, slots=params.slots)
    recipes = [
        recipe(
            condition,
            {"name": params.task, "version": load_task(params.task).version},
            snapshot["sha256"],
            sha256_file(inputs.word_starts),
            engine,
            params.generating_code,
        )
        for condition in conditions
    ]
    sample = read_jsonl(inputs.sample)
    if params.alignment == "instruct":
        sample = chat_sample(sample, model / "files")
    done = generate_cells(
        sample,
        conditions,
        recipes,
        list(snakemake.output),  # noqa: F821
        params.journal,
        lambda: open_engine(
            model / "files",
            precision=params.precision,
            slots=params.slots,
            word_starts=WordStarts.load(inputs.word_starts),
        ),
        log,
    )
    facts["cell_keys"] = dict(zip(params.conditions, done.pop("keys"), strict=True))
    speed = {key: done[key] for key in ("items", "tokens", "budget", "seconds")}
    facts["volatile"] = {"generated": speed}
    log.info("%s", done)
