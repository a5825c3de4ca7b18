"""How long the pages of a large group take to open: 500 items under 5 conditions, 512 tokens each.

    python bench/site.py TOKENIZER.json

The text is drawn from the tokenizer's vocabulary; under taboo every second token is an intervention. Each page is opened in a new headless Chromium from a folder, and the time is the browser's own, from the start of the navigation until the frame with the whole page is drawn.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from taboo.conditions import parse_condition
from taboo.site.group import group_data, write_data
from taboo.site.pages import write_site
from taboo.stats.tables import CellInput
from tests.site.browser import browser

ITEMS, TOKENS, ROUNDS = 500, 512, 5
CONDITIONS = ("baseline", "taboo_i1", "taboo_i2", "taboo_i4", "taboo_i8")
PAGES = ("cell.html#big/model/bf16/gsm8k/taboo_i2", "item.html#big/model/bf16/gsm8k/gsm8k%2F250")
_DRAWN = """
const done = arguments[0];
const look = () => document.querySelector("#view [aria-busy], #view[aria-busy]")
  ? requestAnimationFrame(look)
  : requestAnimationFrame(() => setTimeout(() => done(performance.now())));
look();
"""


def cell(name: str, tokenizer: Tokenizer, seed: int) -> CellInput:
    """A cell of random words."""
    draw = np.random.default_rng(seed)
    condition = parse_condition(name)
    ids = draw.integers(1000, 30000, (ITEMS, TOKENS))
    masked = np.tile(np.arange(TOKENS) % 2 == 1, (ITEMS, 1)) & (condition.rank > 0)
    names = [f"gsm8k/{number}" for number in range(ITEMS)]
    correct = draw.random(ITEMS) < 1 / (1 + condition.rank)
    generations = pd.DataFrame(
        {
            "item_id": names,
            "token_ids": list(ids),
            "nominal_ids": list(np.where(masked, ids + 1, ids)),
            "delta_s": list(np.where(masked, draw.gamma(2, 2, ids.shape), 0)),
            "intervened": list(masked),
            "text": [tokenizer.decode(list(row), skip_special_tokens=False) for row in ids],
            "finish_reason": "length",
        }
    )
    scores = pd.DataFrame(
        {
            "item_id": names,
            "correct": correct,
            "outcome": np.where(correct, "correct", "wrong"),
            "extracted": [str(number) for number in draw.integers(0, 1000, ITEMS)],
            "rule": "last_number",
            "details": "{}",
        }
    )
    return CellInput(
        "big", "model", "family", 7.0, "instruct", "bf16", "gsm8k", condition, generations, scores
    )


def main() -> None:
    """Make the pages, open each a few times, and print what it took."""
    tokenizer = Tokenizer.from_file(sys.argv[1])
    sample = [
        {
            "item_id": f"gsm8k/{number}",
            "prefix": "",
            "prompt": f"Question {number}: "
            + "how many apples are there in all of the baskets? " * 5,
            "item": {"question": "?", "answer": f"#### {number}"},
        }
        for number in range(ITEMS)
    ]
    cells = [cell(name, tokenizer, seed) for seed, name in enumerate(CONDITIONS)]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        data = group_data(cells, sample, tokenizer, "Model")
        path = Path(folder) / "data" / "big" / "model" / "bf16" / "gsm8k.js"
        write_data(path, data)
        write_site(folder, "", [], {})
        size = path.stat().st_size / 1e6
        print(f"data: {size:.1f} MB, made in {time.perf_counter() - started:.1f} s")
        for page in PAGES:
            times = [opened(f"file://{folder}/{page}") for _ in range(ROUNDS)]
            spread = f"{min(times):.0f} to {max(times):.0f}"
            print(
                f"{page.partition('#')[0]}: {statistics.median(times):.0f} ms ({spread}, {ROUNDS} times)"
            )


def opened(address: str) -> float:
    """Milliseconds from the navigation to the drawn page, in a new browser."""
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as driver:
        driver.get(address)
        found = driver.execute_async_script(_DRAWN)
        if not driver.find_elements("css selector", ".items tbody tr, .pane mark"):
            raise RuntimeError(f"{address} shows nothing")
        return found


if __name__ == "__main__":
    main()
