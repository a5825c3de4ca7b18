"""The grid, the lineage of a figure, and the pages as files."""

from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest

from taboo.figures.style import SEQUENTIAL
from taboo.site.grid import colours, luminance, study_grid
from taboo.site.lineage import figure_lineages
from taboo.site.pages import ASSETS, PAGES, write_site
from taboo.site.words import short_condition
from taboo.stats.tables import cell_table, item_table
from tests.provenance.chain import make_results
from tests.site.conftest import CONDITIONS, SCRIPT, make_cell
from tests.synthetic_paper import paper_cells


class Page(HTMLParser):
    """The tags, their attributes and the text of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def squares(grid, row=0, task="gsm8k"):
    return [(square.kind, square.text) for square in grid.rows[row].squares[task]]


def test_squares_of_a_study(cells):
    grid = study_grid(cell_table(item_table(cells)), {"one": "One"}, "A study")
    assert grid.columns == {"gsm8k": ["baseline", "i=1", "i=2"]}
    assert squares(grid) == [("accuracy", "67"), ("retention", "50"), ("retention", "25")]
    square = grid.rows[0].squares["gsm8k"][1]
    assert square.address == "s/one/bf16/gsm8k/taboo_i1"
    assert square.title == "One on GSM8K, i=1: 50 % retained, 2 of 4"


def test_missing_and_undefined_squares_look_like_it(cells, tokenizer):
    none = [make_cell(tokenizer, name, "000000", model="none") for name in CONDITIONS]
    alone = [make_cell(tokenizer, "taboo_i2", "001000", model="alone")]
    grid = study_grid(cell_table(item_table([*cells, *none, *alone])), {}, "A study")
    assert squares(grid, 1) == [("accuracy", "0"), ("undefined", "n/a"), ("undefined", "n/a")]
    assert squares(grid, 2) == [("missing", ""), ("missing", ""), ("undefined", "n/a")]
    missing, _, undefined = grid.rows[2].squares["gsm8k"]
    assert (missing.address, missing.title) == ("", "alone, baseline: not run")
    assert undefined.title.endswith("the baseline was not run")


def test_every_cell_of_the_paper_has_one_square():
    cells = paper_cells()
    for study, table in cells.groupby("study"):
        grid = study_grid(table, {}, study)
        addresses = [
            square.address
            for row in grid.rows
            for squares in row.squares.values()
            for square in squares
            if square.address
        ]
        assert len(addresses) == len(set(addresses)) == len(table)
        assert all(
            len(row.squares[task]) == len(names)
            for row in grid.rows
            for task, names in grid.columns.items()
        )


def test_number_in_a_square_can_be_read_on_every_colour():
    for share in np.linspace(0, 1, 101):
        ground = luminance(matplotlib.colormaps[SEQUENTIAL](share)) + 0.05
        ink = 0.05 if "color:#000" in colours(share) else 1.05
        assert max(ground, ink) / min(ground, ink) >= 4.5


@pytest.mark.parametrize(
    ("name", "short"),
    [("baseline", "baseline"), ("taboo_i8", "i=8"), ("midword_i2", "inside words i=2"),
     ("taboo_i1_t0.7_s0", "i=1 T=0.7 seed 0"), ("baseline_max1024", "baseline budget 1024")],
)  # fmt: skip
def test_short_names_of_conditions(name, short):
    assert short_condition(name) == short


def test_pages_hold_hostile_text_as_text_and_load_nothing_from_elsewhere(site):
    pages = [*(site / name for name in PAGES), site / "figures" / "dose.html"]
    for path in pages:
        page = Page(path)
        assert [attributes for tag, attributes in page.tags if tag == "script"] == [
            attributes
            for tag, attributes in page.tags
            if tag == "script" and attributes.keys() == {"src"}
        ]
        assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
        for _, attributes in page.tags:
            for name in ("src", "href"):
                assert "//" not in (attributes.get(name) or "")
    assert Page(pages[0]).text.count(SCRIPT) >= 3  # notice, label, caption
    assert Page(pages[-1]).text.count(SCRIPT) >= 3  # caption, file, problem
    for name in ASSETS:
        content = (site / name).read_text(encoding="utf-8")
        assert "http" not in content
        assert "innerHTML" not in content


def test_same_tables_same_pages(cells, site, tmp_path):
    grid = study_grid(cell_table(item_table(cells)), {}, "A study")
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_site(folder, "", [grid], {})
    for name in (*PAGES, *ASSETS):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_site_without_a_study_says_so(tmp_path):
    write_site(tmp_path, "", [], {})
    assert "No study has been run." in Page(tmp_path / "index.html").text


def test_lineage_goes_from_the_figure_to_the_weights(tmp_path):
    results = make_results(tmp_path / "results")
    found = figure_lineages(results, ["dose"], {"numpy": "2.4.6"})["dose"]
    assert [stage.name for stage in found] == [
        "figures", "tables", "scores", "cells", "samples", "word_starts", "snapshots"]  # fmt: skip
    assert [len(stage.files) for stage in found] == [3, 1, 2, 2, 1, 1, 1]
    assert not any(stage.problems for stage in found)
    assert {file.rule for file in found[3].files} == {"generate"}
    sample = results / "samples/gsm8k/n3.jsonl"
    sample.write_bytes(sample.read_bytes() + b"\n")
    found = figure_lineages(results, ["dose"], {"numpy": "9.9"})["dose"]
    (file,) = next(stage for stage in found if stage.name == "samples").files
    assert file.problems[0] == "changed: samples/gsm8k/n3.jsonl"
    assert all(stage.problems == len(stage.files) for stage in found)


def test_lineage_of_a_figure_that_was_not_made_is_refused(tmp_path):
    results = make_results(tmp_path / "results")
    with pytest.raises(ValueError, match="no record of the figure heatmap"):
        figure_lineages(results, ["heatmap"], {})
    assert figure_lineages(results, [], {}) == {}


def test_grid_takes_a_table_as_it_was_read(cells):
    table = cell_table(item_table(cells))
    assert study_grid(table.iloc[:1], {}, "x").columns == {"gsm8k": ["baseline"]}
    assert isinstance(table["seed"].iat[0], type(pd.NA))
