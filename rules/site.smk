include: "site_common.smk"


rule site_group:
    input:
        cells=site_cell_files("cells"),
        scores=site_cell_files("scores"),
        sample=lambda w: f"{RESULTS}/samples/{w.task}/n{STUDIES[w.study]['tasks'][w.task]}.jsonl",
        snapshot=f"{RESULTS}/snapshots/{{model}}/snapshot.json",
    output:
        f"{RESULTS}/site/data/{{study}}/{{model}}/{{precision}}/{{task}}.js",
    log:
        f"{RESULTS}/logs/site_group/{{study}}/{{model}}/{{precision}}/{{task}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/site_group/{{study}}/{{model}}/{{precision}}/{{task}}.tsv"
    wildcard_constraints:
        study="[^/]+",
        model="[^/]+",
        precision="[^/]+",
        task="[^/]+",
    group:
        "site"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        image=image_digest("analyse"),
        code=code_digest("scripts/site_group.py"),
        cells=lambda w: [spec for _, spec in site_group_of(w)],
        label=lambda w: CONFIG["models"][w.model]["label"],
    script:
        "../scripts/site_group.py"


rule site_figures:
    input:
        pictures=[f"{RESULTS}/figures/{figure}.svg" for figure in FIGURES],
        captions=[f"{RESULTS}/figures/{figure}.txt" for figure in FIGURES],
        # Audited with the figures.
        others=[
            f"{RESULTS}/figures/{figure}.{ending}"
            for figure in FIGURES
            for ending in ("pdf", "png", "csv")
        ],
    output:
        [
            f"{RESULTS}/site/figures/{figure}.{ending}"
            for figure in FIGURES
            for ending in ("html", "svg")
        ],
    log:
        f"{RESULTS}/logs/site_figures.log",
    benchmark:
        f"{RESULTS}/benchmarks/site_figures.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(4000),
        runtime=minutes(120),
    params:
        image=image_digest("analyse"),
        code=site_digest("scripts/site_figures.py"),
        figures=list(FIGURES),
        notice=CONFIG["notice"],
    script:
        "../scripts/site_figures.py"


rule site_pages:
    input:
        tables=TABLES,
        captions=[f"{RESULTS}/figures/{figure}.txt" for figure in FIGURES],
    output:
        [f"{RESULTS}/site/{name}" for name in SITE_PAGES],
    log:
        f"{RESULTS}/logs/site_pages.log",
    benchmark:
        f"{RESULTS}/benchmarks/site_pages.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        image=image_digest("analyse"),
        code=site_digest("scripts/site_pages.py"),
        about={
            "titles": [
                settings.get("title", study) for study, settings in STUDIES.items()
            ],
            "labels": {
                model: CONFIG["models"][model]["label"]
                for model in sorted({group.model for group in GROUPS})
            },
            "notice": CONFIG["notice"],
        },
    script:
        "../scripts/site_pages.py"


localrules:
    site_pages,
