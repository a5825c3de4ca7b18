from job import job

from taboo.claims import evaluate, load_claims
from taboo.claims_page import claims_page
from taboo.files import write_text
from taboo.stats.collect import read_tables
from taboo.stats.csvfile import write_csv

with job(snakemake) as (log, _):  # noqa: F821
    inputs, outputs = snakemake.input, snakemake.output  # noqa: F821
    verdicts = evaluate(load_claims(inputs.claims), read_tables(inputs.tables))
    write_csv(outputs.verdicts, verdicts)
    write_text(outputs.page, claims_page(verdicts, snakemake.params.notice or ""))  # noqa: F821
    log.info("%s", verdicts["verdict"].value_counts().to_dict())
