"""The claims as a page: what the paper says, what was measured, the verdict, and the cells behind it."""

from collections.abc import Iterator
from html import escape
from typing import Any

import pandas as pd

SYMBOLS = {"equal": "", "at_least": "≥ ", "at_most": "≤ ", "above": "> ", "below": "< "}


def claims_page(verdicts: pd.DataFrame, notice: str = "") -> str:
    """One HTML page that needs no other file, for `<results>/claims/`; cells are links from there.

    `verdicts` is what `taboo.claims.evaluate` returns.
    """
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in verdicts["verdict"].value_counts().items()
    )
    rows = "\n".join(_rows(verdicts))
    head = f"<p class='notice'>{escape(notice)}</p>\n" if notice else ""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>Claims of the paper</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Claims of the paper</h1>\n{head}<p>{counts}. A claim holds if the measured number is "
        "as far from the paper's as the tolerance at most, or lies on the side that the paper "
        "states.</p>\n<table>\n<thead><tr><th>section</th><th>claim</th><th>paper</th>"
        "<th>tolerance</th><th>measured</th><th>verdict</th><th>cells</th></tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</body>\n</html>\n"
    )


def paper_value(row: Any) -> str:
    """The paper's number with the side on which the measured one must lie: `≥ 47`."""
    return f"{SYMBOLS[row.direction]}{row.paper:g}"


def measured_value(row: Any) -> str:
    """The measured number, or nothing."""
    return "" if pd.isna(row.measured) else f"{row.measured:.4g}"


def cell_paths(cells: str) -> list[str]:
    """The files in `cells/` of the cells that a claim names, without an ending; each once."""
    parts = (name.split("/") for name in cells.split())
    return list(dict.fromkeys("/".join(names[1:]) for names in parts if len(names) == 5))


def _rows(verdicts: pd.DataFrame) -> Iterator[str]:
    for row in verdicts.itertuples():
        links = [
            f"<a href='../cells/{escape(path, quote=True)}.parquet'>{escape(path)}</a>"
            for path in cell_paths(row.cells)
        ]
        cells = links[0] if len(links) == 1 else ""
        if len(links) > 1:
            cells = f"<details><summary>{len(links)} cells</summary>{'<br>'.join(links)}</details>"
        note = f"<br><small>{escape(row.note)}</small>" if row.note else ""
        reason = f"<br><small>{escape(row.reason)}</small>" if row.reason else ""
        yield (
            f"<tr id='{escape(row.id, quote=True)}' class='{row.verdict.replace(' ', '-')}'>"
            f"<td>{escape(row.section)}</td><td>{escape(row.claim)}{note}</td>"
            f"<td>{escape(paper_value(row))}</td><td>{row.tolerance:g}</td>"
            f"<td>{measured_value(row)}</td><td>{row.verdict}{reason}</td><td>{cells}</td></tr>"
        )


_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:auto;padding:1rem;"
    "color:#1a1a1a;background:#fff}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .5rem;border-bottom:1px solid #ddd}"
    "th{position:sticky;top:0;background:#fff}small{color:#666}.notice{color:#a33b00;"
    "font-style:italic}tr.reproduced td:nth-child(6){color:#006b4f;font-weight:600}"
    "tr.differs td:nth-child(6){color:#b03a00;font-weight:600}"
    "tr.not-run td:nth-child(6){color:#666}"
    "@media(prefers-color-scheme:dark){body,th{color:#e8e8e8;background:#161616}"
    "th,td{border-color:#333}small,tr.not-run td:nth-child(6){color:#aaa}a{color:#8cc4ff}"
    "tr.reproduced td:nth-child(6){color:#5fd3ac}tr.differs td:nth-child(6){color:#ff9d66}}"
)
