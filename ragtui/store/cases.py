"""Queries over the cases of one run: traces, scores, chunks, and lists that are filtered and sorted in the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.errors import InvalidInput
from ragtui.inputs.evaluation import EvaluationCase
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

_ID = "coalesce(t.case_id, c.case_id)"
_WORD = (
    f"(contains(lower(query), {{0}}) OR contains(lower({_ID}), {{0}}) "
    "OR contains(lower(array_to_string(tags, ' ')), {0})"
)
# A mistyped word is compared with the beginning of each word that is there, as long as it is itself.
_NEAR = (
    f" OR list_bool_or([damerau_levenshtein(w[:length({{0}})], {{0}}) <= {{1}} "
    f"FOR w IN regexp_split_to_array(lower(concat_ws(' ', query, {_ID})), '[^\\pL\\pN]+')])"
)

# All there are in their own order, which is how a list begins: without looking at what is in them.
_EVERY = """
    SELECT idx FROM (
        SELECT idx FROM cases WHERE run = $run
        UNION ALL SELECT DISTINCT idx FROM traces ANTI JOIN cases USING (run, idx) WHERE run = $run
    ) ORDER BY idx
"""

_COLUMNS = (
    f"SELECT {_ID}, coalesce(t.idx, c.idx) AS idx, coalesce(query, ''), coalesce(tags, []), "
    "coalesce(status, 'pending'), coalesce(error_message, ''), scores"
)


class CaseFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases a list shows.

    Each word of `text` is looked for in query, id and tags; with `fuzzy`, a word of four letters and more may be
    mistyped (one edit, two from eight letters on). `missed_by` names a measure that must be 0, `imperfect_by` one that
    must be below 1.
    """

    text: str = ""
    tag: str | None = None
    status: str | None = None
    missed_by: str | None = None
    imperfect_by: str | None = None
    fuzzy: bool = False


class CaseDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One case of a run, whole: its frozen golden, its best trace (None before it ran), and that trace's chunks."""

    case: EvaluationCase
    index: int
    trace: CaseTrace | None
    chunks: dict[int, ChunkRef]


def best_attempts(connection: DuckDBPyConnection, run: int) -> list[tuple[int, int]]:
    """(index, attempt) of the best trace of each case, by index."""
    return connection.execute(f"SELECT idx, attempt FROM ({BEST}) ORDER BY idx", {"run": run}).fetchall()


def traces_between(connection: DuckDBPyConnection, run_id: str, wanted: list[tuple[int, int]]) -> list[CaseTrace]:
    """The traces under the given (index, attempt) pairs, which are ascending."""
    return [decoded(text, CaseTrace, run_id) for text in texts_between(connection, run_id, wanted)]


def texts_between(connection: DuckDBPyConnection, run_id: str, wanted: list[tuple[int, int]]) -> list[str]:
    """The traces under the given pairs as they are stored, JSON."""
    if not wanted:
        return []
    rows = connection.execute(
        "SELECT idx, attempt, trace FROM traces WHERE run = $run AND idx BETWEEN $low AND $high",
        {"run": number_of(connection, run_id), "low": wanted[0][0], "high": wanted[-1][0]},
    ).fetchall()
    texts = {(index, attempt): text for index, attempt, text in rows}
    return [texts[key] for key in wanted if key in texts]


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


def chunks(connection: DuckDBPyConnection, run_id: str, ordinals: Iterable[int]) -> dict[int, ChunkRef]:
    """The chunks under the ordinals of a run's traces; ordinals that the run never told are left out."""
    rows = connection.execute(
        "SELECT ordinal, doc, start_at, end_at, text FROM chunks JOIN texts USING (text_id) "
        "WHERE run = $run AND ordinal IN (SELECT unnest($ordinals::INTEGER[])) ORDER BY ordinal",
        {"run": number_of(connection, run_id), "ordinals": sorted(set(ordinals))},
    ).fetchall()
    return {row[0]: ChunkRef(*row) for row in rows}


def told_chunks(connection: DuckDBPyConnection, run_id: str) -> tuple[ChunkRef, ...]:
    """Every chunk that any attempt of the run told, by ordinal."""
    rows = connection.execute(
        "SELECT ordinal, doc, start_at, end_at, text FROM chunks JOIN texts USING (text_id) "
        "WHERE run = $1 ORDER BY ordinal",
        [number_of(connection, run_id)],
    ).fetchall()
    return tuple(ChunkRef(*row) for row in rows)


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
    rows = connection.execute(
        f"{_COLUMNS} {_LISTED} {clause} ORDER BY {_order(names, sort, descending)} LIMIT $limit OFFSET $offset",
        {"run": run, "limit": limit, "offset": offset, **values},
    ).fetchall()
    return _case_rows(names, rows)


