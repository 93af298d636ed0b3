"""Queries over the cases of one run: traces, scores, chunks, and lists that are filtered and sorted in the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ragtui.errors import InvalidInput
from ragtui.store.rows import CaseRow
from ragtui.store.runs import decoded, measures_of, number_of
from ragtui.store.schema import BEST
from ragtui.trace import CaseTrace, ChunkRef

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LISTED = f"""
    FROM (SELECT * EXCLUDE (run, definition) FROM cases WHERE run = $run) AS c
    FULL JOIN (SELECT * EXCLUDE (run, trace) FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run) AS t
    ON t.idx = c.idx
    WHERE true
"""


class CaseFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases a list shows. `missed_by` names a measure that must be 0; `text` is looked for in query and id."""

    text: str = ""
    tag: str | None = None
    status: str | None = None
    missed_by: str | None = None


def best_attempts(connection: DuckDBPyConnection, run: int) -> list[tuple[int, int]]:
    """(index, attempt) of the best trace of each case, by index."""
    return connection.execute(f"SELECT idx, attempt FROM ({BEST}) ORDER BY idx", {"run": run}).fetchall()


def traces_between(connection: DuckDBPyConnection, run_id: str, wanted: list[tuple[int, int]]) -> list[CaseTrace]:
    """The traces under the given (index, attempt) pairs, which are ascending."""
    if not wanted:
        return []
    rows = connection.execute(
        "SELECT idx, attempt, trace FROM traces WHERE run = $run AND idx BETWEEN $low AND $high",
        {"run": number_of(connection, run_id), "low": wanted[0][0], "high": wanted[-1][0]},
    ).fetchall()
    texts = {(index, attempt): text for index, attempt, text in rows}
    return [decoded(texts[key], CaseTrace, run_id) for key in wanted if key in texts]


def trace(connection: DuckDBPyConnection, run_id: str, case_id: str) -> CaseTrace:
    """The best trace of one case; InvalidInput if the run has none of that id."""
    run = number_of(connection, run_id)
    row = connection.execute(
        "SELECT idx, attempt FROM traces WHERE run = $run AND case_id = $case "
        "ORDER BY (status = 'ok') DESC, attempt DESC LIMIT 1",
        {"run": run, "case": case_id},
    ).fetchone()
    if row is None:
        raise _no_trace(connection, run, run_id, case_id)
    return traces_between(connection, run_id, [row])[0]


def finished_indexes(connection: DuckDBPyConnection, run_id: str, including_errors: bool) -> set[int]:
    """The indexes of cases with a trace, or with one that is ok."""
    rows = connection.execute(
        "SELECT DISTINCT idx FROM traces WHERE run = $run AND ($errors OR status = 'ok')",
        {"run": number_of(connection, run_id), "errors": including_errors},
    ).fetchall()
    return {row[0] for row in rows}


def scores(connection: DuckDBPyConnection, run_id: str) -> tuple[list[str], dict[str, dict[str, float | None]]]:
    """The run's measures, and for each executed case, by index, each measure's value or None where it is unscored."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    rows = connection.execute(
        f"SELECT case_id, scores FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run ORDER BY idx",
        {"run": run},
    ).fetchall()
    return names, {case: dict(zip(names, values, strict=True)) for case, values in rows}


def chunks(connection: DuckDBPyConnection, run_id: str, ordinals: Iterable[int]) -> dict[int, ChunkRef]:
    """The chunks under the ordinals of a run's traces; ordinals that the run never told are left out."""
    rows = connection.execute(
        "SELECT ordinal, doc, start_at, end_at, text FROM chunks JOIN texts USING (text_id) "
        "WHERE run = $run AND ordinal IN (SELECT unnest($ordinals::INTEGER[])) ORDER BY ordinal",
        {"run": number_of(connection, run_id), "ordinals": sorted(set(ordinals))},
    ).fetchall()
    return {row[0]: ChunkRef(*row) for row in rows}


def count_cases(connection: DuckDBPyConnection, run_id: str, wanted: CaseFilter) -> int:
    """How many cases the filter leaves."""
    run = number_of(connection, run_id)
    clause, values = _where(measures_of(connection, run), wanted)
    row = connection.execute(f"SELECT count(*) {_LISTED} {clause}", {"run": run, **values}).fetchone()
    return int(row[0]) if row else 0


def case_rows(
    connection: DuckDBPyConnection, run_id: str, wanted: CaseFilter, sort: str | None, descending: bool, offset: int,
    limit: int,
) -> list[CaseRow]:  # fmt: skip
    """A page of the filtered cases, sorted by index or by a measure; cases without a value come last."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    clause, values = _where(names, wanted)
    direction = "DESC" if descending else "ASC"
    if sort is None or sort == "index":
        order = f"idx {direction}"
    else:
        order = f"scores[{_place(names, sort)}] {direction} NULLS LAST, idx"
    rows = connection.execute(
        "SELECT coalesce(t.case_id, c.case_id), coalesce(t.idx, c.idx) AS idx, coalesce(query, ''), "
        f"coalesce(tags, []), coalesce(status, 'pending'), coalesce(error_message, ''), scores {_LISTED} {clause} "
        f"ORDER BY {order} LIMIT $limit OFFSET $offset",
        {"run": run, "limit": limit, "offset": offset, **values},
    ).fetchall()
    return [
        CaseRow(
            case=row[0], index=row[1], query=row[2], tags=tuple(row[3]), status=row[4], error=row[5],
            scores=dict(zip(names, row[6] or [None] * len(names), strict=True)),
        )
        for row in rows
    ]  # fmt: skip


def _where(names: list[str], wanted: CaseFilter) -> tuple[str, dict[str, Any]]:
    clauses: list[str] = []
    values: dict[str, Any] = {}
    if wanted.text:
        clauses.append(
            "(contains(lower(query), lower($text)) OR contains(lower(coalesce(t.case_id, c.case_id)), lower($text)))"
        )
        values["text"] = wanted.text
    if wanted.tag is not None:
        clauses.append("list_contains(tags, $tag)")
        values["tag"] = wanted.tag
    if wanted.status is not None:
        clauses.append("coalesce(status, 'pending') = $status")
        values["status"] = wanted.status
    if wanted.missed_by is not None:
        clauses.append(f"scores[{_place(names, wanted.missed_by)}] = 0")
    return "".join(f" AND {clause}" for clause in clauses), values


def _place(names: list[str], measure: str) -> int:
    """The position of a measure in the run's lists, from 1 as in SQL."""
    if measure not in names:
        raise InvalidInput(f"The run has no measure {measure!r}.", f"It has {', '.join(names) or 'none'}.")
    return names.index(measure) + 1


def _no_trace(connection: DuckDBPyConnection, run: int, run_id: str, case_id: str) -> InvalidInput:
    known = connection.execute("SELECT case_id FROM cases WHERE run = $1 ORDER BY idx", [run]).fetchall()
    ids = [row[0] for row in known]
    if case_id in ids:
        return InvalidInput(
            f"Run {run_id} has not executed the case {case_id!r}.", f"Finish it with `ragtui resume {run_id}`."
        )
    near = difflib.get_close_matches(case_id, ids, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"`ragtui show {run_id}` lists its cases."
    return InvalidInput(f"Run {run_id} has no case {case_id!r}.", hint)
