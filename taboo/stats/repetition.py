"""Does a generation end in a repetition loop (paper, appendix A)?"""

from collections.abc import Sequence

import numpy as np

LONGEST_FRAGMENT = 64
FEWEST_COPIES = 3
FEWEST_TOKENS = 24


def loop_length(token_ids: Sequence[int] | np.ndarray) -> int:
    """Return the number of tokens of the fragment that the generation repeats until its end, or 0.

    A generation ends in a loop when its last tokens are at least 3 copies of one fragment of at most 64 tokens (the last copy may be cut off), at least 24 tokens in all. The shortest such fragment counts. Token ids are compared, not text: greedy decoding that has fallen into a loop repeats its ids exactly. Pass the ids without the end-of-sequence token.
    """
    ids = np.asarray(token_ids)
    if len(ids) < FEWEST_TOKENS:
        return 0
    for length in range(1, min(LONGEST_FRAGMENT, len(ids) // FEWEST_COPIES) + 1):
        if ids[-1] != ids[-1 - length] or ids[-2] != ids[-2 - length]:
            continue
        needed = max(FEWEST_TOKENS, FEWEST_COPIES * length)
        tail = ids[-needed:]
        if np.array_equal(tail[length:], tail[:-length]):
            return length
    return 0