def case_order(
    connection: DuckDBPyConnection, run_id: str, wanted: CaseFilter, sort: str | None, descending: bool
) -> NDArray[np.int64]:
    """The indexes of the filtered cases in the order of `case_rows`."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    clause, values = _where(names, wanted)
    if not clause and sort in (None, "index"):
        found = connection.execute(f"{_EVERY} {'DESC' if descending else 'ASC'}", {"run": run}).fetchnumpy()
        return np.asarray(found["idx"], np.int64)
    found = connection.execute(
        f"SELECT coalesce(t.idx, c.idx) AS idx {_LISTED} {clause} ORDER BY {_order(names, sort, descending)}",
        {"run": run, **values},
    ).fetchnumpy()
    return np.asarray(found["idx"], np.int64)


def cases_at(connection: DuckDBPyConnection, run_id: str, indexes: Sequence[int]) -> list[CaseRow]:
    """The cases under these indexes, in this order; unknown ones are left out."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    span = {"low": min(indexes, default=0), "high": max(indexes, default=0), "indexes": list(indexes)}
    # Row groups are skipped by the range, and rows by the list.
    near = "idx BETWEEN $low AND $high AND idx IN (SELECT unnest($indexes::INTEGER[]))"
    best = "QUALIFY row_number() OVER (PARTITION BY idx ORDER BY (status = 'ok') DESC, attempt DESC) = 1"
    rows = connection.execute(
        f"{_COLUMNS} FROM (FROM cases WHERE run = $run AND {near}) AS c FULL JOIN "
        f"(SELECT * EXCLUDE (run, trace) FROM traces WHERE run = $run AND {near} {best}) AS t ON t.idx = c.idx",
        {"run": run, **span},
    ).fetchall()
    found = {row.index: row for row in _case_rows(names, rows)}
    return [found[index] for index in indexes if index in found]


def detail(connection: DuckDBPyConnection, run_id: str, case_id: str) -> CaseDetail:
    """One case whole; InvalidInput if the run has none of that id."""
    run = number_of(connection, run_id)
    row = connection.execute(
        "SELECT idx, definition FROM cases WHERE run = $run AND case_id = $case", {"run": run, "case": case_id}
    ).fetchone()
    if row is None:
        raise _no_trace(connection, run, run_id, case_id)
    case = decoded(row[1], EvaluationCase, run_id)
    try:
        told = trace(connection, run_id, case_id)
    except InvalidInput:
        return CaseDetail(case=case, index=row[0], trace=None, chunks={})
    stages = (*told.channels.values(), told.fused, told.floor, told.collapse, told.results)
    ordinals = {chunk for hits in stages if hits is not None for chunk in hits.chunks} | told.chunks()
    return CaseDetail(case=case, index=row[0], trace=told, chunks=chunks(connection, run_id, ordinals))


def tags_of(connection: DuckDBPyConnection, run_id: str) -> dict[str, int]:
    """The tags of a run's cases with how many have each, by name."""
    rows = connection.execute(
        "SELECT tag, sum(count)::BIGINT FROM (SELECT unnest(list_distinct(tags)) AS tag, count FROM "
        "(SELECT tags, count(*) AS count FROM cases WHERE run = $1 GROUP BY tags)) GROUP BY tag ORDER BY tag",
        [number_of(connection, run_id)],
    ).fetchall()
    return dict(rows)


def _order(names: list[str], sort: str | None, descending: bool) -> str:
    direction = "DESC" if descending else "ASC"
    if sort is None or sort == "index":
        return f"idx {direction}"
    return f"scores[{_place(names, sort)}] {direction} NULLS LAST, idx"


def _case_rows(names: list[str], rows: list[tuple[Any, ...]]) -> list[CaseRow]:
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
    for place, word in enumerate(wanted.text.lower().split()):
        edits = min(2, len(word) // 4) if wanted.fuzzy else 0
        clauses.append(_WORD.format(f"$word{place}") + (_NEAR.format(f"$word{place}", edits) if edits else "") + ")")
        values[f"word{place}"] = word
    if wanted.tag is not None:
        clauses.append("list_contains(tags, $tag)")
        values["tag"] = wanted.tag
    if wanted.status is not None:
        clauses.append("coalesce(status, 'pending') = $status")
        values["status"] = wanted.status
    if wanted.missed_by is not None:
        clauses.append(f"scores[{_place(names, wanted.missed_by)}] = 0")
    if wanted.imperfect_by is not None:
        clauses.append(f"scores[{_place(names, wanted.imperfect_by)}] < 1")
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
