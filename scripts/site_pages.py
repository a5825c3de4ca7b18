from pathlib import Path

from job import job

from taboo.site.grid import study_grid
from taboo.site.pages import write_site
from taboo.stats.tables import read_cells

with job(snakemake) as (log, _):  # noqa: F821
    inputs, about = snakemake.input, snakemake.params.about  # noqa: F821
    grids = [
        study_grid(read_cells(table), about["labels"], title)
        for table, title in zip(inputs.tables, about["titles"], strict=True)
    ]
    captions = {
        Path(caption).stem: Path(caption).read_text(encoding="utf-8").strip()
        for caption in inputs.captions
    }
    folder = Path(snakemake.output[0]).parent  # noqa: F821
    write_site(folder, about["notice"] or "", grids, captions)
    log.info("%d studies, %d figures", len(grids), len(captions))
