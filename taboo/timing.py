"""How long cells took, from the records of the jobs that generated them.

Time is a fact about a run and not about its result, so it is in no table of the workflow: two equal runs take different times.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from taboo.plan import study_cells
from taboo.provenance.records import DamagedRecord, read_record

COLUMNS = ("study", "model", "precision", "task", "condition", "device", "minutes")


def timing(config: Mapping[str, Any]) -> pd.DataFrame:
    """One row per study and cell with the columns `COLUMNS`, for the cells whose record says how long they took.

    `minutes` is the time per item of the job that generated the cell, loading left out, times the items that the study has of the cell's task (paper, appendix H). A job generates all conditions of a (model, precision, task) together, so that they share its time by their items. Cells that came from a journal without generating have no row.
    """
    rows = [row for name in config["run"] for row in _rows(config, name)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(config: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    results, study = Path(config["results"]), config["studies"][name]
    for cell in study_cells(study):
        try:
            record = read_record(results, results / "cells" / f"{cell.path}.parquet")
        except DamagedRecord:
            continue
        volatile = record["volatile"] if record else {}
        done = volatile.get("generated")
        if done and done["items"]:
            yield {
                **dict(zip(COLUMNS, (name, *cell.path.split("/")), strict=False)),
                "device": volatile["gpu"]["name"] if volatile["gpu"] else "CPU",
                "minutes": done["seconds"] / done["items"] * study["tasks"][cell.task] / 60,
            }
