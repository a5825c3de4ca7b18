for CONDITIONS, MEMBERS in groups_by_conditions().items():

    rule:
        name:
            rule_name("generate", CONDITIONS)
        input:
            snapshot=lambda w: f"{RESULTS}/snapshots/{group_of(w).model}/snapshot.json",
            word_starts=lambda w: f"{RESULTS}/word_starts/{group_of(w).model}.safetensors",
            sample=lambda w: f"{RESULTS}/samples/{group_of(w).task}/n{group_of(w).n}.jsonl",
        output:
            [f"{RESULTS}/cells/{{group}}/{name}.parquet" for name in CONDITIONS],
        log:
            f"{RESULTS}/logs/generate/{{group}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/generate/{{group}}.tsv"
        wildcard_constraints:
            group=group_pattern(MEMBERS),
        conda:
            "../envs/generate.yaml"
        container:
            CONTAINERS["generate"]
        threads: 2
        resources:
            **gpu_resources(),
            mem_mb=generate_memory,
            runtime=generate_runtime,
        params:
            image=image_digest("generate"),
            code=code_digest("scripts/generate.py"),
            generating_code=source_digest(ROOT, "taboo/engine/slots.py"),
            conditions=CONDITIONS,
            budget=lambda w: CONFIG["tasks"][group_of(w).task]["max_new_tokens"],
            stop=lambda w: CONFIG["tasks"][group_of(w).task]["stop"],
            precision=lambda w: group_of(w).precision,
            alignment=lambda w: CONFIG["models"][group_of(w).model]["alignment"],
            slots=CONFIG["engine"]["slots"],
            journal=f"{RESULTS}/journal",
        script:
            "../scripts/generate.py"
