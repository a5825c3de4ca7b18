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


def generate_memory(conditions):
    own = of_group(
        conditions,
        lambda g: generate_memory_mb(size_of(g), g.precision, bool(CARDS)),
    )
    return lambda wildcards, attempt: job_memory_mb(own(wildcards), attempt)


def generate_runtime(conditions):
    own = of_group(
        conditions,
        lambda g: generate_minutes(size_of(g), most_tokens(CONFIG, g), bool(CARDS)),
    )
    return lambda wildcards, attempt: own(wildcards) * attempt


def gpu_resources(conditions):
    """One card per generate job, the smallest that holds the cell; nothing without cards."""
    if not CARDS:
        return {}
    return {
        "gpu": 1,
        "gpu_model": of_group(conditions, lambda g: card_of(g).model),
        "slurm_partition": of_group(conditions, lambda g: card_of(g).partition),
    }


def model_resources(model_of):
    """For a job that is no cell: one of our models in bf16, on the smallest card that holds it."""

    def size(wildcards):
        return CONFIG["models"][model_of(wildcards)]["size_b"]

    def card(wildcards):
        return smallest_card(CARDS, size(wildcards), "bf16", CONFIG["engine"]["slots"])

    needed = {
        "mem_mb": lambda wildcards, attempt: job_memory_mb(
            generate_memory_mb(size(wildcards), "bf16", bool(CARDS)), attempt
        ),
        "runtime": minutes(240),
    }
    if CARDS:
        needed |= {
            "gpu": 1,
            "gpu_model": lambda wildcards: card(wildcards).model,
            "slurm_partition": lambda wildcards: card(wildcards).partition,
        }
    return needed


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


def in_images():
    methods = workflow.deployment_settings.deployment_method
    return DeploymentMethod.APPTAINER in methods


def refuse_without_images():
    """Stop before the first job if a role's image was not built."""
    roles = ["generate", "analyse"]
    if JUDGE and JUDGE.provider != "local":
        roles.append("judge")
    if missing := [role for role in roles if not Path(CONTAINERS[role]).is_file()]:
        commands = "\n".join(
            f"  apptainer build --build-arg ROLE={role} containers/{role}.sif containers/taboo.def"
            for role in missing
        )
        raise WorkflowError(
            f"Jobs are to run in images that are not there; build them with\n{commands}"
        )


if workflow.is_main_process:
    refuse_what_fits_no_card()
    if in_images() and really_runs():
        refuse_without_images()


def image_digest(role):
    """sha256 of a role's image where jobs run in one, for Snakemake tracks its path alone.

    Taken once and kept beside the image, since every job on the cluster asks again.
    """
    image = Path(CONTAINERS[role])
    if not in_images() or not image.is_file():
        return None
    status, kept = image.stat(), image.with_suffix(".sha256")
    stamp = f"{status.st_size} {status.st_mtime_ns}"
    digest, _, of = kept.read_text().partition(" ") if kept.is_file() else ("", "", "")
    if of != stamp:
        digest = sha256_file(image)
        write_text(kept, f"{digest} {stamp}")
    return digest
