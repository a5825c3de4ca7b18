"""`taboo plan`: what it says of a small study and of the paper."""

from taboo.calibration import load_calibration
from taboo.cli import main
from taboo.plan import Cell


def test_what_is_there_is_reused_and_what_does_not_fit_is_named(repository, capsys):
    large = {**repository.settings["models"]["tiny"], "size_b": 100, "source": {"hub": "org/large"}}
    repository.settings["models"]["large"] = {**large, "gated": True}
    repository.settings["studies"]["one"]["models"] = ["tiny", "large"]
    repository.write()
    repository.results().cell(Cell("tiny", "bf16", "gsm8k", "baseline"), 3)
    assert main(["plan"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    tiny, large = (next(line for line in lines if line[:1] == [name]) for name in ("tiny", "large"))
    assert tiny[:5] == ["tiny", "bf16", "1", "1", "3"]
    assert large[:5] == ["large", "bf16", "2", "0", "6"]
    assert large[-4:] == ["–"] * 4
    text = " ".join(" ".join(line) for line in lines)
    assert "Does not fit H200 (141 GB): large in bf16" in text
    assert "Not in models.lock.yaml: 1 of 1 models of the hub; run `taboo lock`" in text
    assert "HF_TOKEN and an accepted licence are needed: org/large" in text
    assert "~ rests on an estimate" in text


def test_calibrate_takes_over_what_runs_took(repository, capsys):
    done = {"items": 3, "tokens": 800, "budget": 1000, "seconds": 4.0}
    cell = Cell("tiny", "bf16", "gsm8k", "baseline")
    assert main(["plan", "--calibrate"]) == 2
    assert "has no record of a run that generated anything" in capsys.readouterr().err
    repository.results().cell(cell, 3, generated=done)
    assert main(["plan", "--calibrate", "--card", "CPU"]) == 0
    shown = capsys.readouterr().out
    assert "calibration.yaml: speeds of 1 jobs taken over" in shown
    assert "~" not in shown
    calibration = load_calibration("calibration.yaml")
    assert calibration.cards["CPU"].tokens_per_s("bf16", 0.1) == 200
    assert calibration.budget_share["base"] == 0.8


def test_an_unknown_card_is_named(repository, capsys):
    assert main(["plan", "--card", "B200"]) == 2
    assert "has no card 'B200'; it has A100-40" in capsys.readouterr().err


def test_the_paper_needs_gpu_days_and_the_large_models_a_large_card(
    root, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(root)
    (tmp_path / "elsewhere.yaml").write_text(f"results: {tmp_path / 'results'}\n")
    assert main(["plan", "--config", str(tmp_path / "elsewhere.yaml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    (too_large,) = [line for line in lines if line.startswith("Does not fit A100-40")]
    assert "qwen2.5-72b in nf4" in too_large
    assert "llama-3.1-8b" not in too_large
    (sums,) = [line for line in lines if "all that fit" in line]
    assert 24 < float(sums.split()[-2]) < 24 * 7
