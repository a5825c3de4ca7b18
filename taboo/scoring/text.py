"""What the scorers share: where a model's answer ends."""

import re

# Text that tokenizers give their end-of-text and end-of-turn tokens, where decoding kept it.
_END_OF_TEXT = re.compile(
    r"<\|(?:endoftext|end_of_text|im_end|eot_id|end)\|>|<end_of_turn>|<eos>|</s>"
)
# A line that starts a further question in the form of the prompts.
_NEXT_QUESTION = re.compile(
    r"\n[ \t>*#_]*+(?:question|q)(?:[ \t]*+\d++)?[ \t]*+[*_]*+[ \t]*+[:：]", re.IGNORECASE
)


def without_end_marker(text: str) -> str:
    """`text` up to the first end-of-text marker."""
    return _END_OF_TEXT.split(text, maxsplit=1)[0]


def answer_part(text: str) -> str:
    """`text` up to the first end-of-text marker and the first line that starts a new question.

    Base models go on with questions of their own (paper section 3.3). Only a line that begins with `Question:` (or `Q:`, numbered or marked up) cuts, so the word inside a sentence does not, nor at the very start of the text, where it is no new line.
    """
    return _NEXT_QUESTION.split(without_end_marker(text), maxsplit=1)[0]
