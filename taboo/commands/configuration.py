"""Which configuration a command works on: `--config`, merged over `config.yaml`."""

import argparse
from pathlib import Path
from typing import Any

from taboo.config import load_config
from taboo.lock import LOCK
from taboo.provenance.sources import source_digest

SCHEMA = Path("workflow") / "schemas" / "config.schema.yaml"


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Add `--config FILE`, as many as wanted."""
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="an overlay merged over config.yaml, as snakemake --configfile; may be repeated",
    )


def configuration(overlays: list[str], locked: bool = True) -> dict[str, Any]:
    """The completed configuration, `locked` with what models.lock.yaml says. Run from the repository's root."""
    if not SCHEMA.is_file():
        raise FileNotFoundError("there is no config.yaml here: run taboo in the repository's root")
    return load_config(["config.yaml", *overlays], SCHEMA, LOCK if locked else None)


def generating_code() -> str:
    """The source digest of the generating code, as the workflow takes it."""
    return source_digest(Path(), "taboo/engine/slots.py")
