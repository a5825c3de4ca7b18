"""What the configuration says about the judge, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from taboo.config import ConfigError
from taboo.judge.prompts import JUDGED


@dataclass(frozen=True)
class Settings:
    """The `judge` part of the configuration (docs/judge.md says what each key means).

    `tasks` maps a task to the number of its generations that are judged. `prices` are US dollars per 10⁶ tokens, for `input` and `output`.
    """

    study: str
    tasks: Mapping[str, int]
    provider: Literal["gemini", "openai", "local"]
    model: str
    served_by: str
    temperature: float | None
    thinking: str | None
    max_new_tokens: int
    concurrency: int
    timeout_s: float
    prices: Mapping[str, float]
    max_cost_usd: float
    human_labels: str | None
    notice: str | None

    @property
    def who(self) -> str:
        """The judge's name for readers."""
        return f"{self.model} ({self.served_by if self.provider == 'openai' else self.provider})"


def judge_settings(config: Mapping[str, Any]) -> Settings | None:
    """The settings of a complete configuration, None where there is nothing to judge: no `judge`, or its study is not run.

    Raises ConfigError naming the key that does not fit the rest of the configuration.
    """
    if not config.get("judge") or config["judge"]["study"] not in config["run"]:
        return None
    settings = Settings(**config["judge"])
    study = config["studies"][settings.study]
    for task in settings.tasks:
        where = f"judge.tasks.{task}"
        if task not in JUDGED:
            raise ConfigError(f"{where}: the judge has prompts for {', '.join(JUDGED)} alone")
        if task not in study["tasks"]:
            raise ConfigError(f"{where}: study {settings.study} has no such task")
    if settings.provider == "local" and settings.model not in config["models"]:
        known = ", ".join(config["models"])
        raise ConfigError(
            f"judge.model: {settings.model} is none of the models, and provider local runs one of them: {known}"
        )
    return settings
