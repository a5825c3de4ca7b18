from pathlib import Path

from job import job

from taboo.provenance.manifest import write_manifest

with job(snakemake) as (log, _):  # noqa: F821
    output = Path(snakemake.output[0])  # noqa: F821
    files = write_manifest(output, output.parent.parent)
    log.info("%d files", files)
