"""Every figure, on tables like the paper's, like the demo's, with holes, and on nothing."""

import hashlib
import xml.etree.ElementTree as ET

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from taboo.figures import FIGURES, figure_input, load_figure, style
from taboo.figures.style import save, size_label
from taboo.stats import failures
from taboo.stats.csvfile import csv_text, read_csv
from taboo.stats.tables import cell_table
from tests.synthetic_paper import MAIN, demo_items, judge_table, paper_cells, paper_items

NOTICE = "Demo on two tiny models: shows the machinery, no finding."
STUDIES = {
    "heatmap": ["ladder", "main"],
    "ladder": ["ladder"],
    "exception": ["ladder", "main"],
    "precision": ["precision"],
    "midword": ["midword"],
    "temperature": ["temperature"],
}
TASKS = ["gsm8k", "mmlu", "triviaqa"]


@pytest.fixture(scope="module")
def paper():
    items = paper_items()
    main = items[items["study"] == "main"]
    return {
        "cells": paper_cells(),
        "failures": failures.run(main, pd.DataFrame(), {}),
        "judge": judge_table(),
    }


@pytest.fixture(scope="module")
def demo():
    items = demo_items()
    return {
        "cells": cell_table(items),
        "failures": failures.run(items, pd.DataFrame(), {}),
        "judge": judge_table().iloc[:0],
    }


def of_paper(paper, name):
    table = paper[figure_input(name)]
    return table[table["study"].isin(STUDIES.get(name, ["main"]))] if name != "judge" else table


def files(stem):
    return {
        kind: hashlib.sha256(stem.with_suffix(f".{kind}").read_bytes()).hexdigest()
        for kind in ("pdf", "png", "svg", "csv")
    }


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_demo_is_the_same_bytes_each_time_and_from_its_csv(name, demo, tmp_path):
    figure, options = load_figure(name), {"notice": NOTICE}
    data = figure.prepare(demo[figure_input(name)], options)
    stem = tmp_path / "first" / name
    paths = save(figure.draw(data, options), stem, data)
    assert [path.suffix for path in paths] == [".pdf", ".png", ".svg", ".csv"]
    back = read_csv(stem.with_suffix(".csv"))
    assert csv_text(back) == csv_text(data)
    again = tmp_path / "second" / name
    save(figure.draw(back, options), again, back)
    assert files(again) == files(stem)
    assert figure.caption(data, options).endswith(NOTICE)
    ET.parse(stem.with_suffix(".svg"))
    assert b"20" + b"26-" not in stem.with_suffix(".svg").read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_paper_is_drawn_at_print_size(name, paper, tmp_path):
    figure, options = load_figure(name), {"tasks": TASKS, "ladder_from": 3}
    data = figure.prepare(of_paper(paper, name), options)
    assert len(data)
    drawn = figure.draw(data, options)
    assert 3 <= drawn.get_figwidth() <= 7  # inches: a column to a page of a paper
    assert drawn.get_figheight() <= 9
    drawn.savefig(tmp_path / "small.png", dpi=60)
    assert matplotlib.image.imread(tmp_path / "small.png")[..., :3].std() > 0.05
    caption = figure.caption(data, options)
    assert "n = " in caption or name in ("judge", "failures")
    assert "nan" not in caption
    assert "Missing" not in caption


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_nothing_says_so(name, demo, tmp_path):
    figure = load_figure(name)
    data = figure.prepare(demo[figure_input(name)].iloc[:0], {})
    figure.draw(data, {"notice": NOTICE})
    assert figure.caption(data, {})


@pytest.mark.parametrize("name", ["retention", "heatmap", "accuracy", "surprisal", "ladder"])
def test_a_missing_cell_is_shown_as_missing(name, paper):
    figure, options = load_figure(name), {"tasks": TASKS}
    cells = of_paper(paper, name)
    gone = (cells["model"] == "gemma-3-12b") & (cells["task"] == "mmlu") & (cells["rank"] == 4)
    data = figure.prepare(cells[~gone], options)
    lost = data[data["status"] == "missing"]
    assert set(lost["family"]) == {"gemma-3"}
    assert set(lost["rank"]) == {4}
    assert "Missing (not run): Gemma-3 12B base on MMLU (i = 4)." in figure.caption(data, options)
    figure.draw(data, options)


@pytest.mark.parametrize("name", ["retention", "heatmap", "dose", "failures"])
def test_an_empty_baseline_is_not_an_error(name, demo):
    figure = load_figure(name)
    data = figure.prepare(demo[figure_input(name)], {})
    code = data[(data["task"] == "humaneval")]
    assert set(code["status"]) == {"n/a"}
    assert "Not defined (no item right at baseline)" in figure.caption(data, {})


def test_retention_without_a_baseline_is_not_called_undefined(paper):
    figure = load_figure("retention")
    cells = of_paper(paper, "retention").copy()
    mine = (cells["model"] == "olmo-2-7b") & (cells["task"] == "gsm8k")
    paired = ["n_baseline_correct", "n_retained", "retention", "retention_low", "retention_high"]
    cells.loc[mine, paired] = pd.NA
    caption = figure.caption(figure.prepare(cells[~mine | (cells["rank"] > 0)], {}), {})
    assert "Without a baseline (not run): OLMo-2 7B base on GSM8K" in caption


