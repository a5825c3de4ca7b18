for CONDITIONS, MEMBERS in groups_by_conditions().items():

    rule:
        name:
            rule_name("score", CONDITIONS)
        input:
            sample=of_group(
                CONDITIONS, lambda g: f"{RESULTS}/samples/{g.task}/n{g.n}.jsonl"
            ),
            cells=[f"{RESULTS}/cells/{{group}}/{name}.parquet" for name in CONDITIONS],
        output:
            [f"{RESULTS}/scores/{{group}}/{name}.parquet" for name in CONDITIONS],
        log:
            f"{RESULTS}/logs/score/{job_name(CONDITIONS)}.log",
        benchmark:
            f"{RESULTS}/benchmarks/score/{job_name(CONDITIONS)}.tsv"
        wildcard_constraints:
            group=group_pattern(MEMBERS),
        group:
            "score"
        conda:
            "../envs/analyse.yaml"
        container:
            CONTAINERS["analyse"]
        resources:
            mem_mb=memory(2000),
            runtime=minutes(60),
        params:
            image=image_digest("analyse"),
            code=of_group(
                CONDITIONS,
                lambda g: code_digest(
                    "scripts/score.py", f"taboo/scoring/{g.task}.py"
                ),
            ),
            task=of_group(CONDITIONS, lambda g: g.task),
            sandbox=CONFIG["sandbox"],
        script:
            "../scripts/score.py"
