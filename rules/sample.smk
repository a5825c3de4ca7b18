rule sample:
    output:
        f"{RESULTS}/samples/{{task}}/n{{n}}.jsonl",
    log:
        f"{RESULTS}/logs/sample/{{task}}.n{{n}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/sample/{{task}}.n{{n}}.tsv"
    wildcard_constraints:
        n=r"\d+",
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(2000),
        runtime=minutes(30),
    params:
        image=image_digest("analyse"),
        code=lambda w: code_digest("scripts/sample.py", f"taboo/tasks/{w.task}.py"),
        prompts=lambda w: prompt_digest(w.task),
        seed=CONFIG["seed"],
        mirror=lambda w: mirror_digest(w.task),
        data=lambda w: {
            key: CONFIG["tasks"][w.task].get(key)
            for key in ("revision", "files", "records", "sha256")
        },
    script:
        "../scripts/sample.py"


localrules:
    sample,
