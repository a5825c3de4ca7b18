from pathlib import Path

from job import job

from taboo.provenance.crate import write_crate
from taboo.provenance.manifest import (
    copy_text,
    write_checksums,
    write_configuration,
    write_lineage,
    write_manifest,
)
from taboo.provenance.records import name_of

with job(snakemake) as (log, _):  # noqa: F821
    outputs, params = snakemake.output, snakemake.params  # noqa: F821
    results = Path(outputs.crate).parent
    own = [name_of(results, path) for path in outputs]
    for source, target in zip(params.workflow, outputs.workflow, strict=True):
        copy_text(source, target)
    write_configuration(outputs.configuration, snakemake.config)  # noqa: F821
    for figure, path in zip(params.figures, outputs.figures, strict=True):
        write_lineage(path, results, figure)
    files = write_manifest(outputs.manifest, results, own)
    made = [name for name in own if name not in ("SHA256SUMS", "ro-crate-metadata.json")]
    write_crate(results, params.title, params.licence, params.snakemake, made)
    write_checksums(outputs.checksums, results, own)
    log.info("%d files", files)
