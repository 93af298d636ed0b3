"""The one way to a store's file: opened briefly, by one thread of the process at a time, and never held while idle."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.errors import StoreUnavailable
from ragtui.settings import expanded
from ragtui.store.faults import is_lock, locked, newer, not_a_store, translated
from ragtui.store.schema import has_code, latest, migrate, version_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_LIMIT = "256MB"
THREADS = 2
# Small blocks keep a small store small; small row groups keep the work of an append independent of what is there.
_LAYOUT = "BLOCK_SIZE 16384, ROW_GROUP_SIZE 2048"
_FIRST_WAIT = 0.005
_LONGEST_WAIT = 0.05

_locks: dict[Path, threading.Lock] = {}
_locks_guard = threading.Lock()


class Gate:
    """Opens one store for reading or writing. `wait_seconds` is how long another process's hold is outwaited."""

    def __init__(self, path: Path, read_only: bool = False, wait_seconds: float = 5.0) -> None:
        self.path = expanded(path)
        self.read_only = read_only
        self.wait_seconds = wait_seconds
        with _locks_guard:
            self._lock = _locks.setdefault(self.path.resolve(), threading.Lock())
        self._session = threading.local()

    @contextmanager
    def read(self, outside: bool = False) -> Iterator[DuckDBPyConnection]:
        """A connection to read with. A missing file reads as an empty store and is not created.

        A store of an older schema is migrated first; a read-only one is copied to memory and migrated there. Only with
        `outside`, which no session may be around, can the connection reach other files.
        """
        held: DuckDBPyConnection | None = getattr(self._session, "connection", None)
        if held is not None:
            yield held
            return
        with self._lock, self._translated():
            connection = self._open_to_read(outside)
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def session(self) -> Iterator[None]:
        """One opening for all the reads that this thread makes inside; writers wait meanwhile, so keep it short."""
        with self.read() as connection:
            # One inside another reads from the outer one, which stays in use when the inner one ends.
            outer = getattr(self._session, "connection", None)
            self._session.connection = connection
            try:
                yield
            finally:
                self._session.connection = outer

    @contextmanager
    def write(self, outside: bool = False) -> Iterator[DuckDBPyConnection]:
        """A connection inside a transaction that commits at the end, or rolls back if anything is raised.

        Only with `outside` can it reach other files.
        """
        with self._lock, self._translated():
            connection = self._open_to_write(outside)
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            finally:
                # Closing rolls back what did not commit, and moves what did from the log into the file.
                connection.close()

    @contextmanager
    def rewrite(self) -> Iterator[tuple[DuckDBPyConnection, Path]]:
        """A connection with the old file attached as `store`, and a path for the new file that takes its place.

        The caller attaches, fills and detaches the new file. It is renamed while the old one is still held: whoever
        waits for the old one sees that another file stands at the path, and opens that (see `_attach`).
        """
        with self._lock, self._translated():
            connection = self._open_to_write(outside=True)
            fresh = self._aside()
            try:
                connection.execute("CHECKPOINT store")
                yield connection, fresh
                os.replace(fresh, self.path)
            finally:
                connection.close()
                _remove(fresh)

    def remove_leftovers(self, older_than_seconds: float = 3600.0) -> None:
        """Remove half-made files that a killed process left beside the store."""
        limit = time.time() - older_than_seconds
        for path in self.path.parent.glob(f".{self.path.name}.*.new*"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < limit:
                    path.unlink()

    def _open_to_read(self, outside: bool) -> DuckDBPyConnection:
        if self.path.exists():
            connection = self._attached(True, outside)
            version = self._version(connection)
            if version == latest():
                return connection
            if self.read_only:
                connection.execute("COPY FROM DATABASE store TO memory")
                connection.execute("USE memory")
                migrate(connection, version)
                return connection
            connection.close()
            self._open_to_write(False).close()
            return self._attached(True, outside)
        connection = connect()
        migrate(connection, 0)
        return connection

    def _open_to_write(self, outside: bool) -> DuckDBPyConnection:
        if self.read_only:
            raise StoreUnavailable(f"{self.path} was opened to read only.", "Give another file with --store.")
        if not self.path.exists():
            self._create()
        connection = self._attached(False, outside)
        try:
            version = self._version(connection)
            if version < latest():
                migrate(connection, version)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make an empty store aside and link it into place, so that no instant shows half a file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._aside()
        try:
            connection = connect()
            try:
                attach(connection, fresh, "store")
                connection.execute("USE store")
                migrate(connection, 0)
            finally:
                connection.close()
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                pass  # another process was faster
            except OSError:
                # A file system without hard links: the rename is as atomic, but may replace an equally empty store.
                if not self.path.exists():
                    os.replace(fresh, self.path)
        finally:
            _remove(fresh)

    def _attached(self, read_only: bool, outside: bool) -> DuckDBPyConnection:
        """A connection with the file in use, waiting while another process holds it; it reaches others if `outside`."""
        import duckdb

        deadline = time.monotonic() + self.wait_seconds
        pause = _FIRST_WAIT
        while True:
            connection = connect()
            try:
                before = _identity(self.path)
                attach(connection, self.path, "store", read_only)
                if before == _identity(self.path):
                    if has_code(connection, functions=outside):
                        raise not_a_store(self.path)
                    connection.execute("USE store")
                    if not outside:
                        connection.execute("SET enable_external_access = false")
                    return connection
            except duckdb.Error as error:
                connection.close()
                if not is_lock(error):
                    raise
                if time.monotonic() >= deadline:
                    raise locked(self.path, error) from error
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_WAIT)
            except BaseException:
                connection.close()
                raise
            else:
                # The file was rewritten and renamed between our open and our lock: what we hold is no longer it.
                connection.close()

    def _version(self, connection: DuckDBPyConnection) -> int:
        import duckdb

        try:
            version = version_of(connection)
            if version is None:
                raise not_a_store(self.path)
            if version > latest():
                raise newer(self.path, version, latest())
        except (duckdb.Error, StoreUnavailable):
            connection.close()
            raise
        return version

    def _aside(self) -> Path:
        return self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.new")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except (duckdb.Error, OSError) as error:
            raise translated(self.path, error) from error


def connect() -> DuckDBPyConnection:
    """A connection to nothing but memory, within limits, that installs nothing."""
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "memory_limit": MEMORY_LIMIT,
            "threads": THREADS,
            "temp_directory": str(Path(tempfile.gettempdir()) / f"ragtui-{os.getpid()}.spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )


def attach(connection: DuckDBPyConnection, path: Path, alias: str, read_only: bool = False) -> None:
    """Attach a database file under a name; a missing file is created unless `read_only`."""
    options = "READ_ONLY" if read_only else _LAYOUT
    connection.execute(f"ATTACH {quoted(path)} AS {alias} ({options})")


def quoted(path: Path) -> str:
    """The path as an SQL literal, for statements that take no parameter there."""
    return "'" + str(path).replace("'", "''") + "'"


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _remove(path: Path) -> None:
    for name in (path, path.with_name(path.name + ".wal")):
        with contextlib.suppress(OSError):
            name.unlink(missing_ok=True)
