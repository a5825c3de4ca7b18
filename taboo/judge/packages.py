"""The clients of remote judges, imported only when one is asked."""

import importlib
import logging
from types import ModuleType
from typing import Any

from taboo.judge.provider import JudgeError

_PACKAGES = {"openai": "openai", "google": "google-genai", "httpx2": "google-genai"}
_TALKATIVE = ("openai", "google_genai", "google.auth", "httpx2", "httpcore2")


def needed(module: str) -> Any:
    """Import a client's module. Raises JudgeError saying what to install.

    The clients can be made to log whole requests, with their keys (OPENAI_LOG=debug); here they only warn.
    """
    try:
        found: ModuleType = importlib.import_module(module)
    except ImportError as error:
        package = _PACKAGES[module.partition(".")[0]]
        raise JudgeError(
            f"the judge needs the package {package}: pip install --constraint envs/constraints.txt {package}"
        ) from error
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    return found
