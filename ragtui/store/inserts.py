"""The inserts of one batch and the summary of a run, as SQL over whole columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragtui.store.batch import Batch, text_hash
from ragtui.store.schema import BEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

SLICE = 5000


def insert_chunks(connection: DuckDBPyConnection, run: int, batch: Batch) -> None:
    """Add the chunks that the run has not told yet, and the texts that no run has."""
    chunks = list(batch.chunks.values())
    for start in range(0, len(chunks), SLICE):
        part = chunks[start : start + SLICE]
        hashes = [text_hash(chunk.text) for chunk in part]
        fresh = dict(zip(hashes, (chunk.text for chunk in part), strict=True))
        told = {
            "ordinal": _column([chunk.ordinal for chunk in part], "int64"),
            "doc": _column([chunk.doc for chunk in part]),
            "start_at": _column([chunk.start for chunk in part], "int64"),
            "end_at": _column([chunk.end for chunk in part], "int64"),
            "hash": _column(hashes),
        }
        connection.register("told", told)
        # Most runs see chunks that others have seen, so only the texts that are new are handed over.
        for (known,) in connection.execute("SELECT DISTINCT hash FROM told JOIN texts USING (hash)").fetchall():
            del fresh[known]
        if fresh:
            connection.register("fresh", {"hash": _column(list(fresh)), "text": _column(list(fresh.values()))})
            connection.execute(
                "INSERT INTO texts SELECT (SELECT coalesce(max(text_id), 0) FROM texts) + row_number() OVER (), "
                "hash, text FROM fresh"
            )
        connection.execute(
            "INSERT INTO chunks SELECT $run, ordinal, doc, start_at, end_at, text_id FROM told JOIN texts USING (hash) "
            "WHERE ordinal NOT IN (SELECT ordinal FROM chunks WHERE run = $run)",
            {"run": run},
        )


def insert_traces(connection: DuckDBPyConnection, run: int, batch: Batch, measures: list[str]) -> None:
    """Add the traces whose case and attempt are not there; scores in the order of `measures`."""
    rows = list(batch.traces.values())
    if not rows:
        return
    connection.register("long", {"trace": _column([row.trace for row in rows])})
    connection.execute(
        "INSERT INTO traces SELECT $run, new.* FROM (FROM (SELECT unnest($idx) AS idx, unnest($attempt) AS attempt, "
        "unnest($case_id), unnest($status), unnest($kind::VARCHAR[]), unnest($message::VARCHAR[]), unnest($at), "
        "unnest($scores::DOUBLE[][]), unnest($bytes)) POSITIONAL JOIN long) AS new WHERE NOT EXISTS "
        "(FROM traces AS old WHERE old.run = $run AND old.idx = new.idx AND old.attempt = new.attempt)",
        {
            "run": run, "idx": [row.index for row in rows], "attempt": [row.attempt for row in rows],
            "case_id": [row.case for row in rows], "status": [row.status for row in rows],
            "kind": [row.error.kind if row.error else None for row in rows],
            "message": [row.error.message if row.error else None for row in rows], "at": [row.at for row in rows],
            "scores": [[row.scores.get(name) for name in measures] for row in rows],
            "bytes": [len(row.trace) for row in rows],
        },
    )  # fmt: skip


def _column(values: Sequence[object], dtype: str = "object") -> NDArray[Any]:
    """A column as DuckDB reads it fastest: a list parameter of long texts takes three times as long."""
    import numpy as np

    column = np.empty(len(values), dtype=dtype)
    column[:] = values
    return column


_HEADLINE = "contains(traces.case_id, '@e2e#') AND (SELECT any_value(tier) FROM runs WHERE run = $run) = 'generation'"


def summarise(connection: DuckDBPyConnection, run: int, measures: int, mark: str) -> None:
    """Take status, times, counts and means of a run from its attempts and its best traces."""
    scores = connection.execute(
        f"SELECT status, scores, bytes, {_HEADLINE} FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run",
        {"run": run},
    ).fetchall()
    # In the generation tier the means that lists show are of what retrieval found, where that was asked for.
    shown = [row for row in scores if row[3]] or scores
    columns = [[row[1][place] for row in shown if row[1][place] is not None] for place in range(measures)]
    connection.execute(
        "UPDATE runs SET scored = $scored, errors = $errors, trace_bytes = $size, journal_mark = $mark, "
        "means = $means, status = last.status, ended_at = last.ended_at, attempts = last.attempts, "
        "elapsed_s = last.elapsed_s FROM "
        "(SELECT arg_max(status, attempt) AS status, max(ended_at) AS ended_at, count(*) AS attempts, "
        "sum(elapsed_s) AS elapsed_s FROM attempts WHERE run = $run) AS last WHERE run = $run",
        {
            "run": run, "mark": mark, "size": sum(row[2] for row in scores),
            "scored": sum(any(value is not None for value in row[1]) for row in scores),
            "errors": sum(row[0] == "error" for row in scores),
            "means": [math.fsum(column) / len(column) if column else None for column in columns],
        },
    )  # fmt: skip
