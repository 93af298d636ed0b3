"""Queries over runs: lists, one run, names for runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ragtui.errors import InvalidInput, StoreUnavailable
from ragtui.experiment.plan import Provenance
from ragtui.experiment.specification import Specification
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.store.rows import AttemptRow, RunRecord, RunRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

_COLUMNS = (
    "run_id, spec_id, name, status, started_at, ended_at, elapsed_s, cases, scored, cases - scored, errors, "
    "CASE WHEN status = 'completed' THEN cases ELSE coalesce(traced, 0) END, attempts, corpus_id, evaluation_id, tier, "
    "CASE WHEN json_valid(provenance) THEN coalesce(json_extract_string(provenance, '$.note'), '') ELSE '' END, "
    "suites, measures, means"
)
# Only a run that did not come to its end is counted: a complete one has a trace for each case.
_TRACED = (
    "LEFT JOIN (SELECT run, count(DISTINCT idx) AS traced FROM traces "
    "WHERE run IN (SELECT run FROM runs WHERE status <> 'completed') GROUP BY run) USING (run)"
)
_NEWEST_FIRST = "ORDER BY started_at DESC, run DESC"
_SHOWN_CANDIDATES = 8


def run_rows(
    connection: DuckDBPyConnection, limit: int | None = None, offset: int = 0, spec_id: str | None = None
) -> list[RunRow]:
    """Runs, newest first, of one specification if one is given."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM runs {_TRACED} WHERE $spec IS NULL OR spec_id = $spec {_NEWEST_FIRST} "
        "LIMIT $limit OFFSET $offset",
        {"spec": spec_id, "limit": 1 << 62 if limit is None else limit, "offset": offset},
    ).fetchall()
    return [RunRow(**_fields(row)) for row in rows]


def count_runs(connection: DuckDBPyConnection) -> int:
    """How many runs there are."""
    row = connection.execute("SELECT count(*) FROM runs").fetchone()
    return int(row[0]) if row else 0


def resolve(connection: DuckDBPyConnection, text: str) -> str:
    """The id of the run that `latest`, an id or a unique prefix of one names; InvalidInput otherwise."""
    if text == "latest":
        row = connection.execute(f"SELECT run_id FROM runs {_NEWEST_FIRST} LIMIT 1").fetchone()
        if row is None:
            raise InvalidInput("There is no run yet.", "Make one with `ragtui run`.")
        return str(row[0])
    return one_of(text, named(connection, text))


def named(connection: DuckDBPyConnection, text: str) -> dict[str, str]:
    """Id → how it is told apart (name and start) of the run with this id, or of every run whose id begins with it."""
    prefix = text.strip().lower()
    if not prefix.isascii():
        # No id holds such a character, and DuckDB takes no half of one.
        return {}
    found = connection.execute(
        f"SELECT run_id, name, started_at FROM runs WHERE starts_with(run_id, $text) AND $text <> '' {_NEWEST_FIRST}",
        {"text": prefix},
    ).fetchall()
    told = {run_id: f"{name or 'no name'}, {at}" for run_id, name, at in found}
    return {prefix: told[prefix]} if prefix in told else told


def one_of(text: str, found: Mapping[str, str]) -> str:
    """The only id among those that `named` gives for this text; InvalidInput for none, and for several lists them."""
    if not found:
        raise unknown_run(text)
    if len(found) > 1:
        shown = ", ".join(f"{run_id} ({told})" for run_id, told in islice(found.items(), _SHOWN_CANDIDATES))
        more = f" and {len(found) - _SHOWN_CANDIDATES} more" if len(found) > _SHOWN_CANDIDATES else ""
        raise InvalidInput(f"{text!r} names {len(found)} runs: {shown}{more}.", "Give more of the id.")
    return next(iter(found))


def number_of(connection: DuckDBPyConnection, run_id: str) -> int:
    """The number of a run in this file; InvalidInput if it is not there."""
    row = connection.execute("SELECT run FROM runs WHERE run_id = $1", [run_id]).fetchone()
    if row is None:
        raise unknown_run(run_id)
    return int(row[0])


def unknown_run(text: str) -> InvalidInput:
    """There is no such run."""
    return InvalidInput(f"There is no run {text!r}.", "`ragtui runs` lists them; `latest` names the newest.")


def measures_of(connection: DuckDBPyConnection, run: int) -> list[str]:
    """The names of a run's measures, in their order."""
    row = connection.execute("SELECT measures FROM runs WHERE run = $1", [run]).fetchone()
    return list(row[0]) if row else []


def record(connection: DuckDBPyConnection, run_id: str) -> RunRecord:
    """One run whole, without its cases."""
    run = number_of(connection, run_id)
    row = connection.execute(
        f"SELECT {_COLUMNS}, specification, provenance FROM runs {_TRACED} WHERE run = $1", [run]
    ).fetchone()
    attempts = connection.execute(
        "SELECT attempt, status, started_at, ended_at, elapsed_s, reason, environment FROM attempts "
        "WHERE run = $1 ORDER BY attempt",
        [run],
    ).fetchall()
    if row is None:
        raise unknown_run(run_id)
    return RunRecord(
        **_fields(row[:-2]),
        specification=decoded(row[-2], Specification, run_id),
        provenance=decoded(row[-1], Provenance, run_id),
        measure_names=tuple(row[-4]),
        attempt_rows=tuple(
            AttemptRow(
                attempt=item[0], status=item[1], started_at=item[2], ended_at=item[3], elapsed_s=item[4],
                reason=item[5],
                environment=decoded(item[6], dict[str, Any], run_id),
            )
            for item in attempts
        ),
    )  # fmt: skip


def cases_of(connection: DuckDBPyConnection, run_id: str) -> tuple[EvaluationCase, ...]:
    """The frozen goldens of a run, in the order of its cases."""
    run = number_of(connection, run_id)
    rows = connection.execute("SELECT definition FROM cases WHERE run = $1 ORDER BY idx", [run]).fetchall()
    return tuple(decoded(row[0], EvaluationCase, run_id) for row in rows)


def decoded(text: str, kind: type[T], run_id: str) -> T:
    """A stored JSON text as what it holds; StoreUnavailable if it is not that."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        name = getattr(kind, "__name__", "record")
        raise StoreUnavailable(
            f"The {name} stored for run {run_id} cannot be read: {error}.",
            "It was written by another version of ragtui.",
        ) from error


def _fields(row: tuple[Any, ...]) -> dict[str, Any]:
    """The fields of RunRow from a row of `_COLUMNS`."""
    names = RunRow.__struct_fields__
    return dict(zip(names[:-2], row[:-3], strict=True)) | {
        "suites": tuple(row[-3]),
        "measures": dict(zip(row[-2], row[-1], strict=True)),
    }
