for CONDITIONS, MEMBERS in groups_by_conditions().items():

    rule:
        name:
            rule_name("generate", CONDITIONS)
        input:
            snapshot=of_group(
                CONDITIONS, lambda g: f"{RESULTS}/snapshots/{g.model}/snapshot.json"
            ),
            word_starts=of_group(
                CONDITIONS, lambda g: f"{RESULTS}/word_starts/{g.model}.safetensors"
            ),
            sample=of_group(
                CONDITIONS, lambda g: f"{RESULTS}/samples/{g.task}/n{g.n}.jsonl"
            ),
        output:
            [f"{RESULTS}/cells/{{group}}/{name}.parquet" for name in CONDITIONS],
        log:
            f"{RESULTS}/logs/generate/{job_name(CONDITIONS)}.log",
        benchmark:
            f"{RESULTS}/benchmarks/generate/{job_name(CONDITIONS)}.tsv"
        wildcard_constraints:
            group=group_pattern(MEMBERS),
        conda:
            "../envs/generate.yaml"
        container:
            CONTAINERS["generate"]
        threads: 2
        resources:
            **gpu_resources(CONDITIONS),
            mem_mb=generate_memory(CONDITIONS),
            runtime=generate_runtime(CONDITIONS),
        params:
            image=image_digest("generate"),
            code=code_digest("scripts/generate.py"),
            generating_code=source_digest(ROOT, "taboo/engine/slots.py"),
            conditions=CONDITIONS,
            task=of_group(CONDITIONS, lambda g: g.task),
            budget=of_group(
                CONDITIONS, lambda g: CONFIG["tasks"][g.task]["max_new_tokens"]
            ),
            stop=of_group(CONDITIONS, lambda g: CONFIG["tasks"][g.task]["stop"]),
            precision=of_group(CONDITIONS, lambda g: g.precision),
            alignment=of_group(
                CONDITIONS, lambda g: CONFIG["models"][g.model]["alignment"]
            ),
            slots=CONFIG["engine"]["slots"],
            journal=f"{RESULTS}/journal",
        script:
            "../scripts/generate.py"
