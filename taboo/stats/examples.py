"""A page of generations that fail under taboo, with every intervention marked (paper, appendix A)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import takewhile
from operator import eq

from taboo.stats.failure_modes import FAILURE_MODES
from taboo.stats.tables import CellInput, item_table

Decode = Callable[[list[int]], str]


@dataclass(frozen=True)
class Example:
    """One item that a model gets right at baseline and wrong under taboo.

    `read` and `baseline_read` are the answers that the scorer read, None where it found none. The four sequences have one entry per generated token.
    """

    model: str
    precision: str
    task: str
    condition: str
    item_id: str
    failure: str
    finish_reason: str
    read: str | None
    baseline_read: str | None
    baseline_text: str
    token_ids: list[int]
    nominal_ids: list[int]
    delta_s: list[float]
    intervened: list[bool]


def failure_examples(cells: Sequence[CellInput], per_mode: int = 3) -> list[Example]:
    """Return, for each task and failure mode, the first failing item of up to `per_mode` models, at each model's lowest rank that fails in this mode.

    `cells` are cells of one study, the baselines among them. The choice depends on the cells alone: models and items in the order given.
    """
    items = item_table(cells)
    failed = items[items["failure"] != ""]
    by_name = {cell.name: cell for cell in cells}
    examples = []
    for task in dict.fromkeys(items["task"]):
        for mode in FAILURE_MODES:
            rows = failed[(failed["task"] == task) & (failed["failure"] == mode)]
            first = rows.sort_values(["rank", "position"], kind="stable").groupby(
                "model", sort=False
            )
            chosen = first.head(1).sort_index().head(per_mode)
            examples += [_example(row, by_name) for row in chosen.itertuples()]
    return examples


def examples_page(
    examples: Sequence[Example], decode: Mapping[str, Decode], notice: str = ""
) -> str:
    """Return the examples as one HTML page that needs no other file and no network.

    `decode` maps a model to its tokenizer's decoding of token ids. A chosen token at an intervention is marked; its title names the token that was taken away and the surprisal. All text is escaped.
    """
    sections = "\n".join(_section(example, decode[example.model]) for example in examples)
    found = sections or "<p>No item that is right at baseline fails under taboo.</p>"
    head = f"<p class='notice'>{escape(notice)}</p>" if notice else ""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>Failures under taboo</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Failures under taboo</h1>\n{head}\n<p>{_LEGEND}</p>\n{found}\n</body>\n</html>\n"
    )


def pieces(token_ids: Sequence[int], decode: Decode) -> Iterator[str]:
    """Yield the text that each token adds, so that the pieces together are the decoded whole.

    A token that ends inside a character adds nothing; the one that completes the character adds it. Bytes that turn out to be no character change what was decoded before them, so a token adds as much of the whole as is sure with it.
    """
    ids = list(token_ids)
    whole, done = decode(ids), 0
    for end in range(1, len(ids) + 1):
        begun = decode(ids[:end])
        sure = len(whole) if end == len(ids) else sum(takewhile(bool, map(eq, begun, whole)))
        yield whole[done:sure]
        done = max(done, sure)


def _example(row: object, cells: Mapping[str, CellInput]) -> Example:
    values = row._asdict()  # type: ignore[attr-defined]
    path = f"{values['model']}/{values['precision']}/{values['task']}"
    cell = cells[f"{path}/{values['condition']}"]
    baseline = cells[f"{path}/{cell.condition.baseline_name}"]
    position = values["position"]
    generation, score = cell.cell.iloc[position], cell.scores.iloc[position]
    before = list(baseline.cell["item_id"]).index(values["item_id"])
    return Example(
        model=values["model"],
        precision=values["precision"],
        task=values["task"],
        condition=values["condition"],
        item_id=values["item_id"],
        failure=values["failure"],
        finish_reason=values["finish_reason"],
        read=score["extracted"],
        baseline_read=baseline.scores["extracted"].iloc[before],
        baseline_text=baseline.cell["text"].iloc[before],
        token_ids=[int(token) for token in generation["token_ids"]],
        nominal_ids=[int(token) for token in generation["nominal_ids"]],
        delta_s=[float(bits) for bits in generation["delta_s"]],
        intervened=[bool(flag) for flag in generation["intervened"]],
    )


def _section(example: Example, decode: Decode) -> str:
    words = []
    for piece, nominal, bits, masked in zip(
        pieces(example.token_ids, decode),
        example.nominal_ids,
        example.delta_s,
        example.intervened,
        strict=True,
    ):
        if masked:
            title = escape(f"instead of {decode([nominal])!r}: {bits:.2f} bits", quote=True)
            words.append(f'<mark title="{title}">{escape(piece)}</mark>')
        else:
            words.append(escape(piece))
    count = sum(example.intervened)
    title = f"{example.failure.replace('_', ' ')}: {example.model} on {example.item_id}"
    facts = (
        f"{example.precision}, {example.condition}, {len(example.token_ids)} tokens, "
        f"{count} interventions, {sum(example.delta_s):.1f} bits, ended by {example.finish_reason}"
    )
    return (
        f"<section>\n<h2>{escape(title)}</h2>\n<p>{escape(facts)}</p>\n"
        f"<h3>Baseline, read as {_read(example.baseline_read)}</h3>\n"
        f"<pre>{escape(example.baseline_text)}</pre>\n"
        f"<h3>Taboo, read as {_read(example.read)}</h3>\n<pre>{''.join(words)}</pre>\n</section>"
    )


def _read(answer: str | None) -> str:
    if answer is None or answer != answer:
        return "no answer"
    return "a program" if "\n" in answer else f"<b>{escape(answer)}</b>"


_LEGEND = (
    "Marked: tokens chosen at an intervention, where the model's preferred tokens were taken away. "
    "Pointing at one shows the token it replaces and the injected surprisal."
)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem;"
    "color:#1a1a1a;background:#fff}pre{white-space:pre-wrap;background:#f4f4f4;padding:.75rem}"
    "mark{background:#ffd9b3;color:inherit}.notice{color:#a33b00;font-style:italic}"
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}"
    "pre{background:#242424}mark{background:#6b3c10}.notice{color:#ff9d66}}"
)
