"""The control of paper section 2.2: the IFEval prompts that forbid words (49 items)."""

from dataclasses import replace

from taboo.tasks import ifeval

TASK = replace(
    ifeval.TASK,
    name="ifeval_forbidden_words",
    keep=lambda item: "keywords:forbidden_words" in item["instruction_id_list"],
)
