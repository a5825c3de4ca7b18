import os
from pathlib import Path

from job import job

from taboo.tasks import load_task
from taboo.tasks.base import TaskError
from taboo.tasks.sampling import load_items, seeded_sample, write_sample

with job(snakemake) as (log, _):  # noqa: F821
    params = snakemake.params  # noqa: F821
    task = load_task(snakemake.wildcards.task)  # noqa: F821
    # Where a mirror lies is no parameter: it may lie elsewhere tomorrow, with the same items.
    mirror = snakemake.config.get("mirror") or os.environ.get("TABOO_MIRROR")  # noqa: F821
    items = load_items(
        task,
        mirror=Path(mirror) if mirror else None,
        revision=params.data["revision"],
        files=params.data["files"],
        records=params.data["records"],
        sha256=params.data["sha256"],
    )
    try:
        sample = seeded_sample(
            items,
            int(snakemake.wildcards.n),  # noqa: F821
            params.seed,
            task.stratum,
        )
    except TaskError as error:
        raise TaskError(
            f"{task.name}: {error}: lower its number under `tasks` of a study"
        ) from error
    log.info("%d of %d items", len(sample), len(items))
    write_sample(snakemake.output[0], task, sample)  # noqa: F821
