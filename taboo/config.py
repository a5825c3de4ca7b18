"""The configuration: read, merged, validated."""

import itertools
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from taboo.conditions import parse_condition
from taboo.lock import apply_lock, read_lock

MIRROR_VARIABLE = "TABOO_MIRROR"
REPRO = "repro"
"""The study that has no cells: it is named in `run` like the others and has a part of its own."""


class ConfigError(ValueError):
    """The configuration is wrong; the message names the key and what is allowed."""


def load_config(
    paths: Iterable[str | Path], schema: str | Path, lock: str | Path | None = None
) -> dict[str, Any]:
    """Read `paths`, merge each over the ones before, validate and complete the result."""
    merged: dict[str, Any] = {}
    for path in paths:
        try:
            loaded = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ConfigError(f"{path} is not valid YAML: {error}") from error
        if not isinstance(loaded or {}, Mapping):
            raise ConfigError(f"{path} must hold keys with values, not a {type(loaded).__name__}")
        merged = merge(merged, loaded or {})
    return complete(merged, schema, lock)


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """`overlay` over `base`, key by key; anything but a mapping is replaced."""
    result = dict(base)
    for key, value in overlay.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return result


def complete(
    config: Mapping[str, Any], schema: str | Path, lock: str | Path | None = None
) -> dict[str, Any]:
    """Validate `config` against the schema and its own cross-references, and fill in defaults.

    With `lock`, the lock's file, the models and data sets of the hub get their commits and digests from it (see `taboo.lock`). Raises ConfigError naming the key, what is wrong with it and the allowed values. The environment variable TABOO_MIRROR, where set, replaces `mirror` unless the configuration pins its own.
    """
    rules = yaml.safe_load(Path(schema).read_text(encoding="utf-8"))
    errors = sorted(
        jsonschema.Draft202012Validator(rules).iter_errors(config),
        key=lambda e: list(map(str, e.path)),
    )
    if errors:
        raise ConfigError("\n".join(_explain(error) for error in errors))
    result = merge(_DEFAULTS, config)
    if os.environ.get(MIRROR_VARIABLE) and not result["mirror"]:
        result["mirror"] = os.environ[MIRROR_VARIABLE]
    result["tasks"] = {name: merge(_TASK_DEFAULTS, task) for name, task in config["tasks"].items()}
    result["studies"] = {
        name: {**study, **{key: _listed(study, name, key) for key in ("models", "conditions")}}
        for name, study in config["studies"].items()
    }
    result["run"] = [name for name in config["run"] if name != REPRO]
    if REPRO not in config["run"]:
        result[REPRO] = None
    elif result[REPRO] is None:
        raise ConfigError("run: repro: there is no part `repro` that says what to run")
    _check_references(result)
    result["figures"] = {
        name: _applicable(figure, result) for name, figure in result["figures"].items()
    }
    return result if lock is None else apply_lock(result, read_lock(lock))


