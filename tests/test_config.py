"""The configuration: the shipped ones are valid, and every mistake is named."""

import copy
from pathlib import Path

import pytest
import yaml

from taboo.claims import load_claims
from taboo.conditions import parse_condition
from taboo.config import ConfigError, complete, expand, load_config, merge
from taboo.figures import FIGURES
from taboo.lock import write_lock
from taboo.plan import condition, groups
from taboo.stats import ANALYSES
from taboo.tasks import TASKS, load_task
from taboo.tasks.sampling import load_items

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
        ("figures", {"dosis": {"studies": ["one"]}}, r"figures: 'dosis' is not allowed; allowed: heatmap"),
        ("figures", {"dose": {"studies": ["one"], "taks": []}}, r"figures\.dose: unknown key taks; allowed: .*tasks"),
        ("studies.one.models", ["tiny{", "tiny"], r"studies\.one\.models: 'tiny\{': braces must come in pairs"),
        ("studies.one.models", ["tiny{,{a,b}}"], r"studies\.one\.models: .*braces must come in pairs"),
        ("studies.one.models", ["tiny", "{tiny,huge}"], r"studies\.one\.models: tiny is named more than once"),
        ("studies.one.models", ["tiny{,-instruct}"], r"studies\.one\.models: tiny-instruct: .*known: tiny"),
        ("allow_unlocked", "yes", r"allow_unlocked: 'yes' is not of type 'boolean'"),
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


def test_overlay_that_is_no_mapping_is_named(tmp_path):
    (tmp_path / "a.yaml").write_text("[a, b]")
    with pytest.raises(ConfigError, match=r"a\.yaml must hold keys with values, not a list"):
        load_config([tmp_path / "a.yaml"], SCHEMA)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("tasks", ["gsm8k", "gsm9k"], r"figures\.retention\.tasks: gsm9k: .* known: gsm8k"),
        ("families", ["g"], r"figures\.retention\.families: g: .* known: f"),
        ("precision", "nf4", r"figures\.retention\.precision: nf4: .* known: bf16"),
        ("task", "mmlu", r"figures\.retention\.task: mmlu: .* known: gsm8k"),
        ("models", ["huge"], r"figures\.retention\.models: huge: .* known: tiny"),
        ("sizes", [7], r"figures\.retention\.sizes: 7: .* known: 0.1"),
    ],
)
def test_options_of_figures_name_what_there_is(option, value, message):
    config = changed("figures", {"retention": {"studies": ["one"], option: value}})
    with pytest.raises(ConfigError, match=message):
        complete(config, SCHEMA)


def test_inherited_options_that_would_leave_nothing_of_a_study_do_not_apply():
    base = load_config([ROOT / "config.yaml"], SCHEMA)
    own = {
        "models": ["llama-3.1-8b"],
        "precisions": ["bf16"],
        "tasks": {"humaneval": 3},
        "conditions": ["baseline", "taboo_i1"],
    }
    overlay = {
        "run": ["mine"],
        "studies": {"mine": own},
        "figures": {name: {"studies": ["mine"]} for name in ("retention", "heatmap", "exception")},
    }
    figures = complete(merge(base, overlay), SCHEMA)["figures"]
    assert figures["retention"] == {"studies": ["mine"]}
    assert figures["heatmap"].keys() == {"studies", "ladder_from", "representative_size"}
    assert figures["exception"] == {"studies": ["mine"], "family": "llama-3"}
    assert figures["ladder"] == base["figures"]["ladder"]


def test_mirror_from_the_environment_unless_configured(monkeypatch):
    monkeypatch.setenv("TABOO_MIRROR", "/data/benchmarks")
    assert complete(SMALL, SCHEMA)["mirror"] == "/data/benchmarks"
    assert complete({**SMALL, "mirror": "here"}, SCHEMA)["mirror"] == "here"


def test_names_with_braces_are_written_out():
    assert expand("taboo_i{1,2}_t1_s{0,1}") == [
        "taboo_i1_t1_s0",
        "taboo_i1_t1_s1",
        "taboo_i2_t1_s0",
        "taboo_i2_t1_s1",
    ]
    assert expand("llama-3.1-8b{,-instruct}") == ["llama-3.1-8b", "llama-3.1-8b-instruct"]
    assert expand("baseline") == ["baseline"]
    config = complete(changed("studies.one.conditions", ["baseline", "taboo_i{1,2}"]), SCHEMA)
    assert config["studies"]["one"]["conditions"] == ["baseline", "taboo_i1", "taboo_i2"]
    assert complete(config, SCHEMA) == config


def test_schema_knows_the_figures_analyses_and_tasks_there_are():
    rules = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["properties"]
    assert rules["figures"]["propertyNames"]["enum"] == list(FIGURES)
    study = rules["studies"]["additionalProperties"]["properties"]
    assert study["analyses"]["items"]["enum"] == list(ANALYSES)
    assert list(rules["tasks"]["properties"]) == list(TASKS)


def test_overlay_of_the_page_on_models_is_valid(tmp_path):
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    (tmp_path / "my.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    config = load_config([ROOT / "config.yaml", tmp_path / "my.yaml"], SCHEMA)
    (group,) = groups(config)
    assert (group.model, group.n, len(group.conditions)) == ("my-model", 100, 5)


def test_lock_is_applied(tmp_path):
    config = changed("models.tiny.source", {"hub": "org/tiny"})
    entry = {"revision": "0" * 40, "files": {"config.json": {"sha256": "1" * 64, "size": 2}}}
    lock = write_lock(tmp_path / "models.lock.yaml", {"org/tiny": entry})
    assert complete(config, SCHEMA, lock)["models"]["tiny"]["source"] == {
        "hub": "org/tiny",
        **entry,
    }
    assert complete(config, SCHEMA)["models"]["tiny"]["source"] == {"hub": "org/tiny"}


def test_data_of_the_tasks_are_those_published(benchmarks):
    config = load_config([ROOT / "config.yaml"], SCHEMA)
    for name, task in config["tasks"].items():
        items = load_items(
            load_task(name), benchmarks, records=task["records"], sha256=task["sha256"]
        )
        largest = max(s["tasks"].get(name, 0) for s in config["studies"].values())
        assert 0 < largest <= len(items)


def test_claims_are_about_cells_that_a_study_runs():
    """A claim about another cell could never be checked."""
    config = load_config([ROOT / "config.yaml"], SCHEMA)
    for claim in load_claims(ROOT / "claims.yaml"):
        for other in ({}, claim.minus or {}, claim.over or {}):
            where = {**claim.where, **other}
            study = config["studies"][where["study"]]
            if claim.table == "judge":
                assert config["judge"]["study"] == where["study"]
                assert where["task"] in config["judge"]["tasks"]
            elif claim.table not in ("cells", "timing"):
                assert claim.table in study["analyses"], claim.id
            for column, there in columns(config, study).items():
                value = where.get(column, [])
                wanted = set(value if isinstance(value, list) else [value])
                assert wanted <= there, (claim.id, column)


def columns(config: dict, study: dict) -> dict[str, set]:
    """The values that the cells of a study have, by column."""
    conditions = [parse_condition(name) for name in study["conditions"]]
    return {
        "model": set(study["models"]),
        "task": set(study["tasks"]),
        "precision": set(study["precisions"]),
        "condition": set(study["conditions"]),
        "family": {config["models"][name]["family"] for name in study["models"]},
        "mode": {condition.mode for condition in conditions},
        "rank": {condition.rank for condition in conditions},
        "temperature": {condition.temperature for condition in conditions},
    }
