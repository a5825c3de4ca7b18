from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

from taboo.files import sha256_file, write_text
from taboo.resources import (
    FitsNoCard,
    generate_memory_mb,
    generate_minutes,
    job_memory_mb,
    parse_cards,
    smallest_card,
)


def cluster_cards():
    """The cards named in the profile's default resources; none when not on a cluster."""
    defaults = workflow.resource_settings.default_resources
    return parse_cards((defaults and defaults.get("gpu_cards").raw) or "")


CARDS = cluster_cards()


def memory(mb):
    return lambda wildcards, attempt: job_memory_mb(mb, attempt)


def minutes(number):
    return lambda wildcards, attempt: number * attempt


def size_of(group):
    return CONFIG["models"][group.model]["size_b"]


def card_of(group):
    return smallest_card(
        CARDS, size_of(group), group.precision, CONFIG["engine"]["slots"]
    )


def generate_memory(wildcards, attempt):
    group = group_of(wildcards)
    own = generate_memory_mb(size_of(group), group.precision, bool(CARDS))
    return job_memory_mb(own, attempt)


def generate_runtime(wildcards, attempt):
    group = group_of(wildcards)
    tokens = sum(
        group.n * condition(CONFIG, group.task, name).max_new_tokens
        for name in group.conditions
    )
    return generate_minutes(size_of(group), tokens, bool(CARDS)) * attempt


def gpu_resources():
    """One card per generate job, the smallest that holds the cell; nothing without cards."""
    if not CARDS:
        return {}
    return {
        "gpu": 1,
        "gpu_model": lambda wildcards: card_of(group_of(wildcards)).model,
        "slurm_partition": lambda wildcards: card_of(group_of(wildcards)).partition,
    }


def refuse_what_fits_no_card():
    """Stop before the first job, not at the job, if a cell still to be generated fits no card."""
    reasons = {}
    for group in GROUPS if CARDS else []:
        folder = Path(RESULTS, "cells", group.model, group.precision, group.task)
        if all((folder / f"{name}.parquet").exists() for name in group.conditions):
            continue
        try:
            card_of(group)
        except FitsNoCard as error:
            reasons[f"{group.model} in {group.precision}"] = error
    if reasons:
        raise WorkflowError(
            "Some cells fit no card. Add a card to gpu_cards in slurm/config.yaml, lower "
            "engine.slots, or leave these out of the studies:\n"
            + "\n".join(f"  {name}: {reason}" for name, reason in reasons.items())
        )


if workflow.is_main_process:
    refuse_what_fits_no_card()


def image_digest(role):
    """sha256 of a role's image where jobs run in one, for Snakemake tracks its path alone.

    Taken once and kept beside the image, since every job on the cluster asks again.
    """
    image = Path(CONTAINERS[role])
    methods = workflow.deployment_settings.deployment_method
    if DeploymentMethod.APPTAINER not in methods or not image.is_file():
        return None
    status, kept = image.stat(), image.with_suffix(".sha256")
    stamp = f"{status.st_size} {status.st_mtime_ns}"
    digest, _, of = kept.read_text().partition(" ") if kept.is_file() else ("", "", "")
    if of != stamp:
        digest = sha256_file(image)
        write_text(kept, f"{digest} {stamp}")
    return digest
