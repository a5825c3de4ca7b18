for CONDITIONS, MEMBERS in groups_by_conditions().items():

    rule:
        name:
            rule_name("score", CONDITIONS)
        input:
            sample=lambda w: f"{RESULTS}/samples/{group_of(w).task}/n{group_of(w).n}.jsonl",
            cells=[f"{RESULTS}/cells/{{group}}/{name}.parquet" for name in CONDITIONS],
        output:
            [f"{RESULTS}/scores/{{group}}/{name}.parquet" for name in CONDITIONS],
        log:
            f"{RESULTS}/logs/score/{{group}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/score/{{group}}.tsv"
        wildcard_constraints:
            group=group_pattern(MEMBERS),
        conda:
            "../envs/analyse.yaml"
        container:
            CONTAINERS["analyse"]
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            code=lambda w: code_digest(
                "scripts/score.py", f"taboo/scoring/{group_of(w).task}.py"
            ),
            task=lambda w: group_of(w).task,
            sandbox=CONFIG["sandbox"],
        script:
            "../scripts/score.py"
