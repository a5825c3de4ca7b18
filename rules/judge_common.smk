def judged_files(stage):
    return [
        f"{RESULTS}/{stage}/{{model}}/{{precision}}/{{task}}/{{condition}}.parquet".format(
            **spec
        )
        for spec in JUDGED_CELLS
    ]


def judge_model():
    """The files of a model of our own; nothing for a remote one."""
    if not JUDGE_IS_LOCAL:
        return {}
    return {
        "snapshot": f"{RESULTS}/snapshots/{JUDGE.model}/snapshot.json",
        "word_starts": f"{RESULTS}/word_starts/{JUDGE.model}.safetensors",
    }


def judge_resources():
    """What a model of our own needs; a remote one needs next to nothing."""
    if not JUDGE_IS_LOCAL:
        return {"mem_mb": memory(1500), "runtime": minutes(240)}
    return model_resources(lambda wildcards: JUDGE.model)
