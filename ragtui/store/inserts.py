"""The inserts of one batch and the summary of a run, as SQL over whole columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragtui.experiment.cases import parse_case
from ragtui.experiment.generation import headline_of
from ragtui.metrics.aggregate import average_repeats
from ragtui.metrics.measure import is_rate
from ragtui.store.batch import Batch, text_hash
from ragtui.store.schema import BEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

SLICE = 5000


def insert_chunks(connection: DuckDBPyConnection, run: int, batch: Batch) -> int | None:
    """Add the chunks that the run has not told yet, and the texts that no run has.

    Gives an ordinal that the run has told of another span, None if there is none such; then nothing is to be kept.
    """
    chunks = [chunk for chunk, _ in batch.chunks.values()]
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
        other = connection.execute(
            "SELECT ordinal FROM told JOIN chunks AS old USING (ordinal) WHERE old.run = $run "
            "AND (told.doc <> old.doc OR told.start_at <> old.start_at OR told.end_at <> old.end_at) LIMIT 1",
            {"run": run},
        ).fetchone()
        if other is not None:
            return int(other[0])
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
    return None


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
    column = np.empty(len(values), dtype=dtype)
    column[:] = values
    return column


def summarise(connection: DuckDBPyConnection, run: int, mark: str) -> None:
    """Take status, times, counts and means of a run from its attempts and its best traces.

    A run whose last attempt did all that it took on is complete only where every case has a trace.
    """
    row = connection.execute("SELECT tier, measures FROM runs WHERE run = $1", [run]).fetchone()
    tier, measures = row if row else ("retrieval", [])
    rows = connection.execute(
        f"SELECT status, scores, bytes, case_id FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run",
        {"run": run},
    ).fetchall()
    # What has a value where there is nothing to find makes no case a scored one.
    ranking = [place for place, name in enumerate(measures) if not is_rate(name)]
    connection.execute(
        "UPDATE runs SET scored = $scored, errors = $errors, trace_bytes = $size, journal_mark = $mark, "
        "means = $means, ended_at = last.ended_at, attempts = last.attempts, elapsed_s = last.elapsed_s, "
        "status = CASE WHEN last.status = 'completed' AND $traced < cases THEN 'interrupted' ELSE last.status END FROM "
        "(SELECT arg_max(status, attempt) AS status, max(ended_at) AS ended_at, max(attempt) AS attempts, "
        "sum(elapsed_s) AS elapsed_s FROM attempts WHERE run = $run) AS last WHERE run = $run",
        {
            "run": run, "mark": mark, "size": sum(row[2] for row in rows), "traced": len(rows),
            "scored": sum(any(row[1][place] is not None for place in ranking) for row in rows),
            "errors": sum(row[0] == "error" for row in rows),
            "means": _means(connection, run, tier, len(measures), rows),
        },
    )  # fmt: skip


def _means(
    connection: DuckDBPyConnection, run: int, tier: str, measures: int, rows: list[tuple[Any, ...]]
) -> list[float | None]:
    """The plain mean of each measure over goldens: those that the run's summary shows.

    In the generation tier they are of the mode that stands for the run, repeats averaged first.
    """
    scores = [row[1] for row in rows]
    if tier == "generation" and rows:
        cases = connection.execute("SELECT case_id FROM cases WHERE run = $1", [run]).fetchall()
        mode = headline_of(list({parse_case(case).mode for (case,) in cases}))
        named = [(parse_case(row[3]), row[1]) for row in rows]
        shown = [(name.golden, values) for name, values in named if name.mode == mode]
        matrix = np.array([values for _, values in shown], dtype=np.float64).reshape(len(shown), measures)
        _, averaged = average_repeats(matrix, [golden for golden, _ in shown])
        scores = [[None if math.isnan(value) else value for value in row] for row in averaged.tolist()]
    columns = [[values[place] for values in scores if values[place] is not None] for place in range(measures)]
    return [math.fsum(column) / len(column) if column else None for column in columns]
