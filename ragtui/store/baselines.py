"""Promoted runs: the reference for (corpus, suites, tier, name). Promotions are added; the newest one counts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ragtui.errors import InvalidInput
from ragtui.inputs.text import checked_name
from ragtui.store.rows import Baseline
from ragtui.store.runs import unknown_run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def promote(connection: DuckDBPyConnection, run_id: str, name: str, why: str) -> Baseline:
    """Make a completed run the baseline of its corpus, suites and tier under `name`; InvalidInput if it is not."""
    checked_name(name, "baseline")
    row = connection.execute("SELECT status, corpus_id, suites, tier FROM runs WHERE run_id = $1", [run_id]).fetchone()
    if row is None:
        raise unknown_run(run_id)
    status, corpus_id, suites, tier = row
    if status != "completed":
        raise InvalidInput(
            f"Run {run_id} is {status}; a baseline must be complete.", f"Finish it with `ragtui resume {run_id}`."
        )
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    baseline = Baseline(
        name=name, run_id=run_id, corpus_id=corpus_id, suites=_key(suites), tier=tier, why=why, promoted_at=at
    )
    connection.execute(
        "INSERT INTO baselines SELECT coalesce(max(number), 0) + 1, $name, $run_id, $corpus, $suites, $tier, $why, $at "
        "FROM baselines",
        {
            "name": name,
            "run_id": run_id,
            "corpus": corpus_id,
            "suites": list(baseline.suites),
            "tier": tier,
            "why": why,
            "at": at,
        },
    )
    return baseline


def baselines(connection: DuckDBPyConnection) -> list[Baseline]:
    """The baseline of each key, newest promotion first."""
    rows = connection.execute(
        "SELECT name, run_id, corpus_id, suites, tier, why, promoted_at FROM baselines "
        "QUALIFY row_number() OVER (PARTITION BY corpus_id, suites, tier, name ORDER BY number DESC) = 1 "
        "ORDER BY number DESC"
    ).fetchall()
    return [
        Baseline(
            name=row[0],
            run_id=row[1],
            corpus_id=row[2],
            suites=tuple(row[3]),
            tier=row[4],
            why=row[5],
            promoted_at=row[6],
        )
        for row in rows
    ]


def baseline_for(
    connection: DuckDBPyConnection, corpus_id: str, suites: Sequence[str], tier: str, name: str
) -> Baseline | None:
    """The newest baseline of a key, None if none was promoted. The order of `suites` does not matter."""
    key = (corpus_id, _key(suites), tier, name)
    found = (item for item in baselines(connection) if (item.corpus_id, item.suites, item.tier, item.name) == key)
    return next(found, None)


def _key(suites: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(suites)))
