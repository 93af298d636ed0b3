"""The inserts of one batch and the summary of a run, as SQL over whole columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ragtui.store.batch import Batch, text_hash
from ragtui.store.schema import BEST

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLICE = 5000


def insert_chunks(connection: DuckDBPyConnection, run: int, batch: Batch) -> None:
    """Add the chunks that the run has not told yet, and the texts that no run has."""
    chunks = list(batch.chunks.values())
    for start in range(0, len(chunks), SLICE):
        part = chunks[start : start + SLICE]
        hashes = [text_hash(chunk.text) for chunk in part]
        texts = dict(zip(hashes, (chunk.text for chunk in part), strict=True))
        connection.execute(
            "INSERT INTO texts SELECT (SELECT coalesce(max(text_id), 0) FROM texts) + row_number() OVER (), hash, text "
            "FROM (SELECT unnest($hashes) AS hash, unnest($texts) AS text) WHERE hash NOT IN (SELECT hash FROM texts)",
            {"hashes": list(texts), "texts": list(texts.values())},
        )
        connection.execute(
            "INSERT INTO chunks SELECT $run, ordinal, doc, start_at, end_at, text_id "
            "FROM (SELECT unnest($ordinals) AS ordinal, unnest($docs) AS doc, unnest($starts) AS start_at, "
            "unnest($ends) AS end_at, unnest($hashes) AS hash) JOIN texts USING (hash) "
            "WHERE ordinal NOT IN (SELECT ordinal FROM chunks WHERE run = $run)",
            {
                "run": run, "ordinals": [chunk.ordinal for chunk in part], "docs": [chunk.doc for chunk in part],
                "starts": [chunk.start for chunk in part], "ends": [chunk.end for chunk in part], "hashes": hashes,
            },
        )  # fmt: skip


def insert_traces(connection: DuckDBPyConnection, run: int, batch: Batch, measures: list[str]) -> None:
    """Add the traces whose case and attempt are not there; scores in the order of `measures`."""
    rows = list(batch.traces.values())
    if not rows:
        return
    connection.execute(
        "INSERT INTO traces SELECT $run, new.* FROM (SELECT unnest($idx) AS idx, unnest($attempt) AS attempt, "
        "unnest($case_id), unnest($status), unnest($kind::VARCHAR[]), unnest($message::VARCHAR[]), unnest($at), "
        "unnest($scores::DOUBLE[][]), unnest($bytes), unnest($trace)) AS new WHERE NOT EXISTS "
        "(FROM traces AS old WHERE old.run = $run AND old.idx = new.idx AND old.attempt = new.attempt)",
        {
            "run": run, "idx": [row.index for row in rows], "attempt": [row.attempt for row in rows],
            "case_id": [row.case for row in rows], "status": [row.status for row in rows],
            "kind": [row.error.kind if row.error else None for row in rows],
            "message": [row.error.message if row.error else None for row in rows], "at": [row.at for row in rows],
            "scores": [[row.scores.get(name) for name in measures] for row in rows],
            "bytes": [len(row.trace) for row in rows],
            "trace": [row.trace for row in rows],
        },
    )  # fmt: skip


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