def expand(pattern: str) -> list[str]:
    """The names that `pattern` stands for: braces hold alternatives, as in a shell.

    `taboo_i{1,2}_t1_s{0,1}` is `taboo_i1_t1_s0`, `taboo_i1_t1_s1`, `taboo_i2_t1_s0`, `taboo_i2_t1_s1`. Raises ConfigError where braces do not match; they can't be nested.
    """
    parts = re.split(r"\{([^{}]*)\}", pattern)
    if any(brace in part for part in parts[::2] for brace in "{}"):
        raise ConfigError(f"{pattern!r}: braces must come in pairs, one inside another is not read")
    choices = [part.split(",") if number % 2 else [part] for number, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def _listed(study: Mapping[str, Any], name: str, key: str) -> list[str]:
    where = f"studies.{name}.{key}"
    try:
        names = [one for pattern in study[key] for one in expand(pattern)]
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if twice := sorted({one for one in names if names.count(one) > 1}):
        raise ConfigError(f"{where}: {', '.join(twice)} is named more than once")
    return names


_DEFAULTS: dict[str, Any] = {
    "results": "results",
    "mirror": None,
    "notice": None,
    "engine": {"slots": None},
    "sandbox": "namespaces",
    "allow_unlocked": False,
    "figures": {},
    REPRO: None,
}
_TASK_DEFAULTS: dict[str, Any] = {"stop": [], "revision": None, "records": None, "sha256": None}


def _check_references(config: Mapping[str, Any]) -> None:
    for name in config["run"]:
        _known(f"run: {name}", name, config["studies"])
    if config[REPRO] is not None:
        _check_repro(config)
    for name, study in config["studies"].items():
        where = f"studies.{name}"
        for model in study["models"]:
            _known(f"{where}.models: {model}", model, config["models"])
        for task in study["tasks"]:
            _known(f"{where}.tasks: {task}", task, config["tasks"])
        for text in study["conditions"]:
            try:
                condition = parse_condition(text)
            except ValueError as error:
                raise ConfigError(f"{where}.conditions: {error}") from error
            if condition.baseline_name not in study["conditions"]:
                raise ConfigError(
                    f"{where}.conditions: {text} is compared with {condition.baseline_name}, "
                    "which is not in the list"
                )
    choices = _choices(config, config["studies"])
    for name, figure in config["figures"].items():
        for study in figure["studies"]:
            _known(f"figures.{name}.studies: {study}", study, config["studies"])
        for option, allowed in choices.items():
            for value in _values(figure.get(option)):
                _known(f"figures.{name}.{option}: {value}", value, allowed)


def _choices(config: Mapping[str, Any], studies: Iterable[str]) -> dict[str, list[Any]]:
    """What a figure of these studies can be narrowed to, by the figure's option."""
    chosen = [config["studies"][name] for name in studies]
    models = [model for study in chosen for model in study["models"]]
    tasks = [task for study in chosen for task in study["tasks"]]
    families = [config["models"][model]["family"] for model in models]
    sizes = [config["models"][model]["size_b"] for model in models]
    precisions = [precision for study in chosen for precision in study["precisions"]]
    found = {
        "tasks": tasks,
        "task": tasks,
        "models": models,
        "families": families,
        "family": families,
        "ladder_family": families,
        "sizes": sizes,
        "precision": precisions,
        "reference": precisions,
    }
    return {option: list(dict.fromkeys(values)) for option, values in found.items()}


def _values(option: Any) -> list[Any]:
    if option is None:
        return []
    return option if isinstance(option, list) else [option]


def _applicable(figure: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The figure without options that would leave nothing of its studies.

    An overlay's figure inherits options that were written for other studies: the paper's tasks say nothing about a study of one's own task.
    """
    choices = _choices(config, figure["studies"])
    return {
        option: value
        for option, value in figure.items()
        if option not in choices or set(_values(value)) & set(choices[option])
    }


def _check_repro(config: Mapping[str, Any]) -> None:
    for model in config[REPRO]["models"]:
        _known(f"repro.models: {model}", model, config["models"])
    _known(f"repro.task: {config[REPRO]['task']}", config[REPRO]["task"], config["tasks"])
    for text in config[REPRO]["conditions"]:
        try:
            condition = parse_condition(text)
        except ValueError as error:
            raise ConfigError(f"repro.conditions: {error}") from error
        if condition.temperature:
            raise ConfigError(f"repro.conditions: {text} is sampled, but these must be greedy")


def _known(where: str, name: Any, allowed: Iterable[Any]) -> None:
    names = list(allowed)
    if name not in names:
        raise ConfigError(
            f"{where}: there is none of that name; known: {', '.join(map(str, names))}"
        )


def _explain(error: jsonschema.ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the configuration"
    rule: Any = error.validator_value
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        schema: Any = error.schema
        allowed = sorted(schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(allowed))
        return f"{where}: unknown key {', '.join(map(str, unknown))}; allowed: {', '.join(allowed)}"
    if error.validator == "enum":
        return f"{where}: {error.instance!r} is not allowed; allowed: {', '.join(map(str, rule))}"
    if error.validator == "oneOf":
        forms = [" + ".join(form.get("required", [])) for form in rule]
        return f"{where}: {error.instance!r} has none of the allowed forms: {'; '.join(forms)}"
    return f"{where}: {error.message}"
