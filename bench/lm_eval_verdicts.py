"""The verdicts of lm-evaluation-harness on texts: JSON lines in, JSON lines out.

Runs in the environment of `lm_eval.txt` (see scoring.py), on the harness's own filters, metrics and task files. In: `task`, `item`, `text`. Out: `verdicts` by the name of the harness's reading, or the `program` that it would run.
"""

import importlib.util
import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import yaml

TASKS = Path(importlib.util.find_spec("lm_eval").origin).parent / "tasks"
FILES = {
    "gsm8k": "gsm8k/gsm8k.yaml",
    "mmlu": "mmlu/generative/_default_template_yaml",
    "triviaqa": "triviaqa/default.yaml",
    "humaneval": "humaneval/humaneval.yaml",
}


def main() -> None:
    """Read lines from standard input and write one for each."""
    for line in sys.stdin.buffer.read().split(b"\n"):
        if line:
            entry = json.loads(line)
            judge = ifeval if entry["task"].startswith("ifeval") else few_shot
            print(json.dumps(judge(entry["task"], entry["item"], entry["text"])))


def few_shot(task: str, item: dict[str, Any], text: str) -> dict[str, Any]:
    """Cut at the task's stop strings, then filter and compare as its file says."""
    config = configuration(task)
    for stop in config["generation_kwargs"]["until"]:
        text = text.split(stop, 1)[0]
    if task == "humaneval":
        return {"program": item["prompt"] + text}
    targets = {
        "gsm8k": lambda: [item["answer"]],
        "mmlu": lambda: ["ABCD"[item["answer"]]],
        "triviaqa": lambda: item["answer"]["aliases"],
    }[task]()
    verdicts = {}
    for pipeline in config["filter_list"]:
        texts: Any = [[text]]
        for step in pipeline["filter"]:
            texts = list(make_filter(step).apply(texts, [item]))
        verdicts[pipeline["name"]] = any(equal(config, texts[0], target) for target in targets)
    return {"verdicts": verdicts}


def equal(config: dict[str, Any], text: str, target: str) -> bool:
    """The task's exact_match."""
    from lm_eval.api.metrics import exact_match_hf_evaluate

    (metric,) = config["metric_list"]
    options = {key: metric[key] for key in metric if key.startswith(("ignore_", "regexes_"))}
    scored = exact_match_hf_evaluate(predictions=[text], references=[target], **options)
    return bool(scored["exact_match"])


def make_filter(step: dict[str, Any]) -> Any:
    """A filter of the harness from an entry of a task file."""
    import lm_eval.filters  # noqa: F401 (registers them)
    from lm_eval.api.registry import get_filter

    return get_filter(step["function"])(**{k: v for k, v in step.items() if k != "function"})


def configuration(task: str) -> dict[str, Any]:
    """A task file; what it says of functions is left out."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: None)
    return yaml.load((TASKS / FILES[task]).read_text(encoding="utf-8"), Loader)


def ifeval(task: str, item: dict[str, Any], text: str) -> dict[str, Any]:
    """The harness's checkers, strictly. An instruction that it would draw by lot gives None."""
    registry = checkers()
    verdicts = []
    for name, arguments in zip(item["instruction_id_list"], item["kwargs"], strict=True):
        if not re.fullmatch("[a-zA-Z]?", arguments.get("letter", "")):
            verdicts.append(None)
            continue
        checker = registry[name](name)
        checker.build_description(**arguments)
        verdicts.append(bool(text.strip()) and bool(checker.check_following(text)))
    return {"verdicts": dict(enumerate(verdicts))}


def checkers() -> dict[str, Any]:
    """The registry of the harness's checkers, with its language detection seeded and Punkt's model from a package instead of a download."""
    if "lm_eval.tasks" not in sys.modules:
        import langdetect
        import nltk
        import punkt

        os.environ["LOCAL_RANK"] = "1"  # so that nothing is downloaded
        nltk.data.find = lambda *arguments, **options: None
        package = types.ModuleType("lm_eval.tasks")  # its own __init__ wants every dependency
        package.__path__ = [str(TASKS)]
        sys.modules["lm_eval.tasks"] = package
        words = nltk.tokenize.NLTKWordTokenizer()
        nltk.word_tokenize = lambda text: [
            word for sentence in punkt.sent_tokenize(text) for word in words.tokenize(sentence)
        ]
        langdetect.DetectorFactory.seed = 0
        from lm_eval.tasks.ifeval import instructions_util

        instructions_util.count_sentences = lambda text: len(punkt.sent_tokenize(text))
    from lm_eval.tasks.ifeval import instructions_registry

    return instructions_registry.INSTRUCTION_DICT


if __name__ == "__main__":
    main()
