"""The states of cells, on folders as runs leave them."""

import os

import pytest

from taboo.config import complete
from taboo.plan import Cell
from taboo.states import State, cell_states
from tests.results_folder import Results
from tests.test_config import SCHEMA, SMALL

BASELINE = Cell("tiny", "bf16", "gsm8k", "baseline")
TABOO = Cell("tiny", "bf16", "gsm8k", "taboo_i1")


@pytest.fixture
def results(tmp_path):
    """An empty results folder for SMALL: two cells of three items."""
    config = complete({**SMALL, "results": str(tmp_path / "results")}, SCHEMA)
    return Results(config, code="now")


def states(results):
    return cell_states(results.config, "now")


def test_before_the_first_run_all_is_missing(results):
    assert states(results) == {BASELINE: State("missing", 0, 3), TABOO: State("missing", 0, 3)}


def test_done_and_partial(results):
    results.cell(BASELINE, 3)
    results.journal(TABOO, 2)
    assert states(results) == {BASELINE: State("done", 3, 3), TABOO: State("partial", 2, 3)}


def test_a_cell_of_a_smaller_sample_is_partial_and_of_a_larger_one_done(results):
    results.cell(BASELINE, 2)
    results.cell(TABOO, 5)
    assert states(results) == {BASELINE: State("partial", 2, 3), TABOO: State("done", 3, 3)}


def test_damaged_cells_and_cells_of_other_code_are_invalid(results):
    path = results.cell(BASELINE, 3)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    results.cell(TABOO, 3, code="before")
    assert {state.kind for state in states(results).values()} == {"invalid"}


def test_a_cell_that_is_only_touched_is_done(results):
    os.utime(results.cell(BASELINE, 3), (1, 1))
    assert states(results)[BASELINE].kind == "done"


def test_a_cell_without_a_record_or_with_a_damaged_one_is_invalid(results):
    results.cell(BASELINE, 3)
    record = results.folder / "provenance" / "records" / "cells" / f"{BASELINE.path}.parquet.json"
    record.write_text(record.read_text().replace("now", "new"))
    assert states(results)[BASELINE].kind == "invalid"
    record.unlink()
    assert states(results)[BASELINE].kind == "invalid"


@pytest.mark.parametrize(
    "other",
    [
        Cell("tiny", "nf4", "gsm8k", "taboo_i1"),
        Cell("tiny", "bf16", "mmlu", "taboo_i1"),
        Cell("tiny", "bf16", "gsm8k", "midword_i1"),
        Cell("tiny", "bf16", "gsm8k", "taboo_i1_max9"),
        Cell("small", "bf16", "gsm8k", "taboo_i1"),
    ],
)
def test_a_journal_of_something_else_does_not_count(results, other):
    results.config["tasks"]["mmlu"] = results.config["tasks"]["gsm8k"]
    results.parts(TABOO)
    results.journal(other, 2)
    assert states(results)[TABOO].kind == "missing"


def test_a_journal_of_other_code_does_not_count(results):
    results.journal(TABOO, 2, code="before")
    assert states(results)[TABOO].kind == "missing"
