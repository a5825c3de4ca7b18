"""From a configuration to cells and jobs."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from taboo.config import complete, load_config
from taboo.plan import Cell, Group, groups, most_tokens, study_cells
from tests.test_config import ROOT, SCHEMA, SMALL

NAMES = ["baseline", "taboo_i1", "taboo_i2", "midword_i2"]
studies = st.fixed_dictionaries(
    {
        "models": st.sampled_from([["tiny"], ["tiny", "other"]]),
        "precisions": st.sampled_from([["bf16"], ["nf4", "bf16"]]),
        "tasks": st.fixed_dictionaries({"gsm8k": st.integers(1, 4)}),
        "conditions": st.sets(st.sampled_from(NAMES[1:])).map(lambda names: ["baseline", *names]),
    }
)


@given(st.lists(studies, min_size=1, max_size=3))
def test_every_cell_is_in_one_group_with_the_largest_of_its_samples(found):
    config = {"run": [str(n) for n in range(len(found))], "studies": dict(zip("012", found, strict=False))}  # fmt: skip
    planned = [
        (Cell(g.model, g.precision, g.task, name), g.n)
        for g in groups(config)
        for name in g.conditions
    ]
    wanted: dict[Cell, int] = {}
    for study in found:
        for cell in study_cells(study):
            wanted[cell] = max(wanted.get(cell, 0), study["tasks"]["gsm8k"])
    assert len(planned) == len(set(planned))
    assert dict(planned) == wanted


def test_cells_with_samples_of_other_sizes_are_jobs_of_their_own():
    config = copy.deepcopy(SMALL)
    config["studies"]["two"] = {
        "models": ["tiny"],
        "precisions": ["bf16", "nf4"],
        "tasks": {"gsm8k": 10},
        "conditions": ["baseline", "taboo_i2"],
    }
    config["run"] = ["one", "two"]
    assert groups(complete(config, SCHEMA)) == [
        Group("tiny", "bf16", "gsm8k", 3, ("taboo_i1",)),
        Group("tiny", "bf16", "gsm8k", 10, ("baseline", "taboo_i2")),
        Group("tiny", "nf4", "gsm8k", 10, ("baseline", "taboo_i2")),
    ]


def test_most_tokens_counts_each_condition_to_its_budget():
    config = complete(SMALL, SCHEMA)
    group = Group("tiny", "bf16", "gsm8k", 3, ("baseline", "taboo_i1_max20"))
    assert most_tokens(config, group) == 3 * (8 + 20)


def test_the_paper():
    """The grid of the paper: its models, samples, conditions and controls."""
    config = load_config([ROOT / "config.yaml"], SCHEMA)
    cells = {name: list(study_cells(study)) for name, study in config["studies"].items()}
    assert {name: len(found) for name, found in cells.items()} == {
        "main": 8 * 4 * 5,
        "ladder": 34 * 4 * 5,
        "precision": 2 * 50,
        "int8_check": 6,
        "midword": 8 * 3,
        "forbidden_words": 4 * 2,
        "ifeval": 4 * 5,
        "temperature": 12 * 2 * 3 * 5,
        "budget": 4,
        "failures": 2,
    }
    assert config["run"] == list(cells)
    models = config["models"].values()
    assert all("hub" in model["source"] for model in models)
    repositories = [model["source"]["hub"] for model in models]
    assert len(set(repositories)) == len(repositories) == 34
    planned = groups(config)
    main = {g.task: g.n for g in planned if g.model == "qwen2.5-7b" and "taboo_i8" in g.conditions}
    assert main == {"gsm8k": 500, "mmlu": 500, "triviaqa": 500, "humaneval": 164}
    sampled = [g for g in planned if "taboo_i1_t0.7_s2" in g.conditions]
    assert len(sampled) == 12
    assert {g.n for g in sampled} == {100}
