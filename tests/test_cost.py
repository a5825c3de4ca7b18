"""What is left to generate: cells, items, tokens, memory, hours."""

import copy

import pytest

from taboo.calibration import Calibration, Speeds
from taboo.config import complete
from taboo.cost import StudyCount, costs, study_counts
from taboo.plan import Cell
from taboo.resources import gpu_memory_gb
from taboo.states import State
from tests.test_config import SCHEMA, SMALL

SMALL_CARD = Speeds(8, ("small",), {"bf16": {1: 36}, "nf4": {1: 18}})
CPU = Speeds(None, ("CPU",), {"bf16": {1: 2}, "nf4": {1: 1}})
CALIBRATION = Calibration({"small": SMALL_CARD, "CPU": CPU}, {"base": 0.5, "instruct": 1.0})


@pytest.fixture
def config():
    """SMALL, with a second study that shares its baseline, and a large model."""
    config = copy.deepcopy(SMALL)
    config["models"]["large"] = {**config["models"]["tiny"], "size_b": 10, "alignment": "instruct"}
    config["studies"]["two"] = {
        "models": ["tiny", "large"],
        "precisions": ["bf16"],
        "tasks": {"gsm8k": 10},
        "conditions": ["baseline"],
    }
    config["run"] = ["one", "two"]
    return complete(config, SCHEMA)


def cell(model: str, name: str) -> Cell:
    return Cell(model, "bf16", "gsm8k", name)


def test_only_what_is_lacking_is_counted(config):
    states = {
        cell("tiny", "baseline"): State("partial", 4, 10),
        cell("tiny", "taboo_i1"): State("done", 3, 3),
        cell("large", "baseline"): State("invalid", 0, 10),
    }
    tiny, large = costs(config, states, CALIBRATION)
    assert (tiny.model, tiny.to_generate, tiny.reused, tiny.items) == ("tiny", 1, 1, 6)
    assert tiny.tokens == 6 * 8 * 0.5
    assert tiny.hours == {"small": tiny.tokens / 36 / 3600, "CPU": tiny.tokens / 2 / 3600}
    assert (large.to_generate, large.items, large.tokens) == (1, 10, 80)
    assert large.memory_gb == gpu_memory_gb(10, "bf16") > 8
    assert large.hours == {"small": None, "CPU": large.tokens / (2 / 10) / 3600}


def test_shared_cells_are_counted_where_they_first_occur(config):
    states = {
        cell("tiny", "baseline"): State("done", 10, 10),
        cell("tiny", "taboo_i1"): State("missing", 0, 3),
        cell("large", "baseline"): State("missing", 0, 10),
    }
    assert study_counts(config, states) == [
        StudyCount("one", cells=2, new=2, to_generate=1),
        StudyCount("two", cells=2, new=1, to_generate=1),
    ]
