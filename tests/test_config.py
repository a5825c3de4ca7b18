"""The configuration: the shipped ones are valid, and every mistake is named."""

import copy
from pathlib import Path

import pytest
import yaml

from taboo.config import ConfigError, complete, load_config, merge
from taboo.plan import Cell, condition, groups, study_cells

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
OVERLAYS = sorted((ROOT / "config").glob("*.yaml"))

SMALL = {
    "seed": 1,
    "run": ["one"],
    "models": {
        "tiny": {
            "source": {"path": "models/tiny"},
            "family": "f",
            "label": "Tiny",
            "size_b": 0.1,
            "alignment": "base",
            "licence": "MIT",
        }
    },
    "tasks": {"gsm8k": {"max_new_tokens": 8, "stop": ["\n\n"]}},
    "studies": {
        "one": {
            "models": ["tiny"],
            "precisions": ["bf16"],
            "tasks": {"gsm8k": 3},
            "conditions": ["baseline", "taboo_i1"],
        }
    },
}


def changed(path: str, value) -> dict:
    """SMALL with the value at a dotted path replaced, or removed if None."""
    config = copy.deepcopy(SMALL)
    *parents, last = path.split(".")
    node = config
    for key in parents:
        node = node.setdefault(key, {})
    if value is None:
        del node[last]
    else:
        node[last] = value
    return config


@pytest.mark.parametrize("overlay", [None, *OVERLAYS], ids=lambda p: p.stem if p else "config")
def test_shipped_configurations_are_valid(overlay):
    config = load_config([ROOT / "config.yaml", *([overlay] if overlay else [])], SCHEMA)
    assert groups(config)


def test_small_configuration_is_completed():
    config = complete(SMALL, SCHEMA)
    assert config["results"] == "results"
    assert config["sandbox"] == "namespaces"
    assert condition(config, "gsm8k", "taboo_i1").stop == ("\n\n",)
    assert condition(config, "gsm8k", "taboo_i1").max_new_tokens == 8


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("modles", {}, r"unknown key modles; allowed: .*models"),
        ("tasks.gsm9k", {"max_new_tokens": 1}, r"tasks: unknown key gsm9k; allowed: gsm8k"),
        ("models.tiny.size", 3, r"models\.tiny: unknown key size; allowed: .*size_b"),
        ("models.tiny.alignment", "chat", r"alignment: 'chat' is not allowed; allowed: base, instruct"),
        ("models.tiny.source", {"url": "x"}, r"source: .*allowed forms: hub; package_files \+ sha256; path"),
        ("models.tiny.size_b", "big", r"models\.tiny\.size_b: 'big' is not of type 'number'"),
        ("models.tiny.licence", None, r"models\.tiny: 'licence' is a required property"),
        ("run", ["two"], r"run: two: there is none of that name; known: one"),
        ("studies.one.models", ["huge"], r"studies\.one\.models: huge: .*known: tiny"),
        ("studies.one.tasks", {"mmlu": 3}, r"studies\.one\.tasks: mmlu: .*known: gsm8k"),
        ("studies.one.tasks", {"gsm8k": 0}, r"studies\.one\.tasks\.gsm8k: 0 is less than"),
        ("studies.one.conditions", ["baseline", "taboo_1"], r"studies\.one\.conditions: unknown condition 'taboo_1'"),
        ("studies.one.conditions", ["taboo_i1"], r"studies\.one\.conditions: taboo_i1 is compared with baseline"),
        ("studies.one.precisions", ["fp8"], r"precisions\.0: 'fp8' is not allowed; allowed: bf16, fp32, nf4, int8"),
        ("figures", {"dose": {"studies": ["two"]}}, r"figures\.dose\.studies: two: .*known: one"),
        ("sandbox", "off", r"sandbox: 'off' is not allowed; allowed: namespaces, none"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_what_is_allowed(path, value, message):
    with pytest.raises(ConfigError, match=message):
        complete(changed(path, value), SCHEMA)


def test_all_mistakes_are_named_at_once():
    config = changed("seed", -1)
    config["sandbox"] = "off"
    with pytest.raises(ConfigError, match=r"(?s)sandbox.*seed"):
        complete(config, SCHEMA)


def test_overlay_is_merged_by_key_and_lists_are_replaced(tmp_path):
    assert merge({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [3]}, "d": 4}) == {
        "a": {"b": 1, "c": [3]},
        "d": 4,
    }
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "b.yaml").write_text("studies: {one: {conditions: [baseline]}}\n")
    config = load_config([tmp_path / "a.yaml", tmp_path / "b.yaml"], SCHEMA)
    assert config["studies"]["one"]["conditions"] == ["baseline"]
    assert config["studies"]["one"]["tasks"] == {"gsm8k": 3}


def test_broken_yaml_is_named(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [1")
    with pytest.raises(ConfigError, match=r"a\.yaml is not valid YAML"):
        load_config([tmp_path / "a.yaml"], SCHEMA)


def test_mirror_from_the_environment_unless_configured(monkeypatch):
    monkeypatch.setenv("TABOO_MIRROR", "/data/benchmarks")
    assert complete(SMALL, SCHEMA)["mirror"] == "/data/benchmarks"
    assert complete({**SMALL, "mirror": "here"}, SCHEMA)["mirror"] == "here"


def test_shared_cells_are_planned_once_for_the_largest_sample():
    config = copy.deepcopy(SMALL)
    config["studies"]["two"] = {
        "models": ["tiny"],
        "precisions": ["bf16", "nf4"],
        "tasks": {"gsm8k": 10},
        "conditions": ["baseline", "taboo_i2"],
    }
    config["run"] = ["one", "two"]
    assert [(g.precision, g.n, g.conditions) for g in groups(complete(config, SCHEMA))] == [
        ("bf16", 10, ("baseline", "taboo_i1", "taboo_i2")),
        ("nf4", 10, ("baseline", "taboo_i2")),
    ]
    assert list(study_cells(SMALL["studies"]["one"])) == [
        Cell("tiny", "bf16", "gsm8k", "baseline"),
        Cell("tiny", "bf16", "gsm8k", "taboo_i1"),
    ]
