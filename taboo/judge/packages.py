"""The clients of remote judges, imported only when one is asked."""

import importlib
from types import ModuleType
from typing import Any

from taboo.judge.provider import JudgeError

_PACKAGES = {"openai": "openai", "google": "google-genai", "httpx2": "google-genai"}


def needed(module: str) -> Any:
    """Import a client's module. Raises JudgeError saying what to install."""
    try:
        found: ModuleType = importlib.import_module(module)
    except ImportError as error:
        package = _PACKAGES[module.partition(".")[0]]
        raise JudgeError(
            f"the judge needs the package {package}: pip install --constraint envs/constraints.txt {package}"
        ) from error
    return found
