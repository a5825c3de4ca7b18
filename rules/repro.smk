rule repro:
    input:
        snapshot=f"{RESULTS}/snapshots/{{model}}/snapshot.json",
        sample=lambda w: f"{RESULTS}/samples/{REPRO['task']}/n{REPRO['items']}.jsonl",
    output:
        stability=report(
            f"{RESULTS}/tables/repro/{{model}}.stability.csv",
            caption="../workflow/report/repro.rst",
            category="Reproducibility",
            labels={"model": "{model}", "table": "stability"},
        ),
        noise=report(
            f"{RESULTS}/tables/repro/{{model}}.noise.csv",
            caption="../workflow/report/repro.rst",
            category="Reproducibility",
            labels={"model": "{model}", "table": "noise"},
        ),
        distribution=report(
            f"{RESULTS}/tables/repro/{{model}}.distribution.csv",
            caption="../workflow/report/repro.rst",
            category="Reproducibility",
            labels={"model": "{model}", "table": "distribution"},
        ),
    log:
        f"{RESULTS}/logs/repro/{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/repro/{{model}}.tsv"
    conda:
        "../envs/generate.yaml"
    container:
        CONTAINERS["generate"]
    threads: 2
    resources:
        **model_resources(lambda w: w.model),
    params:
        code=lambda w: code_digest(
            "scripts/repro.py", f"taboo/scoring/{REPRO['task']}.py"
        ),
        settings=lambda w: {
            key: value for key, value in REPRO.items() if key != "models"
        },
        alignment=lambda w: CONFIG["models"][w.model]["alignment"],
        sandbox=CONFIG["sandbox"],
        seed=CONFIG["seed"],
        image=image_digest("generate"),
    script:
        "../scripts/repro.py"