def test_the_heatmap_has_the_papers_panels(paper):
    figure = load_figure("heatmap")
    options = {"tasks": TASKS, "ladder_from": 3, "ladder_family": "qwen2.5"}
    data = figure.prepare(of_paper(paper, "heatmap"), options)
    ladder = data[data["panel"] == "a"]
    assert set(ladder["size_name"]) == {"3B", "7B", "14B", "32B", "72B"}
    seven = ladder[(ladder["size_name"] == "7B") & (ladder["rank"] == 1)].set_index("alignment")
    assert seven["value"].to_dict() == {"base": 0.08, "instruct": 0.48}
    assert set(seven["n"]) == {500}, "the larger sample of a shared cell is shown"
    scale = data[data["panel"] == "b"]
    assert set(scale["size_name"]) == {"7B", "14B", "32B", "72B"}
    lift = data[(data["panel"] == "d") & (data["rank"] == 1) & (data["task"] == "gsm8k")]
    found = dict(zip(lift["family"], lift["value"].round(3), strict=True))
    assert found == {"qwen2.5": 0.4, "olmo-2": 0.3, "gemma-3": 0.65, "llama-3": 0.02}
    representatives = data[data["panel"] == "c"]
    assert len(representatives[["family", "size_b"]].drop_duplicates()) == len(MAIN)


def test_the_demo_heatmap_says_which_panels_are_empty(demo):
    figure = load_figure("heatmap")
    caption = figure.caption(figure.prepare(demo["cells"], {}), {})
    assert "Nothing to show in (a) retention by size, (b) scale lift, instruct, (d)" in caption


def test_precision_names_its_outliers(paper):
    figure = load_figure("precision")
    data = figure.prepare(of_paper(paper, "precision"), {})
    caption = figure.caption(data, {})
    assert "nf4: 50 cells, median absolute difference 0.030, 47 within 0.07" in caption
    assert "Qwen2.5 14B instruct at i = 2 (0.44 against 0.62)" in caption


def test_two_precisions_of_one_model_must_be_chosen_between(paper):
    cells = paper["cells"][paper["cells"]["study"] == "precision"]
    with pytest.raises(
        ValueError, match="precision bf16, nf4: set the figure's option 'precision'"
    ):
        load_figure("retention").prepare(cells, {})
    data = load_figure("retention").prepare(cells, {"precision": "bf16"})
    assert set(data["status"]) == {"ok"}


def test_two_budgets_of_one_task_must_be_chosen_between(paper):
    cells = paper["cells"][paper["cells"]["study"].isin(["main", "budget"])]
    with pytest.raises(ValueError, match="max_new_tokens 512, 1024"):
        load_figure("retention").prepare(cells, {})
    load_figure("retention").prepare(cells, {"max_new_tokens": 512})


def test_sampled_and_midword_cells_stay_out_of_the_greedy_figures(paper):
    cells = paper["cells"][paper["cells"]["study"].isin(["main", "temperature", "midword"])]
    data = load_figure("retention").prepare(cells, {"tasks": ["gsm8k"]})
    assert len(data) == 8 * 4
    gemma = data[(data["model"] == "gemma-3-12b-instruct") & (data["rank"] == 2)].iloc[0]
    assert (gemma["n"], gemma["retention"]) == (500, 0.8)


def test_styles_tell_base_from_instruct(paper):
    figure = load_figure("retention")
    drawn = figure.draw(figure.prepare(of_paper(paper, "retention"), {"tasks": TASKS}), {})
    assert len(drawn.axes) == 12
    base, instruct = drawn.axes[0].get_lines()[:2]
    assert base.is_dashed()
    assert not instruct.is_dashed()
    assert base.get_color() != instruct.get_color()


def test_the_callers_settings_change_nothing(demo, tmp_path):
    figure = load_figure("surprisal")
    data = figure.prepare(demo["cells"], {})
    save(figure.draw(data, {}), tmp_path / "a", data)
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": "other", "lines.linewidth": 9}):
        save(figure.draw(data, {}), tmp_path / "b", data)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_hues_stay_apart_for_the_colour_blind():
    """Simulated protanopia, deuteranopia and tritanopia (Viénot, Brettel and Mollon 1999; tritanopia after Brettel)."""
    views = {
        "normal": np.eye(3),
        "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
        "tritanopia": [[1, 0.14461, -0.14461], [0, 0.85924, 0.14076], [0, 0.85924, 0.14076]],
    }
    colours = [np.array(matplotlib.colors.to_rgb(style.COLOURS[a])) for a in ("base", "instruct")]
    for view in views.values():
        seen = [np.asarray(view) @ colour**2.2 for colour in colours]
        assert np.linalg.norm(seen[0] - seen[1]) > 0.2


@pytest.mark.parametrize(
    ("size", "model", "label"),
    [
        (7.62, "qwen2.5-7b-instruct", "7B"),
        (0.49, "qwen2.5-0.5b", "0.5B"),
        (8.03, "llama-3.1-8b", "8B"),
        (0.135, "smollm2-135m-instruct", "135M"),
        (0.27, "mine", "270M"),
        (12.2, "mine", "12B"),
        (3.09, "run-b2", "3.1B"),
    ],
)
def test_sizes_are_written_as_people_write_them(size, model, label):
    assert size_label(size, model) == label


@pytest.mark.parametrize("name", FIGURES)
def test_tables_put_one_below_the_other_may_repeat_their_index(name, demo):
    figure, table = load_figure(name), demo[figure_input(name)]
    half = len(table) // 2
    stacked = pd.concat(
        [table.iloc[:half].reset_index(drop=True), table.iloc[half:].reset_index(drop=True)]
    )
    pd.testing.assert_frame_equal(figure.prepare(stacked, {}), figure.prepare(table, {}))


def test_an_unknown_figure_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown figure 'pie', known are heatmap"):
        load_figure("pie")
