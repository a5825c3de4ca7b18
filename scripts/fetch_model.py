from pathlib import Path

from job import job

from taboo.models import fetch_model

with job(snakemake) as (log, facts):  # noqa: F821
    params, target = snakemake.params, Path(snakemake.output[0])  # noqa: F821
    log.info("licence: %s", params.licence)
    if params.terms:
        log.warning("terms of use: %s", params.terms)
        print(f"{target.parent.name}: {params.terms}", flush=True)
    snapshot = fetch_model(params.source, target.parent)
    log.info("snapshot %s, %d files", snapshot["sha256"], len(snapshot["files"]))
    facts["snapshot_sha256"] = snapshot["sha256"]
