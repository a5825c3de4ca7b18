"""A results folder as runs leave it, without a model: snapshots, journals, cells and their records."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taboo.cells import Journal, recipe_key, write_cell
from taboo.engine.base import Generation
from taboo.files import sha256_json, write_json
from taboo.generation import recipe
from taboo.plan import Cell, condition
from taboo.provenance.records import write_records

LOG = logging.getLogger("taboo.test")


class Results:
    """What generate jobs of `code` wrote for the models and tasks of `config`."""

    def __init__(self, config: Mapping[str, Any], code: str):
        self.config, self.code = config, code
        self.folder = Path(config["results"])

    def parts(self, cell: Cell, code: str | None = None) -> dict[str, Any]:
        """The recipe of a cell; the model's snapshot is written if it is not there."""
        digest = sha256_json(cell.model)
        path = self.folder / "snapshots" / cell.model / "snapshot.json"
        if not path.is_file():
            write_json(path, {"source": {}, "files": {}, "sha256": digest})
        engine = {"precision": cell.precision, "machine": {"device": "cpu"}}
        settings = condition(self.config, cell.task, cell.condition)
        task = {"name": cell.task, "version": "1"}
        return recipe(settings, task, digest, "w", engine, code or self.code)

    def journal(self, cell: Cell, items: int, code: str | None = None) -> list[dict[str, Any]]:
        """A journal with `items` items of a cell, as a killed job leaves it; its records."""
        parts = self.parts(cell, code)
        settings = condition(self.config, cell.task, cell.condition)
        with Journal(self.folder / "journal", recipe_key(parts), LOG) as journal:
            write_json(journal.path.with_suffix(".json"), parts)
            for number in range(items):
                name = f"{cell.task}/{number}"
                journal.append(
                    Generation(name, settings, "p", (1,), (1,), (0.0,), (False,), "x", "eos", 3)
                )
            return list(journal.records.values())

    def cell(self, cell: Cell, items: int, code: str | None = None, **volatile: Any) -> Path:
        """A finished cell with its journal and its record."""
        records = self.journal(cell, items, code)
        path = self.folder / "cells" / f"{cell.path}.parquet"
        write_cell(path, records, self.parts(cell, code), "s")
        params = {"generating_code": code or self.code}
        volatile = {"started": 1.0, "host": "h", "gpu": None, **volatile}
        write_records(self.folder, "generate", {}, [path], params, {}, {}, volatile)
        return path
