from pathlib import Path

from job import job

from taboo.word_starts import Kind, word_starts_of

with job(snakemake) as (log, _):  # noqa: F821
    folder = Path(snakemake.input[0]).parent / "files"  # noqa: F821
    table = word_starts_of(folder)
    log.info(
        "marker %s: %s",
        table.marker,
        ", ".join(f"{int((table.kinds == kind).sum())} {kind.name.lower()}" for kind in Kind),
    )
    table.save(snakemake.output[0])  # noqa: F821
