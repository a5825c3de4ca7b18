from pathlib import Path

import pandas as pd
from job import job

from taboo.figures import load_figure
from taboo.figures.style import save
from taboo.files import write_text
from taboo.stats.tables import read_cells

with job(snakemake) as (log, _):  # noqa: F821
    options, outputs = dict(snakemake.params.options), snakemake.output  # noqa: F821
    figure = load_figure(snakemake.wildcards.figure)  # noqa: F821
    cells = pd.concat([read_cells(path) for path in snakemake.input])  # noqa: F821
    data = figure.prepare(cells, options)
    save(figure.draw(data, options), Path(outputs.pdf).with_suffix(""), data)
    write_text(outputs.caption, figure.caption(data, options) + "\n")
    log.info("%d rows drawn", len(data))
