"""What is read of many cases at once, without the lists that led to their results: scores, errors, rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.store.cases import texts_between
from ragtui.store.runs import decoded, measures_of, number_of
from ragtui.store.schema import BEST
from ragtui.trace import CaseError, CaseStatus, CaseTrace, Hits

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class _Ranking(msgspec.Struct):
    case: str
    index: int
    status: CaseStatus = "ok"
    error: CaseError | None = None
    results: Hits = Hits([], [])
    scores: dict[str, float | None] = {}


def rankings_between(connection: DuckDBPyConnection, run_id: str, wanted: list[tuple[int, int]]) -> list[CaseTrace]:
    """`traces_between` with results, scores and errors; the lists of the stages before are passed over unread."""
    texts = texts_between(connection, run_id, wanted)
    return [CaseTrace(**msgspec.structs.asdict(decoded(text, _Ranking, run_id))) for text in texts]


def scores(connection: DuckDBPyConnection, run_id: str) -> tuple[list[str], dict[str, dict[str, float | None]]]:
    """The run's measures, and for each executed case, by index, each measure's value or None where it is unscored."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    rows = connection.execute(
        f"SELECT case_id, scores FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run ORDER BY idx",
        {"run": run},
    ).fetchall()
    return names, {case: dict(zip(names, values, strict=True)) for case, values in rows}


def outlines(connection: DuckDBPyConnection, run_id: str) -> list[CaseTrace]:
    """The best trace of each executed case, by index, with nothing but its scores and its error."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    rows = connection.execute(
        "SELECT case_id, idx, status, error_kind, error_message, scores "
        f"FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run ORDER BY idx",
        {"run": run},
    ).fetchall()
    return [
        CaseTrace(
            case=case, index=index, status=status, scores=dict(zip(names, scores, strict=True)),
            error=None if status == "ok" else CaseError(kind or "", message or ""),
        )
        for case, index, status, kind, message, scores in rows
    ]  # fmt: skip


def score_columns(connection: DuckDBPyConnection, run_id: str) -> tuple[list[str], dict[str, int], NDArray[np.float64]]:
    """The run's measures, case id → row for executed cases, and scores of shape (cases, measures), NaN: unscored."""
    run = number_of(connection, run_id)
    names = measures_of(connection, run)
    columns = "".join(f", scores[{place}] AS m{place}" for place in range(1, len(names) + 1))
    found = connection.execute(
        f"SELECT case_id{columns} FROM traces JOIN ({BEST}) USING (idx, attempt) WHERE run = $run ORDER BY idx",
        {"run": run},
    ).fetchnumpy()
    rows = {str(case): row for row, case in enumerate(found["case_id"])}
    matrix = np.empty((len(rows), len(names)))
    for place in range(len(names)):
        matrix[:, place] = np.ma.filled(np.ma.asarray(found[f"m{place + 1}"], np.float64), np.nan)
    return names, rows, matrix
