"""How a reply is read: one exact line is a verdict, anything else is none."""

from typing import Literal

Verdict = Literal["right", "wrong", "unparsed"]


def read_verdict(reply: str, code: str) -> Verdict:
    """`right` or `wrong` if the reply is `<code> RIGHT` or `<code> WRONG` and nothing else.

    White space around the line does not count. Everything else is `unparsed`: other cases and words, further text or lines, another text's code, no reply. A line inside a longer reply is no verdict either, since a judge may quote what it was shown.
    """
    verdicts: dict[str, Verdict] = {f"{code} RIGHT": "right", f"{code} WRONG": "wrong"}
    return verdicts.get(reply.strip(), "unparsed")
