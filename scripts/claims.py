from job import job

from taboo.claims import evaluate, load_claims
from taboo.stats.collect import read_tables
from taboo.stats.csvfile import write_csv

with job(snakemake) as (log, _):  # noqa: F821
    inputs = snakemake.input  # noqa: F821
    verdicts = evaluate(load_claims(inputs.claims), read_tables(inputs.tables))
    write_csv(snakemake.output[0], verdicts)  # noqa: F821
    log.info("%s", verdicts["verdict"].value_counts().to_dict())
