import pandas as pd
from job import job

from taboo.cells import read_cell
from taboo.conditions import parse_condition
from taboo.files import write_atomic
from taboo.stats.tables import CellInput, cell_table, item_table, write_cells

with job(snakemake) as (log, _):  # noqa: F821
    inputs, outputs = snakemake.input, snakemake.output  # noqa: F821
    cells = []
    for spec, cell, scores in zip(
        snakemake.params.cells,  # noqa: F821
        inputs.cells,
        inputs.scores,
        strict=True,
    ):
        n = spec["n"]
        condition = parse_condition(spec["condition"], spec["max_new_tokens"])
        rest = {k: v for k, v in spec.items() if k not in ("n", "condition", "max_new_tokens")}
        cells.append(
            CellInput(
                **rest,
                condition=condition,
                cell=read_cell(cell)[0].to_pandas().head(n),
                scores=pd.read_parquet(scores).head(n),
            )
        )
    items = item_table(cells)
    write_atomic(outputs.item_rows, lambda file: items.to_parquet(file, index=False))
    write_cells(outputs.cells, cell_table(items))
    log.info("%d cells, %d rows of items", len(cells), len(items))
