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
            code=lambda w: code_digest(
                "scripts/score.py", f"taboo/scoring/{group_of(w).task}.py"
            ),
            task=lambda w: group_of(w).task,
            sandbox=CONFIG["sandbox"],
        script:
            "../scripts/score.py"
