"""TriviaQA (Joshi et al. 2017), closed book: the Wikipedia validation questions, 7,993 items."""

from collections.abc import Mapping
from typing import Any

from taboo.tasks.base import PROMPTS, Hub, Item, Prompt, Task, Template, text_field, text_list

_PROMPT_FILE = PROMPTS / "triviaqa.txt"
_TEMPLATE = Template(_PROMPT_FILE, ("question",))


def normalise(record: Mapping[str, Any], position: int) -> Item:
    """`question_id`, `question` and `answer` with its `value` and alias sets; no evidence pages."""
    where = f"triviaqa record {position}"
    answer = record.get("answer")
    answer = answer if isinstance(answer, Mapping) else {}
    return {
        "question_id": text_field(record, "question_id", where),
        "question": text_field(record, "question", where),
        "answer": {
            "value": text_field(answer, "value", f"{where}, `answer`"),
            "normalized_value": text_field(answer, "normalized_value", f"{where}, `answer`", True),
            "aliases": text_list(answer, "aliases", f"{where}, `answer`"),
            "normalized_aliases": text_list(answer, "normalized_aliases", f"{where}, `answer`"),
        },
    }


def render(item: Item) -> Prompt:
    """Two answered questions, then the question and `Answer:`."""
    return _TEMPLATE.fill({"question": item["question"].strip()})


TASK = Task(
    name="triviaqa",
    version="1",
    hub=Hub(
        "mandarjoshi/trivia_qa",
        "rc.wikipedia.nocontext/validation-*.parquet",
        "0f7faf33a3908546c6fd5b73a660e0f8ff173c2f",
    ),
    mirror_file="triviaqa/rc.wikipedia.nocontext.validation.jsonl",
    prompt_file=_PROMPT_FILE,
    normalise=normalise,
    identify=lambda item, position: item["question_id"],
    render=render,
)
