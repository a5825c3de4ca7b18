rule manifest:
    input:
        ALL_RESULTS,
    output:
        f"{RESULTS}/provenance/manifest.json",
    log:
        f"{RESULTS}/logs/manifest.log",
    benchmark:
        f"{RESULTS}/benchmarks/manifest.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=code_digest("scripts/manifest.py"),
    script:
        "../scripts/manifest.py"


localrules:
    manifest,
