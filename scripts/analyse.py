import pandas as pd
from job import job

from taboo.stats import load_analysis
from taboo.stats.csvfile import write_csv
from taboo.stats.tables import read_cells

with job(snakemake) as (log, _):  # noqa: F821
    inputs = snakemake.input  # noqa: F821
    table = load_analysis(snakemake.wildcards.analysis).run(  # noqa: F821
        pd.read_parquet(inputs.item_rows),
        read_cells(inputs.cells),
        dict(snakemake.params.options),  # noqa: F821
    )
    write_csv(snakemake.output[0], table)  # noqa: F821
    log.info("%d rows", len(table))
