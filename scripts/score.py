from job import job

from taboo.cells import read_cell
from taboo.files import read_jsonl
from taboo.scoring import score
from taboo.scoring.table import write_scores

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    sample = read_jsonl(inputs.sample)
    for path, output in zip(inputs.cells, snakemake.output, strict=True):  # noqa: F821
        cell, _metadata = read_cell(path)
        ids = cell.column("item_id").to_pylist()
        if ids != [line["item_id"] for line in sample]:
            raise ValueError(f"{path} does not hold the items of {inputs.sample} in their order")
        verdicts = score(
            params.task,
            [line["item"] for line in sample],
            cell.column("text").to_pylist(),
            sandbox=params.sandbox,
        )
        write_scores(output, ids, verdicts)
        log.info("%s: %d of %d right", path, sum(v.correct for v in verdicts), len(verdicts))
