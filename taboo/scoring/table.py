"""Score files: one row per item of a cell."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taboo.files import write_atomic
from taboo.scoring.base import Verdict

SCORE_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("correct", pa.bool_()),
        ("outcome", pa.string()),
        ("extracted", pa.string()),
        ("rule", pa.string()),
        ("details", pa.string()),
    ]
)


def write_scores(path: str | Path, item_ids: Sequence[str], verdicts: Sequence[Verdict]) -> None:
    """Write one row per item in the order given; `details` becomes JSON text."""
    rows = [
        {
            "item_id": item_id,
            "correct": verdict.correct,
            "outcome": verdict.outcome,
            "extracted": verdict.extracted,
            "rule": verdict.rule,
            "details": json.dumps(verdict.details, sort_keys=True, ensure_ascii=False),
        }
        for item_id, verdict in zip(item_ids, verdicts, strict=True)
    ]
    table = pa.Table.from_pylist(rows, schema=SCORE_SCHEMA)
    write_atomic(path, lambda file: pq.write_table(table, file))
