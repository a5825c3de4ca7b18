"""The configuration: read, merged, validated."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from taboo.conditions import parse_condition

MIRROR_VARIABLE = "TABOO_MIRROR"


class ConfigError(ValueError):
    """The configuration is wrong; the message names the key and what is allowed."""


def load_config(paths: Iterable[str | Path], schema: str | Path) -> dict[str, Any]:
    """Read `paths`, merge each over the ones before, validate and complete the result."""
    merged: dict[str, Any] = {}
    for path in paths:
        try:
            loaded = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ConfigError(f"{path} is not valid YAML: {error}") from error
        merged = merge(merged, loaded or {})
    return complete(merged, schema)


def merge(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """`overlay` over `base`, key by key; anything but a mapping is replaced."""
    result = dict(base)
    for key, value in overlay.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return result


def complete(config: Mapping[str, Any], schema: str | Path) -> dict[str, Any]:
    """Validate `config` against the schema and its own cross-references, and fill in defaults.

    Raises ConfigError naming the key, what is wrong with it and the allowed values. The environment variable TABOO_MIRROR, where set, replaces `mirror` unless the configuration pins its own.
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
    _check_references(result)
    return result


_DEFAULTS: dict[str, Any] = {
    "results": "results",
    "mirror": None,
    "notice": None,
    "engine": {"slots": None},
    "sandbox": "namespaces",
    "figures": {},
}
_TASK_DEFAULTS: dict[str, Any] = {"stop": [], "revision": None, "records": None, "sha256": None}


def _check_references(config: Mapping[str, Any]) -> None:
    for name in config["run"]:
        _known(f"run: {name}", name, config["studies"])
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
    for name, figure in config["figures"].items():
        for study in figure["studies"]:
            _known(f"figures.{name}.studies: {study}", study, config["studies"])


def _known(where: str, name: str, allowed: Iterable[str]) -> None:
    names = list(allowed)
    if name not in names:
        raise ConfigError(f"{where}: there is none of that name; known: {', '.join(names)}")


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
