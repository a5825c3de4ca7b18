rule figure:
    input:
        lambda w: [
            f"{RESULTS}/tables/{study}/cells.csv"
            for study in FIGURES[w.figure]["studies"]
        ],
    output:
        pdf=f"{RESULTS}/figures/{{figure}}.pdf",
        png=f"{RESULTS}/figures/{{figure}}.png",
        svg=report(
            f"{RESULTS}/figures/{{figure}}.svg",
            caption="../workflow/report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        csv=f"{RESULTS}/figures/{{figure}}.csv",
        caption=f"{RESULTS}/figures/{{figure}}.txt",
    log:
        f"{RESULTS}/logs/figure/{{figure}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/figure/{{figure}}.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=lambda w: code_digest("scripts/figure.py", f"taboo/figures/{w.figure}.py"),
        options=lambda w: {**FIGURES[w.figure], "notice": CONFIG["notice"]},
    script:
        "../scripts/figure.py"
