"""Two results folders: what is the same, and where they part."""

import shutil

import pytest

from taboo.provenance.compare import compare
from tests.provenance.chain import copy_of, make_results


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("here") / "results")


def states(here, there):
    return {c.cell.rpartition("/")[2]: (c.state, c.first, c.items) for c in compare(here, there)}


def test_same_bytes_wherever_the_folder_lies(here, tmp_path):
    there = make_results(tmp_path / "there")
    same = ("identical bytes", "", 0)
    assert states(here, there) == {"baseline.parquet": same, "taboo_i1.parquet": same}


def test_other_machine_with_the_same_generations_differs_in_its_key_alone(here, tmp_path):
    there = make_results(tmp_path / "there", machine="gpu")
    for found in compare(here, there):
        assert found.state == "same generations"
        assert found.keys == ("engine.machine.device: cpu / gpu",)


def test_other_tokens_are_named_by_item_and_token(here, tmp_path):
    there = make_results(tmp_path / "there", token=6)
    found = ("other verdicts", "item q2, token 2", 1)
    assert states(here, there) == {"baseline.parquet": found, "taboo_i1.parquet": found}
    shutil.rmtree(there / "scores")
    shutil.copytree(here / "scores", there / "scores")
    found = ("same verdicts", "item q2, token 2", 1)
    assert states(here, there) == {"baseline.parquet": found, "taboo_i1.parquet": found}


def test_cells_of_one_folder_alone_are_named(here, tmp_path):
    there = copy_of(here, tmp_path / "there")
    (there / "cells/one/bf16/gsm8k/baseline.parquet").unlink()
    assert states(here, there)["baseline.parquet"][0] == "only here"
    assert states(there, here)["baseline.parquet"][0] == "only there"
    with pytest.raises(FileNotFoundError, match="has no cells"):
        list(compare(here, tmp_path / "nothing"))
