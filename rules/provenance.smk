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
        mem_mb=memory(1000),
        runtime=minutes(30),
    params:
        image=image_digest("analyse"),
        code=code_digest("scripts/manifest.py"),
    script:
        "../scripts/manifest.py"


localrules:
    manifest,
