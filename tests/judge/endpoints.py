"""Settings, judges and questions for the tests."""

from typing import Any

from taboo.judge.access import remote_judge
from taboo.judge.prompts import Question, ask_about
from taboo.judge.remote import Patience, Remote
from taboo.judge.settings import Settings
from tests.judge.fault_server import MODEL

KEY = "sk-never-write-this-anywhere-0123456789"


def settings(provider: str, **changes: Any) -> Settings:
    """The settings of a judge, for tests."""
    values: dict[str, Any] = {
        "study": "demo",
        "tasks": {"gsm8k": 4},
        "provider": provider,
        "model": MODEL,
        "served_by": "a test",
        "temperature": 0,
        "thinking": "minimal",
        "max_new_tokens": 16,
        "concurrency": 4,
        "timeout_s": 20,
        "prices": {"input": 1.0, "output": 10.0},
        "max_cost_usd": 1.0,
        "human_labels": None,
        "notice": None,
    }
    return Settings(**{**values, **changes})


def environment(provider: str, address: str, key: str = KEY) -> dict[str, str]:
    """The environment in which a provider finds an address and a key."""
    if provider == "gemini":
        return {"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": address}
    return {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{address}/v1"}


def judge_at(
    provider: str, address: str, patience: Patience | None = None, key: str = KEY, **changes: Any
) -> Remote:
    """A remote judge at an address, quick to try again."""
    chosen = settings(provider, **changes)
    judge = remote_judge(chosen, environment(provider, address, key))
    judge.patience = patience or Patience(
        chosen.concurrency, chosen.timeout_s, attempts=3, first_wait_s=0.01, longest_wait_s=0.5
    )
    return judge


def sums(n: int) -> dict[str, Question]:
    """`n` questions with keys."""
    items = [{"question": f"What is {i} plus {i}?", "answer": f"#### {2 * i}"} for i in range(n)]
    return {f"key{i}": ask_about("gsm8k", item, f"Answer: {2 * i}") for i, item in enumerate(items)}
