from pathlib import Path

from job import job

from taboo.figures import load_figure
from taboo.figures.style import save
from taboo.files import write_text
from taboo.stats.collect import read_tables

with job(snakemake) as (log, _):  # noqa: F821
    options, outputs = dict(snakemake.params.options), snakemake.output  # noqa: F821
    figure = load_figure(snakemake.wildcards.figure)  # noqa: F821
    (table,) = read_tables(snakemake.input).values()  # noqa: F821
    data = figure.prepare(table, options)
    save(figure.draw(data, options), Path(outputs.pdf).with_suffix(""), data)
    write_text(outputs.caption, figure.caption(data, options) + "\n")
    log.info("%d rows drawn", len(data))
