rule fetch_model:
    output:
        f"{RESULTS}/snapshots/{{model}}/snapshot.json",
    log:
        f"{RESULTS}/logs/fetch_model/{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fetch_model/{{model}}.tsv"
    conda:
        "../envs/generate.yaml"
    container:
        CONTAINERS["generate"]
    resources:
        mem_mb=memory(4000),
        runtime=minutes(240),
    params:
        image=image_digest("generate"),
        code=code_digest("scripts/fetch_model.py"),
        source=lambda w: CONFIG["models"][w.model]["source"],
        licence=lambda w: CONFIG["models"][w.model]["licence"],
        terms=lambda w: CONFIG["models"][w.model].get("terms"),
    script:
        "../scripts/fetch_model.py"


# All that the network is needed for, and nothing else.
rule fetch_all:
    input:
        FETCHED,


localrules:
    fetch_all,
    fetch_model,
    word_starts,


rule word_starts:
    input:
        f"{RESULTS}/snapshots/{{model}}/snapshot.json",
    output:
        f"{RESULTS}/word_starts/{{model}}.safetensors",
    log:
        f"{RESULTS}/logs/word_starts/{{model}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/word_starts/{{model}}.tsv"
    conda:
        "../envs/generate.yaml"
    container:
        CONTAINERS["generate"]
    resources:
        mem_mb=memory(2000),
        runtime=minutes(10),
    params:
        image=image_digest("generate"),
        code=code_digest("scripts/word_starts.py"),
    script:
        "../scripts/word_starts.py"
