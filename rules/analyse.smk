rule summarise:
    input:
        cells=lambda w: cell_files("cells", study_cells(STUDIES[w.study])),
        scores=lambda w: cell_files("scores", study_cells(STUDIES[w.study])),
    output:
        cells=report(
            f"{RESULTS}/tables/{{study}}/cells.csv",
            caption="../workflow/report/cells.rst",
            category="Tables",
            labels={"study": "{study}", "table": "cells"},
        ),
        item_rows=f"{RESULTS}/tables/{{study}}/items.parquet",
    log:
        f"{RESULTS}/logs/summarise/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/summarise/{{study}}.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
    params:
        image=image_digest("analyse"),
        code=code_digest("scripts/summarise.py"),
        cells=lambda w: cell_specs(w.study),
    script:
        "../scripts/summarise.py"


rule analyse:
    input:
        cells=f"{RESULTS}/tables/{{study}}/cells.csv",
        item_rows=f"{RESULTS}/tables/{{study}}/items.parquet",
    output:
        report(
            f"{RESULTS}/tables/{{study}}/{{analysis}}.csv",
            caption="../workflow/report/analysis.rst",
            category="Tables",
            labels={"study": "{study}", "table": "{analysis}"},
        ),
    log:
        f"{RESULTS}/logs/analyse/{{study}}.{{analysis}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/analyse/{{study}}.{{analysis}}.tsv"
    wildcard_constraints:
        analysis="|".join(ANALYSES),
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(4000),
        runtime=minutes(60),
    params:
        image=image_digest("analyse"),
        code=lambda w: code_digest(
            "scripts/analyse.py", module_file(analysis_module(w.analysis))
        ),
        options={"seed": CONFIG["seed"]},
    script:
        "../scripts/analyse.py"


rule examples:
    input:
        cells=lambda w: cell_files("cells", study_cells(STUDIES[w.study])),
        scores=lambda w: cell_files("scores", study_cells(STUDIES[w.study])),
        snapshots=lambda w: [
            f"{RESULTS}/snapshots/{model}/snapshot.json"
            for model in STUDIES[w.study]["models"]
        ],
    output:
        report(
            f"{RESULTS}/failures/{{study}}.html",
            caption="../workflow/report/examples.rst",
            category="Failure modes",
            labels={"study": "{study}"},
        ),
    log:
        f"{RESULTS}/logs/examples/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/examples/{{study}}.tsv"
    conda:
        "../envs/generate.yaml"
    container:
        CONTAINERS["generate"]
    resources:
        mem_mb=memory(4000),
        runtime=minutes(30),
    params:
        image=image_digest("generate"),
        code=code_digest("scripts/examples.py"),
        cells=lambda w: cell_specs(w.study),
        notice=CONFIG["notice"],
    script:
        "../scripts/examples.py"


rule claims:
    input:
        claims="claims.yaml",
        tables=[*TABLES, *ANALYSIS_TABLES],
    output:
        verdicts=report(
            f"{RESULTS}/claims/claims.csv",
            caption="../workflow/report/claims.rst",
            category="Claims",
            labels={"claims of the paper": "table"},
        ),
        page=report(
            f"{RESULTS}/claims/claims.html",
            caption="../workflow/report/claims.rst",
            category="Claims",
            labels={"claims of the paper": "page"},
        ),
    log:
        f"{RESULTS}/logs/claims.log",
    benchmark:
        f"{RESULTS}/benchmarks/claims.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        image=image_digest("analyse"),
        code=code_digest("scripts/claims.py"),
        notice=CONFIG["notice"],
    script:
        "../scripts/claims.py"
