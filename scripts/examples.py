from functools import partial
from pathlib import Path

from job import job
from tokenizers import Tokenizer

from taboo.files import write_text
from taboo.stats.examples import examples_page, failure_examples
from taboo.stats.inputs import read_inputs

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params = snakemake.input, snakemake.params  # noqa: F821
    examples = failure_examples(read_inputs(params.cells, inputs.cells, inputs.scores))
    decode = {
        Path(snapshot).parent.name: partial(
            Tokenizer.from_file(str(Path(snapshot).parent / "files" / "tokenizer.json")).decode,
            skip_special_tokens=False,
        )
        for snapshot in inputs.snapshots
    }
    page = examples_page(examples, decode, params.notice or "")
    write_text(snakemake.output[0], page)  # noqa: F821
    log.info("%d examples", len(examples))
