"""A study of many models can be planned on a login node."""

import sys

import pytest
import yaml

from bench.scaling import measured, outputs, study


@pytest.mark.cluster
def test_a_thousand_models_are_planned_in_three_minutes_and_4_gb(tmp_path):
    """It takes a quarter of that where the machine does nothing else (docs/scaling.md)."""
    overlay = tmp_path / "many.yaml"
    overlay.write_text(yaml.safe_dump(study(1000, tmp_path / "results")))
    plan, seconds, peak_mb = measured(
        [sys.executable, "-m", "snakemake", "--dry-run", "--nolock", "--profile", "slurm",
         "--configfile", str(overlay)]
    )  # fmt: skip
    cells = [name for name in outputs(plan) if "/cells/" in name]
    assert len(cells) == len(set(cells)) == 1000 * 4 * 5
    assert seconds < 180
    assert peak_mb < 4000
