"""Vectors that a server was asked for, kept on disk so that none is asked for twice.

A SQLite file: an answer is committed before the next request of its worker goes out, so a process killed at any
instant loses only what was under way. Keyed by space (model, digest, dimensions), role, and the hash of the whole text
that was sent. Vectors are kept as the server gave them; scaling them is the reader's business.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ragtui.errors import RunFailed
from ragtui.providers.protocols import Role, Vectors

FILE_NAME = "vectors.sqlite"
_WAIT_SECONDS = 30.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors (space BLOB NOT NULL, role TEXT NOT NULL, text BLOB NOT NULL, "
    "vector BLOB NOT NULL, PRIMARY KEY (space, role, text)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS probes (space BLOB PRIMARY KEY, vector BLOB NOT NULL, at TEXT NOT NULL) WITHOUT ROWID",
)


class VectorCache:
    """The file below a folder, opened only for the moment of each operation. Safe in several threads and processes.

    Raises RunFailed where the file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def get(self, space: str, role: Role, texts: Sequence[str], dimensions: int) -> dict[str, Vectors]:
        """Text → vector of shape (dimensions,) for those that are known; a damaged entry counts as unknown."""
        found: dict[str, Vectors] = {}
        query = "SELECT vector FROM vectors WHERE space = ? AND role = ? AND text = ?"
        with self._reading() as connection:
            if connection is None:
                return {}
            for text in texts:
                row = connection.execute(query, (_digest(space), role, _digest(text))).fetchone()
                if row is not None and len(row[0]) == 4 * dimensions:
                    found[text] = np.frombuffer(row[0], "<f4").astype(np.float32)
        return found

    def put(self, space: str, role: Role, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep `vectors`, shape (len(texts), dimensions); returns when they would survive the death of the process."""
        rows = [
            (_digest(space), role, _digest(text), vector.astype("<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

    def probe(self, space: str) -> tuple[Vectors, str] | None:
        """The probe text's vector under a space and when it was taken; None where it never was."""
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT vector, at FROM probes WHERE space = ?", (_digest(space),)).fetchone()
        return None if row is None else (np.frombuffer(row[0], "<f4").astype(np.float32), row[1])

    def keep_probe(self, space: str, vector: Vectors, at: str) -> None:
        """Remember the probe text's vector, unless another process did so first."""
        row = (_digest(space), vector.astype("<f4").tobytes(), at)
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO probes VALUES (?, ?, ?)", row)

    def size(self) -> tuple[int, int]:
        """How many vectors there are, and bytes of the file."""
        with self._reading() as connection:
            if connection is None:
                return 0, 0
            count = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
        return int(count), self.path.stat().st_size

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection to read with; None where nothing was ever kept."""
        if not self.path.exists():
            yield None
            return
        with self._opened() as connection:
            tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'probes'").fetchone()
            yield connection if tables[0] else None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that commits at the end, or rolls back if anything is raised."""
        with self._opened() as connection:
            # Taking the lock at once waits for another process; growing into it would fail instead.
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.DatabaseError as error:
            hint = f"Free some space, or delete {self.path.parent.name}/{self.path.name} in the state folder."
            raise RunFailed(f"The cache of embeddings cannot be used: {error}.", hint) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunFailed(f"The cache of embeddings cannot be used: {reason}.", "Check its permissions.") from error


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
