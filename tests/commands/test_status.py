"""`taboo status`: every state is shown, with items, and all of the paper fast."""

import time

import pytest

from taboo.cli import main
from taboo.commands.status import summary
from taboo.plan import Cell
from taboo.states import State


def test_the_grid_shows_done_partial_invalid_and_missing(repository, capsys):
    study = repository.settings["studies"]["one"]
    study["conditions"] = ["baseline", "taboo_i1", "taboo_i2", "taboo_i4"]
    repository.write()
    results = repository.results()
    cells = [Cell("tiny", "bf16", "gsm8k", name) for name in study["conditions"]]
    results.cell(cells[0], 3)
    results.journal(cells[1], 1)
    results.cell(cells[2], 3, code="other")
    assert main(["status"]) == 1
    shown = capsys.readouterr().out
    assert "●◐✗○ 33% n=3" in shown
    assert "● 1 done, ◐ 1 partial, ✗ 1 invalid, ○ 1 missing" in shown
    assert main(["status", "--model", "tiny"]) == 1
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert ["bf16", "gsm8k", "◐", "taboo_i1", "1", "of", "3"] in lines
    assert ["bf16", "gsm8k", "✗", "taboo_i2", "0", "of", "3"] in lines


def test_exit_status_is_0_when_all_is_done(repository, capsys):
    results = repository.results()
    for name in ("baseline", "taboo_i1"):
        results.cell(Cell("tiny", "bf16", "gsm8k", name), 3)
    assert main(["status"]) == 0
    assert "●● n=3" in capsys.readouterr().out
    assert main(["status", "--model", "huge"]) == 2
    assert "no study to run has a model 'huge'" in capsys.readouterr().err


def test_many_conditions_are_counted():
    states = [State("done", 3, 3)] * 20 + [State("missing", 0, 3)] * 11
    assert summary(states) == "[green]●[/]20 [dim]○[/]11"


@pytest.mark.parametrize(
    ("command", "shown"), [("status", "1132 missing"), ("plan", "163 jobs"), ("claims", "not run")]
)
def test_the_whole_paper_takes_seconds(command, shown, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    (tmp_path / "elsewhere.yaml").write_text(f"results: {tmp_path / 'results'}\n")
    started = time.monotonic()
    main([command, "--config", str(tmp_path / "elsewhere.yaml")])
    assert time.monotonic() - started < 10
    assert shown in capsys.readouterr().out
