"""A run as a table: one row a case, one column a measure."""

from __future__ import annotations

import csv
import io

import msgspec

from ragtui.analysis.recorded import RecordedRun


def csv_table(run: RecordedRun) -> bytes:
    """RFC 4180 with a header: the case, its question, what is relevant, what was retrieved, and every measure.

    `turns`, `relevant` (document to grade) and `retrieved` (documents, best first) are JSON. A measure without a value
    is an empty cell; a case that never ran has the status `pending`.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([
        "case", "suite", "tags", "turns", "query", "expectRefusal", "relevant", "status", "error", "retrieved",
        *run.measures,
    ])  # fmt: skip
    for case in run.cases:
        trace = run.trace_of.get(case.id)
        chunks = [] if trace is None else [run.chunk_of[at] for at in trace.results.chunks if at in run.chunk_of]
        retrieved = list(dict.fromkeys(chunk.doc for chunk in chunks))
        scores = {} if trace is None else trace.scores
        values = [scores.get(name) for name in run.measures]
        writer.writerow([
            case.id, case.suite, " ".join(case.tags),
            msgspec.json.encode(case.turns).decode() if case.turns else "",
            case.query, "true" if case.expect_refusal else "",
            msgspec.json.encode(case.grades).decode(),
            "pending" if trace is None else trace.status,
            "" if trace is None or trace.error is None else trace.error.message,
            msgspec.json.encode(retrieved).decode(),
            *("" if value is None else repr(value) for value in values),
        ])  # fmt: skip
    return out.getvalue().encode("utf-8", "surrogatepass")
