"""`taboo try`: a prompt continued with and without taboo, side by side."""

import argparse
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tokenizers import Tokenizer

from taboo.commands.configuration import configuration
from taboo.conditions import Condition
from taboo.engine.base import Generation
from taboo.models import fetch_model
from taboo.stats.examples import pieces
from taboo.surprisal import mean_surprisal, total_surprisal

FETCHED = Path("build/models")
"""Where models are put that no run has fetched."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser("try", help="continue a prompt with and without taboo")
    parser.add_argument("prompt")
    parser.add_argument(
        "-m",
        "--model",
        default="smollm2-135m-instruct",
        help="a model folder, or a model of config/demo.yaml or config.yaml (default: %(default)s)",
    )
    parser.add_argument("--rank", type=int, default=1, help="taboo rank i (default: %(default)s)")
    parser.add_argument("--mid-word", action="store_true", help="mask inside words instead")
    parser.add_argument("--tokens", type=int, default=60, help="new tokens (default: %(default)s)")
    parser.add_argument("--precision", choices=["bf16", "fp32", "nf4", "int8"], default="bf16")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print both continuations, the tokens that an intervention forced marked «so»."""
    from taboo.engine import Request, open_engine

    if options.rank < 1:
        raise ValueError("--rank must be 1 or more; rank 0 is the baseline, shown anyway")
    folder = model_folder(options.model)
    conditions = [
        Condition(0, max_new_tokens=options.tokens),
        Condition(
            options.rank,
            "mid_word" if options.mid_word else "word_start",
            max_new_tokens=options.tokens,
        ),
    ]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    engine = open_engine(folder, precision=options.precision)
    requests = [Request("prompt", options.prompt, condition) for condition in conditions]
    found = {g.condition: g for g in engine.generate(requests)}
    table = Table(*(condition.name for condition in conditions), expand=True)
    table.add_row(*(marked(tokenizer, found[condition]) for condition in conditions))
    table.add_section()
    table.add_row(*(facts(found[condition]) for condition in conditions))
    Console().print(table)
    return 0


def model_folder(name: str) -> Path:
    """The folder of a model: given as one, or fetched as the configuration says."""
    if (Path(name) / "config.json").is_file():
        return Path(name)
    for overlays in (["config/demo.yaml"], []):
        config = configuration(overlays)
        if name in config["models"]:
            made = Path(config["results"]) / "snapshots" / name
            # Results hold only what a job made and recorded.
            folder = made if (made / "snapshot.json").is_file() else FETCHED / name
            if not (folder / "snapshot.json").is_file():
                fetch_model(config["models"][name]["source"], folder)
            return folder / "files"
    raise ValueError(f"{name} is neither a model folder nor a configured model")


def marked(tokenizer: Tokenizer, generation: Generation) -> Text:
    """The continuation with each forced token between « and »."""
    text, forced = Text(), False
    decode = partial(tokenizer.decode, skip_special_tokens=True)
    for piece, intervened in zip(
        pieces(generation.token_ids, decode), generation.intervened, strict=True
    ):
        forced = forced or intervened
        if not piece:
            continue  # a character that is not complete yet
        word = piece.lstrip()
        if forced and word:
            text.append(piece[: len(piece) - len(word)]).append(f"«{word}»", style="bold magenta")
        else:
            text.append(piece)
        forced = False
    return text


def facts(generation: Generation) -> str:
    """One line on a generation: its length, its interventions, its dose."""
    mean = mean_surprisal(generation.delta_s, generation.intervened)
    return (
        f"{len(generation.token_ids)} tokens, {sum(generation.intervened)} interventions, "
        f"{total_surprisal(generation.delta_s):.1f} bits"
        + (f" ({mean:.2f} per intervention)" if mean is not None else "")
    )
