"""Word-start tables: which tokens of a vocabulary begin a word (paper section 2.2).

A token starts a word if its vocabulary piece begins with the tokenizer's word-boundary marker: Ġ in byte-level BPE, ▁ in SentencePiece. A bare marker counts. A newline token does not, nor a special token, nor a first word, punctuation or a numeral written without a space before it: the paper's rule misses those, and so does this one.
"""

import json
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save
from tokenizers import Tokenizer

from taboo.files import write_bytes

BYTE_LEVEL_MARKER = "Ġ"
SENTENCEPIECE_MARKER = "▁"


class Kind(IntEnum):
    """What a row of the logits stands for."""

    ABSENT = 0
    """No vocabulary piece: a padded row, never to be generated."""
    CONTINUATION = 1
    """A piece that does not start a word."""
    WORD_START = 2
    """A piece that starts a word."""
    SPECIAL = 3
    """A special token such as EOS."""


@dataclass(frozen=True)
class WordStarts:
    """The table of one model: `kinds` is uint8 [V] of `Kind`, V the width of the model's logits."""

    kinds: np.ndarray
    marker: str

    def save(self, path: str | Path) -> None:
        """Write the table to a safetensors file; same table, same bytes."""
        write_bytes(path, save({"kinds": self.kinds}, metadata={"marker": self.marker}))

    @classmethod
    def load(cls, path: str | Path) -> "WordStarts":
        """Read a table written by `save`."""
        with safe_open(path, framework="numpy") as file:
            return cls(file.get_tensor("kinds"), file.metadata()["marker"])


def word_starts(tokenizer: Tokenizer, vocabulary_size: int) -> WordStarts:
    """The table of `tokenizer` for a model whose logits have `vocabulary_size` columns.

    Added tokens beyond that width are left out, since the model cannot produce them (Gemma-3's image token in its text models is one). Raises ValueError if the tokenizer uses neither marker, or if ordinary pieces lie beyond the width.
    """
    marker = find_marker(tokenizer)
    special = {id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    largest = max(tokenizer.get_vocab(with_added_tokens=False).values())
    if largest >= vocabulary_size:
        raise ValueError(
            f"the tokenizer has token id {largest}, but the model's logits have only "
            f"{vocabulary_size} columns: tokenizer and model do not belong together"
        )
    kinds = np.full(vocabulary_size, Kind.ABSENT, dtype=np.uint8)
    for piece, id_ in tokenizer.get_vocab(with_added_tokens=True).items():
        if id_ >= vocabulary_size:
            continue
        if id_ in special:
            kinds[id_] = Kind.SPECIAL
        elif piece.startswith(marker):
            kinds[id_] = Kind.WORD_START
        else:
            kinds[id_] = Kind.CONTINUATION
    return WordStarts(kinds, marker)


def word_starts_of(model_folder: str | Path) -> WordStarts:
    """The table of the model in `model_folder` (its `tokenizer.json` and `config.json`)."""
    folder = Path(model_folder)
    config = json.loads((folder / "config.json").read_bytes())
    size = config.get("vocab_size") or config["text_config"]["vocab_size"]
    return word_starts(Tokenizer.from_file(str(folder / "tokenizer.json")), size)


def find_marker(tokenizer: Tokenizer) -> str:
    """The word-boundary marker of `tokenizer`, read from how it turns pieces back into text.

    Raises ValueError for a tokenizer that is neither byte-level nor SentencePiece-like.
    """
    decoder = json.loads(tokenizer.to_str())["decoder"] or {}
    steps = decoder["decoders"] if decoder.get("type") == "Sequence" else [decoder]
    for step in steps:
        if step.get("type") == "ByteLevel":
            return BYTE_LEVEL_MARKER
        if step.get("type") == "Metaspace" and step["replacement"] == SENTENCEPIECE_MARKER:
            return SENTENCEPIECE_MARKER
        if step.get("type") == "Replace" and step["pattern"] == {"String": SENTENCEPIECE_MARKER}:
            return SENTENCEPIECE_MARKER
    kinds = [step.get("type") for step in steps]
    raise ValueError(
        f"the tokenizer's decoder ({kinds}) is neither byte-level ({BYTE_LEVEL_MARKER}) nor "
        f"SentencePiece ({SENTENCEPIECE_MARKER}): its word starts cannot be told"
    )
