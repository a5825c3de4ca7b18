from pathlib import Path

from job import job

from taboo.provenance.sources import PINS, read_locks, read_pins
from taboo.site.lineage import figure_lineages
from taboo.site.pages import write_figure

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    site = Path(snakemake.output[0]).parent.parent  # noqa: F821
    found = figure_lineages(site.parent, params.figures, read_pins(PINS), read_locks())
    pictures = zip(params.figures, inputs.pictures, inputs.captions, strict=True)
    for figure, picture, caption in pictures:
        write_figure(
            site,
            figure,
            params.notice or "",
            Path(picture).read_text(encoding="utf-8"),
            Path(caption).read_text(encoding="utf-8").strip(),
            found[figure],
        )
        wrong = sum(stage.problems for stage in found[figure])
        log.info("%s: %d not as recorded", figure, wrong)
