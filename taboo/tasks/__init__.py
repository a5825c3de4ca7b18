"""The benchmarks: what a model is shown. One module per task, loaded when it is asked for."""

import importlib

from taboo.tasks.base import Hub, Prompt, Task, TaskError

TASKS: tuple[str, ...] = (
    "gsm8k",
    "mmlu",
    "triviaqa",
    "humaneval",
    "ifeval",
    "ifeval_forbidden_words",
)

__all__ = ["TASKS", "Hub", "Prompt", "Task", "TaskError", "load_task"]


def load_task(name: str) -> Task:
    """The task of that name. Only its own module is imported. An unknown name raises TaskError."""
    if name not in TASKS:
        raise TaskError(f"there is no task {name!r}; known: {', '.join(TASKS)}")
    return importlib.import_module(f"taboo.tasks.{name}").TASK
