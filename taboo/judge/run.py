"""One judging: draw the subsample, ask what was not asked before, read the replies."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from taboo.files import sha256_json
from taboo.judge.prompts import Question, ask_about, prompt_sha256
from taboo.judge.provider import Provider, Reply
from taboo.judge.replies import Replies, reply_key
from taboo.judge.sample import subsample
from taboo.judge.verdict import read_verdict

_log = logging.getLogger("taboo")


@dataclass(frozen=True)
class Candidate:
    """One scored generation that may be judged. `scorer` is the scorer's verdict, `right` or `wrong`."""

    study: str
    model: str
    precision: str
    task: str
    condition: str
    rank: int
    item_id: str
    item: Mapping[str, Any]
    text: str
    finish_reason: str
    scorer: str
    outcome: str
    extracted: str | None
    rule: str

    @property
    def name(self) -> str:
        """What tells it from all other generations of its study."""
        parts = (self.model, self.precision, self.task, self.condition, self.item_id)
        return "/".join(parts)


def candidates(
    cell: Mapping[str, Any],
    generations: Sequence[Mapping[str, Any]],
    scores: Sequence[Mapping[str, Any]],
    items: Mapping[str, Mapping[str, Any]],
) -> list[Candidate]:
    """All generations of one cell.

    `cell` has `study`, `model`, `precision`, `task`, `condition` and `rank`; `generations` and `scores` are the rows of a cell and a score file; `items` are the task's items by `item_id`. Raises ValueError naming the cell where its files hold different items.
    """
    if [shown["item_id"] for shown in generations] != [score["item_id"] for score in scores]:
        raise ValueError(
            f"{cell['model']}/{cell['precision']}/{cell['task']}/{cell['condition']}: the score file has other items than the cell file; score the cell again"
        )
    return [
        Candidate(
            **cell,
            item_id=shown["item_id"],
            item=items[shown["item_id"]],
            text=shown["text"],
            finish_reason=shown["finish_reason"],
            scorer="right" if score["correct"] else "wrong",
            outcome=score["outcome"],
            extracted=score["extracted"],
            rule=score["rule"],
        )
        for shown, score in zip(generations, scores, strict=True)
    ]


def draw(rows: Sequence[Candidate], tasks: Mapping[str, int], seed: int) -> list[Candidate]:
    """The generations to judge: of each task as many as `tasks` says, in proportion over model, precision, condition and the scorer's verdict.

    Raises ValueError naming the key if a task has fewer.
    """
    drawn = []
    for task, n in tasks.items():
        of_task = [row for row in rows if row.task == task]
        if len(of_task) < n:
            raise ValueError(
                f"judge.tasks.{task}: {n} generations are to be judged, but the study has {len(of_task)}"
            )
        drawn += subsample(
            of_task,
            n,
            seed,
            name=lambda row: row.name,
            stratum=lambda row: (row.model, row.precision, row.condition, row.scorer),
        )
    return drawn


@dataclass(frozen=True)
class Judging:
    """What came of it: one row per generation, and the facts about the whole.

    `rows` is empty where the judge could not be asked; `facts["skipped"]` then says why.
    """

    rows: list[dict[str, Any]]
    facts: dict[str, Any]


def judge(
    drawn: Sequence[Candidate], provider: Provider, replies: Replies, lacking: str | None
) -> Judging:
    """Have the judge read `drawn`, asking only what `replies` does not hold.

    `lacking` says why the judge can't be asked now, None if it can. Raises JudgeError if the judge can't be asked any further; what it answered is kept.
    """
    asked = [ask_about(row.task, row.item, row.text) for row in drawn]
    identity = provider.identity
    keys = [reply_key(identity, question.prompt) for question in asked]
    known = {key: reply for key in keys if (reply := replies.get(key)) is not None}
    missing = {key: question for key, question in zip(keys, asked, strict=True) if key not in known}
    facts = {
        "identity": identity,
        "prompts": {task: prompt_sha256(task) for task in sorted({row.task for row in drawn})},
        "skipped": None,
    }
    _log.info("replies: %d known, %d to ask", len(known), len(missing))
    if missing and lacking:
        return Judging([], {**facts, "skipped": lacking})

    prompts = {key: question.prompt for key, question in zip(keys, asked, strict=True)}
    spent = sum(provider.cost(prompts[key], reply) for key, reply in known.items())

    def store(key: str, reply: Reply) -> None:
        replies.put(key, identity, prompts[key], reply)
        known[key] = reply

    try:
        if missing:
            provider.ask(missing, store, spent)
    finally:
        _log.info("replies: %d of %d are kept", len(known), len(prompts))
    cost = sum(provider.cost(prompts[key], reply) for key, reply in known.items())
    rows = [
        _row(row, question, key, known[key])
        for row, question, key in zip(drawn, asked, keys, strict=True)
    ]
    return Judging(rows, {**facts, "cost_usd": round(cost, 6)})


def _row(row: Candidate, question: Question, key: str, reply: Reply) -> dict[str, Any]:
    candidate = asdict(row)
    return {
        **candidate,
        "item": dict(row.item),
        "question": question.question,
        "reference": question.reference,
        "prompt": question.prompt,
        "code": question.code,
        "key": key,
        "reply": asdict(reply),
        "reply_sha256": sha256_json(asdict(reply)),
        "judge": read_verdict(reply.text, question.code),
    }
