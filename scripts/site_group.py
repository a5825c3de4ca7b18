from pathlib import Path

from job import job
from tokenizers import Tokenizer

from taboo.files import read_jsonl
from taboo.site.group import group_data, write_data
from taboo.stats.inputs import read_inputs

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    tokenizer = Path(inputs.snapshot).parent / "files" / "tokenizer.json"
    data = group_data(
        read_inputs(params.cells, inputs.cells, inputs.scores),
        read_jsonl(inputs.sample),
        Tokenizer.from_file(str(tokenizer)),
        params.label,
    )
    write_data(snakemake.output[0], data)  # noqa: F821
    log.info("%d items, %d conditions", len(data["items"]), len(data["cells"]))
