"""A generation's text with its interventions marked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from taboo.stats.examples import pieces


@dataclass
class Names:
    """The texts of the tokens that were taken away, each once: marks name them by their number."""

    tokenizer: Tokenizer
    texts: list[str] = field(default_factory=list)
    _number: dict[int, int] = field(default_factory=dict)

    def number(self, token: int) -> int:
        """The number of a token's text in `texts`."""
        if token not in self._number:
            self._number[token] = len(self.texts)
            self.texts.append(self.tokenizer.decode([token], skip_special_tokens=False))
        return self._number[token]


def split(token_ids: Sequence[int], tokenizer: Tokenizer) -> list[str]:
    """The text that each token adds; together they are the decoded whole.

    As `taboo.stats.examples.pieces`, but in linear time where the text of some tokens is the beginning of the text of more of them. It is not where bytes (SentencePiece's fallback) turn out to be no character.
    """
    ids = [int(token) for token in token_ids]
    whole = tokenizer.decode(ids, skip_special_tokens=False)
    if not ids:
        return []
    stream = DecodeStream(skip_special_tokens=False)
    try:
        found = [stream.step(tokenizer, token) or "" for token in ids]
    except Exception:  # the library's own, raised where a prefix decodes to another text
        found = []
    joined = "".join(found)
    if found and whole.startswith(joined):
        found[-1] += whole[len(joined) :]
        return found
    return list(pieces(ids, partial(tokenizer.decode, skip_special_tokens=False)))


def packed_marks(
    texts: Sequence[str],
    nominal_ids: Sequence[int],
    delta_s: Sequence[float],
    intervened: Sequence[bool],
    names: Names,
) -> str:
    """The interventions of one generation as text: `skip,length,nominal,centibits` each, joined by `;`.

    `texts` are the pieces of the generation. `skip` counts the characters (code points) since the end of the mark before, `length` those of the chosen token, `nominal` is the number of the token taken away in `names`, and `centibits` is ΔS in hundredths of a bit.
    """
    marks, skipped = [], 0
    for text, nominal, bits, masked in zip(texts, nominal_ids, delta_s, intervened, strict=True):
        if masked:
            centibits = round(100 * float(bits))
            marks.append(f"{skipped},{len(text)},{names.number(int(nominal))},{centibits}")
            skipped = 0
        else:
            skipped += len(text)
    return ";".join(marks)
