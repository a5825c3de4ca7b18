"""The clients are not needed until a remote judge is asked."""

import subprocess
import sys
from pathlib import Path

import pytest

from taboo.judge.packages import needed
from taboo.judge.provider import JudgeError
from tests.judge.endpoints import judge_at, sums


@pytest.mark.parametrize(
    ("provider", "module", "package"),
    [("openai", "openai", "openai"), ("gemini", "google.genai", "google-genai")],
)
def test_a_missing_client_is_named_with_what_to_install(
    provider: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    judge = judge_at(provider, "http://127.0.0.1:9")
    assert judge.identity
    with pytest.raises(JudgeError, match=f"pip install .* {package}$"):
        judge.ask(sums(1), lambda *_: None)


def test_a_client_that_is_there_is_imported() -> None:
    assert needed("openai").__name__ == "openai"


def test_nothing_of_the_judge_imports_a_client_or_torch() -> None:
    """The workflow reads the judge's settings on every call, and its scripts run where neither is installed."""
    code = (
        "import sys, taboo.judge.access, taboo.judge.run, taboo.judge.replies, taboo.judge.summary\n"
        "print([name for name in ('openai', 'google.genai', 'torch') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
