import pandas as pd
from job import job

from taboo.files import read_json, read_jsonl, write_text
from taboo.judge.agreement import agreement
from taboo.judge.human import add_labels, sheet
from taboo.judge.summary import describe, disagreements, frame
from taboo.stats.csvfile import write_csv

with job(snakemake) as (log, _):  # noqa: F821
    inputs, params, outputs = snakemake.input, snakemake.params, snakemake.output  # noqa: F821
    about = read_json(inputs.about)
    rows = frame(read_jsonl(inputs.judged))
    table, against = agreement(rows, "scorer", "judge"), disagreements(rows)
    labelled = rows.assign(human="").head(0)
    if inputs.get("human") and len(rows):
        labelled = add_labels(rows, inputs.human)
    human = pd.concat([agreement(labelled, "human", rater) for rater in ("scorer", "judge")])
    write_csv(outputs.agreement, table)
    write_csv(outputs.disagreements, against)
    write_csv(outputs.human, human)
    write_csv(outputs.sheet, sheet(rows))
    summary = describe(about, table, against, human, params.notice)
    write_text(outputs.caption, summary + "\n")
    log.info("%s", summary)
