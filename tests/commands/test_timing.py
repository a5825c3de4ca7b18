"""How long cells took is read from the records of the jobs that generated them."""

import copy

import pytest

from taboo.cli import main
from taboo.config import complete
from taboo.plan import Cell
from taboo.timing import COLUMNS, timing
from tests.results_folder import Results
from tests.test_config import SCHEMA, SMALL

DONE = {"items": 6, "tokens": 40, "budget": 48, "seconds": 12.0}
CELLS = [Cell("tiny", "bf16", "gsm8k", name) for name in ("baseline", "taboo_i1")]


@pytest.fixture
def results(tmp_path):
    settings = {**copy.deepcopy(SMALL), "results": str(tmp_path / "results")}
    return Results(complete(settings, SCHEMA), "now")


def test_a_study_has_its_own_number_of_items(results):
    [study] = results.config["run"]
    items = results.config["studies"][study]["tasks"]["gsm8k"]
    for cell in CELLS:
        results.cell(cell, 3, generated=DONE, gpu={"name": "NVIDIA H200"})
    table = timing(results.config)
    assert list(table.columns) == list(COLUMNS)
    assert table["condition"].tolist() == ["baseline", "taboo_i1"]
    assert set(table["device"]) == {"NVIDIA H200"}
    assert table["minutes"].tolist() == pytest.approx([2.0 * items / 60] * 2)


def test_cells_that_no_job_generated_have_no_time(results):
    results.cell(CELLS[0], 3, generated={**DONE, "items": 0, "tokens": 0})
    assert timing(results.config).empty
    assert list(timing(results.config).columns) == list(COLUMNS)
    record = next((results.folder / "provenance/records/cells").rglob("*.json"))
    record.write_text("{}")
    assert timing(results.config).empty


def test_the_papers_times_are_claims_that_the_command_measures(repository, capsys):
    assert main(["claims", "minutes-7b-100"]) == 0
    assert "0 of 1 cells were run" in capsys.readouterr().out
    settings = repository.settings
    settings["models"]["qwen2.5-7b-instruct"] = settings["models"]["tiny"]
    settings["studies"]["ladder"] = {
        **settings["studies"]["one"],
        "models": ["qwen2.5-7b-instruct"],
        "tasks": {"gsm8k": 2},
        "conditions": ["baseline", "taboo_i1"],
    }
    settings["run"] = ["ladder"]
    repository.write()
    slow = {**DONE, "seconds": 6 * 60.0 * 10}
    cell = Cell("qwen2.5-7b-instruct", "bf16", "gsm8k", "taboo_i1")
    repository.results().cell(cell, 2, generated=DONE)
    assert main(["claims", "minutes-7b-100"]) == 0
    assert "reproduced" in capsys.readouterr().out
    repository.results().cell(cell, 2, generated=slow)
    assert main(["claims", "minutes-7b-100"]) == 1
    assert "measured 20: differs" in capsys.readouterr().out
