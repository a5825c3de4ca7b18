"""A folder that is a repository for the commands, with a configuration and results of its own."""

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from taboo.commands.configuration import generating_code
from taboo.config import complete
from tests.results_folder import Results
from tests.test_config import ROOT, SCHEMA, SMALL


class Repository:
    """`folder` has the code of this repository, and `settings` as its config.yaml."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("taboo", "workflow", "claims.yaml"):
            (folder / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "calibration.yaml", folder)
        self.settings: dict[str, Any] = copy.deepcopy(SMALL)
        self.write()

    def write(self) -> None:
        """Write the settings."""
        text = yaml.safe_dump(self.settings)
        (self.folder / "config.yaml").write_text(text, encoding="utf-8")

    def results(self) -> Results:
        """The results folder, for what this code makes."""
        return Results(complete(self.settings, SCHEMA), generating_code())


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Repository:
    """The working folder of the test."""
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path)
