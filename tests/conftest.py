"""Real models and real data for the tests.

The two demo models are converted once and kept in `results/test_models` (or the folder named by TABOO_TEST_MODELS). Benchmark files come from the folder named by TABOO_BENCHMARKS; tests that need it are skipped without it.
"""

import os
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from taboo.models import fetch_model, verify_snapshot

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct: a Llama architecture with byte-level BPE."""
    return snapshot("smollm2-135m-instruct")


@pytest.fixture(scope="session")
def gemma_path() -> Path:
    """Gemma-3-270M base: sliding-window layers and SentencePiece."""
    return snapshot("gemma-3-270m")


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of real benchmark files."""
    folder = os.environ.get("TABOO_BENCHMARKS")
    if not folder:
        pytest.skip("TABOO_BENCHMARKS does not name a folder with the benchmarks")
    if not Path(folder).is_dir():
        pytest.fail(f"TABOO_BENCHMARKS names {folder}, which is not there")
    return Path(folder)


def snapshot(model: str) -> Path:
    """The folder of a demo model, converted if it isn't there yet."""
    cache = Path(os.environ.get("TABOO_TEST_MODELS", ROOT / "results" / "test_models"))
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / model
    with FileLock(cache / f"{model}.lock"):
        try:
            verify_snapshot(folder)
        except (OSError, ValueError):
            config = yaml.safe_load((ROOT / "config" / "demo.yaml").read_text(encoding="utf-8"))
            fetch_model(config["models"][model]["source"], folder)
    return folder / "files"
