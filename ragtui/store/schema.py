"""The store's tables, as numbered migrations. A released migration never changes; a change is a new one.

    runs        one row a run: what lists show, with counts and means taken when it is loaded
    attempts    one row a process that worked on a run
    cases       the frozen golden of each case of a run
    traces      one row a case and attempt: the trace's JSON, byte for byte as it was journaled
    texts       each chunk text once, by its hash, for all runs
    chunks      what the ordinals in a run's traces stand for
    baselines   promotions, newest last (since 2)

`run` is the run's number in this file: it only grows, so DuckDB skips whole row groups of other runs.
Texts and traces are compressed with zstd: a trace of 10 KB takes 2 KB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FIRST = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (0);
CREATE TABLE runs (
    run INTEGER NOT NULL, run_id VARCHAR NOT NULL, spec_id VARCHAR NOT NULL, name VARCHAR NOT NULL,
    status VARCHAR NOT NULL, started_at VARCHAR NOT NULL, ended_at VARCHAR, elapsed_s DOUBLE NOT NULL,
    cases INTEGER NOT NULL, scored INTEGER NOT NULL, errors INTEGER NOT NULL, attempts INTEGER NOT NULL,
    corpus_id VARCHAR NOT NULL, evaluation_id VARCHAR NOT NULL, tier VARCHAR NOT NULL, suites VARCHAR[] NOT NULL,
    measures VARCHAR[] NOT NULL, means DOUBLE[] NOT NULL, trace_bytes BIGINT NOT NULL, journal_mark VARCHAR NOT NULL,
    specification VARCHAR NOT NULL, provenance VARCHAR NOT NULL
);
CREATE TABLE attempts (
    run INTEGER NOT NULL, attempt INTEGER NOT NULL, status VARCHAR NOT NULL, started_at VARCHAR NOT NULL,
    ended_at VARCHAR, elapsed_s DOUBLE NOT NULL, reason VARCHAR NOT NULL, environment VARCHAR NOT NULL
);
CREATE TABLE cases (
    run INTEGER NOT NULL, idx INTEGER NOT NULL, case_id VARCHAR NOT NULL, query VARCHAR NOT NULL,
    tags VARCHAR[] NOT NULL, definition VARCHAR NOT NULL USING COMPRESSION zstd
);
CREATE TABLE traces (
    run INTEGER NOT NULL, idx INTEGER NOT NULL, attempt INTEGER NOT NULL, case_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL, error_kind VARCHAR, error_message VARCHAR, finished_at VARCHAR NOT NULL,
    scores DOUBLE[] NOT NULL, bytes INTEGER NOT NULL,
    trace VARCHAR NOT NULL USING COMPRESSION zstd
);
CREATE TABLE texts (text_id INTEGER NOT NULL, hash BLOB NOT NULL, text VARCHAR NOT NULL USING COMPRESSION zstd);
CREATE TABLE chunks (
    run INTEGER NOT NULL, ordinal INTEGER NOT NULL, doc VARCHAR NOT NULL, start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL, text_id INTEGER NOT NULL
);
"""

_BASELINES = """
CREATE TABLE baselines (
    number INTEGER NOT NULL, name VARCHAR NOT NULL, run_id VARCHAR NOT NULL, corpus_id VARCHAR NOT NULL,
    suites VARCHAR[] NOT NULL, tier VARCHAR NOT NULL, why VARCHAR NOT NULL, promoted_at VARCHAR NOT NULL
);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _BASELINES)
RUN_TABLES = ("attempts", "cases", "traces", "chunks")
# The best trace of a case: the latest attempt that is ok, else the latest.
BEST = """
    SELECT idx, coalesce(max(attempt) FILTER (status = 'ok'), max(attempt)) AS attempt
    FROM traces WHERE run = $run GROUP BY idx
"""


def latest() -> int:
    """The schema that this version writes."""
    return len(MIGRATIONS)


def version_of(connection: DuckDBPyConnection) -> int | None:
    """The schema of the database in use, None if it is not a store."""
    found = connection.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_version' "
        "AND database_name = current_database()"
    ).fetchone()
    if not found or not found[0]:
        return None
    row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return int(row[0]) if row and row[0] is not None else None


def has_code(connection: DuckDBPyConnection, functions: bool) -> bool:
    """Whether the attached `store`, which is not in use yet, has views, or with `functions` macros.

    A store holds data alone. Somebody else's could have a view in a table's place, or a macro in that of a function of
    DuckDB, that reads the user's files. Looking for macros takes 40 ms: a connection without access to files needs it
    not.
    """
    found = connection.execute("SELECT 1 FROM duckdb_views() WHERE NOT internal LIMIT 1").fetchone()
    if found is None and functions:
        found = connection.execute("SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1").fetchone()
    return found is not None


def migrate(connection: DuckDBPyConnection, current: int, target: int | None = None) -> None:
    """Take the database in use from schema `current` (0 for an empty one) to `target`, in one transaction."""
    target = latest() if target is None else target
    connection.execute("BEGIN")
    for migration in MIGRATIONS[current:target]:
        connection.execute(migration)
    connection.execute("UPDATE schema_version SET version = $version", {"version": target})
    connection.execute("COMMIT")
