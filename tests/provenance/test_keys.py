"""Two keys explained: the parts that differ, by name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo.cells import read_cell
from taboo.cli import main
from taboo.provenance.keys import differences, parts_of_key
from tests.provenance.chain import make_results

CELLS = "cells/one/bf16/gsm8k"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("keys") / "results")


def test_cell_file_cell_key_and_recipe_key_are_found(results):
    _, metadata = read_cell(results / CELLS / "taboo_i1.parquet")
    by_file = parts_of_key(results, str(results / CELLS / "taboo_i1.parquet"))
    assert parts_of_key(results, metadata["cell_key"]) == by_file
    assert parts_of_key(results, metadata["cell_key"][:12]) == by_file
    recipe = parts_of_key(results, metadata["recipe_key"][:12])
    assert {**recipe, "sample": metadata["sample_sha256"]} == by_file


def test_recipe_is_found_without_its_cell(tmp_path):
    results = make_results(tmp_path / "results")
    cell = results / CELLS / "baseline.parquet"
    _, metadata = read_cell(cell)
    cell.unlink()
    assert parts_of_key(results, metadata["recipe_key"]) == metadata["recipe"]


@pytest.mark.parametrize("key", ["", "0" * 64, "x"])
def test_no_key_or_several_is_an_error_that_names_it(results, key):
    with pytest.raises(ValueError, match=r"keys begin with|there is no key"):
        parts_of_key(results, key)


def test_command_names_the_part_that_differs(results, root, monkeypatch, capsys, tmp_path):
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(json.dumps({"results": str(results)}))
    cells = [str(results / CELLS / f"{name}.parquet") for name in ("baseline", "taboo_i1")]
    monkeypatch.chdir(root)
    assert main(["explain", *cells, "--config", str(overlay)]) == 1
    assert capsys.readouterr().out == "condition.rank: 0 / 1\n"
    assert main(["explain", cells[0], cells[0], "--config", str(overlay)]) == 0
    assert "the same" in capsys.readouterr().out
    assert main(["explain", cells[0], "--config", str(overlay)]) == 0
    assert "engine.precision: bf16\n" in capsys.readouterr().out


PARTS = st.recursive(
    st.integers() | st.text() | st.none(),
    lambda inner: st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), PARTS, max_size=4), st.text(min_size=1), st.integers())
def test_equal_parts_do_not_differ_and_a_new_one_does(parts, name, value):
    assert differences(parts, parts) == []
    if name not in parts and not any("." in key for key in (*parts, name)):
        (line,) = differences(parts, {**parts, name: value})
        assert line.startswith(f"{name}: (none) / ")
