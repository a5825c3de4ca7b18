rule figure:
    input:
        lambda w: [
            f"{RESULTS}/tables/{study}/{figure_input(w.figure)}.csv"
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
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        image=image_digest("analyse"),
        code=lambda w: code_digest("scripts/figure.py", f"taboo/figures/{w.figure}.py"),
        options=lambda w: {**FIGURES[w.figure], "notice": CONFIG["notice"]},
    script:
        "../scripts/figure.py"


localrules:
    figure,
