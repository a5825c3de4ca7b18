"""The pages, from their templates."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from taboo.files import write_text
from taboo.site.grid import Grid, colours
from taboo.site.lineage import Stage

TEMPLATES = Path(__file__).with_name("templates")
TITLE = "Decoding-level taboo: results"
PAGES = ("index.html", "cell.html", "item.html")
ASSETS = ("site.css", "site.js", "grid.js", "cell.js", "item.js")
"""What the pages load besides data, copied as it is."""


def write_site(
    folder: str | Path,
    notice: str,
    grids: Sequence[Grid],
    captions: Mapping[str, str],
) -> None:
    """Write the pages that show cells and what they load; `captions` are the figures' captions by name."""
    legend = [(f"{percent} %", colours(percent / 100)) for percent in range(0, 101, 20)]
    shared = {"notice": notice, "grids": grids, "captions": captions, "legend": legend}
    for page in PAGES:
        _write_page(Path(folder) / page, page, **shared)
    for name in ASSETS:
        write_text(Path(folder) / name, (TEMPLATES / name).read_text(encoding="utf-8"))


def write_figure(
    folder: str | Path, figure: str, notice: str, svg: str, caption: str, stages: list[Stage]
) -> None:
    """Write a figure's page and a copy of its picture below `folder`/figures."""
    write_text(Path(folder) / "figures" / f"{figure}.svg", svg)
    _write_page(
        Path(folder) / "figures" / f"{figure}.html",
        "figure.html",
        notice=notice,
        figure=figure,
        caption=caption,
        stages=stages,
    )


def _write_page(path: Path, template: str, **values: Any) -> None:
    write_text(path, _environment().get_template(template).render(title=TITLE, **values))


@cache
def _environment() -> Environment:
    """What is put into a template is escaped; a name that a template lacks is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
