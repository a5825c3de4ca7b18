from taboo.judge.access import lacking
from taboo.judge.prompts import prompt_file

if JUDGE:
    JUDGE_IS_LOCAL = JUDGE.provider == "local"
    JUDGED_CELLS = [
        spec for spec in cell_specs(JUDGE.study) if spec["task"] in JUDGE.tasks
    ]

    rule judge:
        input:
            **judge_model(),
            samples=[
                f"{RESULTS}/samples/{task}/n{STUDIES[JUDGE.study]['tasks'][task]}.jsonl"
                for task in JUDGE.tasks
            ],
            cells=judged_files("cells"),
            scores=judged_files("scores"),
        output:
            judged=f"{RESULTS}/judge/{JUDGE.study}/judged.jsonl",
            about=f"{RESULTS}/judge/{JUDGE.study}/about.json",
        log:
            f"{RESULTS}/logs/judge/{JUDGE.study}.log",
        benchmark:
            f"{RESULTS}/benchmarks/judge/{JUDGE.study}.tsv"
        conda:
            "../envs/generate.yaml" if JUDGE_IS_LOCAL else "../envs/judge.yaml"
        container:
            CONTAINERS["generate" if JUDGE_IS_LOCAL else "judge"]
        threads: 2
        resources:
            **judge_resources(),
        params:
            image=image_digest("generate" if JUDGE_IS_LOCAL else "judge"),
            code=code_digest("scripts/judge.py"),
            generating_code=code_digest("taboo/engine/slots.py"),
            prompts=source_digest(
                ROOT,
                data=tuple(
                    str(prompt_file(task).relative_to(ROOT)) for task in JUDGE.tasks
                ),
            ),
            # Runs again where a key is set now; what was answered before costs nothing.
            lacking=lacking(JUDGE, os.environ),
            settings={**CONFIG["judge"], "human_labels": None, "notice": None},
            alignment=JUDGE_IS_LOCAL and CONFIG["models"][JUDGE.model]["alignment"],
            slots=CONFIG["engine"]["slots"],
            cells=JUDGED_CELLS,
            seed=CONFIG["seed"],
            replies=f"{RESULTS}/replies",
        script:
            "../scripts/judge.py"

    # Compute nodes are often without a network.
    if not JUDGE_IS_LOCAL:

        localrules:
            judge,

    rule agreement:
        input:
            **({"human": JUDGE.human_labels} if JUDGE.human_labels else {}),
            judged=rules.judge.output.judged,
            about=rules.judge.output.about,
        output:
            agreement=report(
                f"{RESULTS}/tables/{JUDGE.study}/judge.csv",
                caption="../workflow/report/figure.rst",
                category="Judge",
                labels={"table": "agreement with the scorers"},
            ),
            disagreements=report(
                f"{RESULTS}/judge/{JUDGE.study}/disagreements.csv",
                caption="../workflow/report/figure.rst",
                category="Judge",
                labels={"table": "disagreements"},
            ),
            human=f"{RESULTS}/judge/{JUDGE.study}/human.csv",
            sheet=f"{RESULTS}/judge/{JUDGE.study}/sheet.csv",
            caption=f"{RESULTS}/judge/{JUDGE.study}/summary.txt",
        log:
            f"{RESULTS}/logs/agreement/{JUDGE.study}.log",
        benchmark:
            f"{RESULTS}/benchmarks/agreement/{JUDGE.study}.tsv"
        conda:
            "../envs/analyse.yaml"
        container:
            CONTAINERS["analyse"]
        resources:
            mem_mb=memory(1000),
            runtime=minutes(10),
        params:
            image=image_digest("analyse"),
            code=code_digest("scripts/agreement.py"),
            notice=JUDGE.notice,
        script:
            "../scripts/agreement.py"

    localrules:
        agreement,
