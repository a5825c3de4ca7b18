"""The judge's part of the configuration."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from taboo.config import ConfigError, complete, merge
from taboo.judge.settings import judge_settings

SCHEMA = Path("workflow") / "schemas" / "config.schema.yaml"


@pytest.fixture(scope="module")
def paper(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))


def changed(root: Path, paper: dict[str, Any], **judge: Any) -> Any:
    return judge_settings(complete(merge(paper, {"judge": judge}), root / SCHEMA))


def test_the_paper_asks_gemini_about_200_items_of_two_tasks(
    root: Path, paper: dict[str, Any]
) -> None:
    settings = changed(root, paper)
    assert settings.tasks == {"gsm8k": 200, "mmlu": 200}
    assert settings.who == "gemini-3.6-flash (gemini)"
    assert settings.max_cost_usd > 0


def test_the_demo_judges_40_items_with_its_larger_model(root: Path, paper: dict[str, Any]) -> None:
    demo = yaml.safe_load((root / "config" / "demo.yaml").read_text(encoding="utf-8"))
    config = complete(merge(paper, demo), root / SCHEMA)
    settings = judge_settings(config)
    assert settings is not None
    assert sum(settings.tasks.values()) == 40
    assert settings.provider == "local"
    models = [config["models"][name] for name in config["studies"]["demo"]["models"]]
    assert config["models"][settings.model]["size_b"] == max(model["size_b"] for model in models)
    assert settings.notice
    assert "is no judge" in settings.notice


def test_no_judge_or_no_study_is_no_judging(root: Path, paper: dict[str, Any]) -> None:
    for change in ({"judge": None}, {"run": ["ladder"]}):
        assert judge_settings(complete(merge(paper, change), root / SCHEMA)) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tasks": {"humaneval": 10}}, r"judge\.tasks\.humaneval: the judge has prompts for gsm8k"),
        ({"provider": "local"}, r"judge\.model: gemini-3\.6-flash is none of the models"),
        ({"provider": "oracle"}, "judge.provider: 'oracle' is not allowed; allowed: gemini"),
        ({"temperature": 0.7}, "judge.temperature: 0.7 is not allowed"),
        ({"api_key": "sk-1"}, "judge: unknown key api_key"),
        ({"max_cost_usd": -1}, "judge.max_cost_usd"),
        ({"prices": {"input": "cheap"}}, "judge.prices.input"),
        ({"tasks": {"gsm8k": 0}}, "judge.tasks.gsm8k"),
    ],
)
def test_a_wrong_setting_is_named(
    change: dict[str, Any], says: str, root: Path, paper: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=says):
        changed(root, paper, **change)


def test_a_task_must_be_one_of_the_study(root: Path, paper: dict[str, Any]) -> None:
    config = complete(paper, root / SCHEMA)
    del config["studies"]["main"]["tasks"]["mmlu"]
    with pytest.raises(ConfigError, match=r"judge\.tasks\.mmlu: study main has no such task"):
        judge_settings(config)
