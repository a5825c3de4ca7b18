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
        mem_mb=4000,
        runtime=30,
    params:
        code=code_digest("scripts/summarise.py"),
        cells=lambda w: [
            {
                "study": w.study,
                "model": cell.model,
                "family": CONFIG["models"][cell.model]["family"],
                "size_b": CONFIG["models"][cell.model]["size_b"],
                "alignment": CONFIG["models"][cell.model]["alignment"],
                "precision": cell.precision,
                "task": cell.task,
                "condition": cell.condition,
                "n": STUDIES[w.study]["tasks"][cell.task],
                "max_new_tokens": CONFIG["tasks"][cell.task]["max_new_tokens"],
            }
            for cell in study_cells(STUDIES[w.study])
        ],
    script:
        "../scripts/summarise.py"
