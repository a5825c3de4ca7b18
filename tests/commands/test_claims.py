"""`taboo claims` and its page: verdicts, links to cells, and nothing run at all."""

from html.parser import HTMLParser

import pytest

from taboo.claims import evaluate, load_claims
from taboo.claims_page import cell_paths, claims_page
from taboo.cli import main
from taboo.stats.tables import write_cells
from tests.synthetic_paper import paper_cells
from tests.test_config import ROOT


@pytest.fixture
def paper(repository):
    """A repository with the cell tables of studies called as the paper's."""
    cells = paper_cells()
    study = repository.settings["studies"]["one"]
    repository.settings["run"] = sorted(set(cells["study"]))
    repository.settings["studies"] = dict.fromkeys(repository.settings["run"], study)
    repository.write()
    for name, rows in cells.groupby("study"):
        write_cells(repository.folder / "results" / "tables" / name / "cells.csv", rows)
    return repository


def test_measured_claims_have_verdicts_and_the_rest_says_why_not(paper, capsys):
    assert main(["claims"]) == 0
    shown = capsys.readouterr().out
    assert "0 differs" in shown
    assert main(["claims", "qwen-7b-base-i1"]) == 0
    shown = capsys.readouterr().out
    assert "paper 0.08 (tolerance 0.05), measured 0.08: reproduced" in shown
    assert "results/cells/qwen2.5-7b/nf4/gsm8k/taboo_i1.parquet" in shown
    assert main(["claims", "judge-items"]) == 0
    assert "there is no table judge" in capsys.readouterr().out


def test_one_changed_cell_makes_its_claim_differ(paper, capsys):
    rows = paper_cells().query("study == 'main'").copy()
    row = (rows["model"] == "qwen2.5-7b") & (rows["task"] == "gsm8k") & (rows["rank"] == 1)
    rows.loc[row, "retention"] = 0.5
    write_cells(paper.folder / "results" / "tables" / "main" / "cells.csv", rows)
    assert main(["claims", "--verdict", "differs"]) == 1
    shown = capsys.readouterr().out
    assert "qwen-7b-base-i1" in shown
    assert "olmo-7b-base-i1" not in shown


def test_without_results_nothing_was_run(repository, capsys):
    assert main(["claims"]) == 0
    number = len(load_claims(ROOT / "claims.yaml"))
    assert f"0 reproduced, 0 differs, {number} not run" in capsys.readouterr().out
    assert main(["claims", "no-such-claim"]) == 2
    assert "claims.yaml has no claim 'no-such-claim'" in capsys.readouterr().err


def test_cells_are_named_once_and_studies_are_not_files():
    cells = "main/m/nf4/gsm8k/taboo_i1 ladder/m/nf4/gsm8k/taboo_i1 judge/gsm8k"
    assert cell_paths(cells) == ["m/nf4/gsm8k/taboo_i1"]


class Page(HTMLParser):
    """Links and row classes of a page, and whether every tag is closed."""

    def __init__(self):
        super().__init__()
        self.links, self.rows, self.open = [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "a":
            self.links.append(values["href"])
        if tag == "tr" and "class" in values:
            self.rows.append(values["class"])
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_has_every_claim_with_links_to_its_cells_and_escapes_text():
    verdicts = evaluate(load_claims(ROOT / "claims.yaml"), {"cells": paper_cells()})
    verdicts.loc[0, "claim"] = "<script>alert(1)</script>"
    page = Page()
    text = claims_page(verdicts, "A notice & more")
    page.feed(text)
    assert page.open == []
    assert len(page.rows) == len(verdicts)
    assert set(page.rows) == {"reproduced", "not-run"}
    assert "../cells/qwen2.5-7b/nf4/gsm8k/taboo_i1.parquet" in page.links
    assert "<script>" not in text
    assert "A notice &amp; more" in text
