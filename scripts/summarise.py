from job import job

from taboo.files import write_atomic
from taboo.stats.inputs import read_inputs
from taboo.stats.tables import cell_table, item_table, write_cells

with job(snakemake) as (log, _):  # noqa: F821
    inputs, outputs = snakemake.input, snakemake.output  # noqa: F821
    cells = read_inputs(snakemake.params.cells, inputs.cells, inputs.scores)  # noqa: F821
    items = item_table(cells)
    write_atomic(outputs.item_rows, lambda file: items.to_parquet(file, index=False))
    write_cells(outputs.cells, cell_table(items))
    log.info("%d cells, %d rows of items", len(cells), len(items))
