"""A site of cells with hostile text, made as the rules make it, and browsers to look at it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer

from taboo.conditions import parse_condition
from taboo.site.grid import study_grid
from taboo.site.group import group_data, write_data
from taboo.site.lineage import File, Stage
from taboo.site.pages import write_figure, write_site
from taboo.stats.tables import CellInput, cell_table, item_table

SCRIPT = "<script>window.owned = 1; document.title = 'owned'</script><img src=x onerror='owned=1'>"
TEXTS = [
    f" so it is {SCRIPT} ok",
    " lines\u2028 and\u2029 </script> <!-- <script> ends",
    " NUL \x00 and \x1b escape and é ü 你好 🙂",
    " The answer is 18.",
    " the same word and the same word and the same word",
    "",
]
CONDITIONS = ("baseline", "taboo_i1", "taboo_i2")
RIGHT = {"baseline": "111100", "taboo_i1": "011010", "taboo_i2": "001000"}
SAMPLE = [
    {
        "item_id": f"gsm8k/{number}",
        "prefix": "Few shots.",
        "prompt": f"Few shots.\n\nQuestion: {number} <b>apples</b>? \ud800",
        "item": {"question": "?", "answer": f"#### {number}"},
    }
    for number in range(len(TEXTS))
]


@pytest.fixture(scope="session")
def tokenizer(smollm2_path) -> Tokenizer:
    return Tokenizer.from_file(str(smollm2_path / "tokenizer.json"))


def make_cell(tokenizer, name, right, texts=TEXTS, model="one", study="s"):
    """A cell whose every second token is an intervention, with 1.5 bits more each time."""
    condition = parse_condition(name)
    ids = [np.array(tokenizer.encode(text).ids, int) for text in texts]
    masked = [(np.arange(len(one)) % 2 == 1) & (condition.rank > 0) for one in ids]
    correct = [flag == "1" for flag in right]
    names = [line["item_id"] for line in SAMPLE[: len(texts)]]
    cell = pd.DataFrame(
        {
            "item_id": names,
            "token_ids": ids,
            "nominal_ids": [one[::-1] for one in ids],
            "delta_s": [np.where(m, 1.5 * np.cumsum(m), 0.0) for m in masked],
            "intervened": masked,
            "text": texts,
            "finish_reason": ["eos"] * len(texts),
        }
    )
    scores = pd.DataFrame(
        {
            "item_id": names,
            "correct": correct,
            "outcome": ["correct" if one else "unparsed" for one in correct],
            "extracted": [SCRIPT if one else None for one in correct],
            "rule": "answer_line",
            "details": "{}",
        }
    )
    return CellInput(study, model, "f", 0.135, "base", "bf16", "gsm8k", condition, cell, scores)


@pytest.fixture(scope="session")
def cells(tokenizer) -> list[CellInput]:
    """The cells of one group."""
    return [make_cell(tokenizer, name, RIGHT[name]) for name in CONDITIONS]


@pytest.fixture(scope="session")
def site(cells, tokenizer, tmp_path_factory) -> Path:
    """A folder with the site: a model that was run, one with nothing right, and one that lacks a cell."""
    folder = tmp_path_factory.mktemp("results") / "site"
    none = [make_cell(tokenizer, name, "000000", model="none") for name in CONDITIONS]
    part = [make_cell(tokenizer, name, RIGHT[name], model="part") for name in CONDITIONS[:2]]
    for group in (cells, none, part):
        data = group_data(group, SAMPLE, tokenizer, f"Model <i>{group[0].model}</i>")
        write_data(folder / "data" / "s" / group[0].model / "bf16" / "gsm8k.js", data)
    table = cell_table(item_table([*cells, *none, *part]))
    labels = {"one": f"One {SCRIPT}"}
    captions = {"dose": f"Caption {SCRIPT}"}
    write_site(folder, f"Notice {SCRIPT}", [study_grid(table, labels, "A study")], captions)
    stages = [
        Stage("figures", [File("figures/dose.svg", "ab" * 32, "figure", ())]),
        Stage("cells", [File(SCRIPT, "cd" * 32, "generate", (f"changed: {SCRIPT}",))]),
    ]
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"></svg>'
    write_figure(folder, "dose", "", svg, captions["dose"], stages)
    return folder
