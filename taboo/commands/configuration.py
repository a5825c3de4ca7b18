"""Which configuration a command works on: `--config`, merged over `config.yaml`."""

import argparse
from pathlib import Path
from typing import Any

from taboo.config import load_config

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


def configuration(overlays: list[str]) -> dict[str, Any]:
    """The completed configuration. Run from the repository's root."""
    if not SCHEMA.is_file():
        raise FileNotFoundError("there is no config.yaml here: run taboo in the repository's root")
    return load_config(["config.yaml", *overlays], SCHEMA)
