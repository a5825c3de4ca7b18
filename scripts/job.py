"""What all scripts share: a log file, and a record of what was made."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Scripts run in processes of their own, on a cluster on other machines or in containers, where the
# library need not be installed. They import this file first.
sys.path.insert(0, str(Path(__file__).parent.parent))

# Bars are for a terminal; in a log they are noise. Read by the libraries when they are imported.
if not sys.stderr.isatty():
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

from taboo.provenance.machine import Usage, container, image_lock, installed
from taboo.provenance.records import input_digests, write_records

PACKAGES = [
    *("torch", "transformers", "tokenizers", "safetensors", "bitsandbytes", "numpy", "pandas"),
    *("pyarrow", "scipy", "statsmodels", "matplotlib", "snakemake"),
]
"""The packages whose installed versions a record names."""


@contextmanager
def job(snakemake: Any) -> Iterator[tuple[logging.Logger, dict[str, Any]]]:
    """Hold the inputs against their records, log to the rule's log file and, if all goes well, record the outputs.

    Yields a logger and a dict to put further facts for the record into; those that may differ between two equal runs go under its key `volatile`.
    """
    usage = Usage()
    log = logging.getLogger("taboo")
    log.setLevel(logging.INFO)
    handler = logging.FileHandler(snakemake.log[0], mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    results = snakemake.log[0].split("/logs/")[0]
    facts: dict[str, Any] = {}
    try:
        inputs = input_digests(results, dict.fromkeys(map(str, snakemake.input)))
        yield log, facts
    except BaseException as error:
        log.exception("%s failed: %s", snakemake.rule, error)
        raise
    params = {name: plain(value) for name, value in snakemake.params.items()}
    volatile = {**usage.facts(), **facts.pop("volatile", {})}
    write_records(
        results,
        snakemake.rule,
        inputs,
        map(str, snakemake.output),
        params,
        facts,
        {"packages": installed(PACKAGES), "container": container(), "lock": image_lock()},
        volatile,
    )


def plain(value: Any) -> Any:
    """Snakemake's parameters as plain JSON-able values."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) or type(value).__name__ == "Namedlist":
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value
