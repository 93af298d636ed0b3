"""Who may open the file, and what is said when it cannot be opened."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragtui.errors import StoreUnavailable
from ragtui.store import Store, schema
from ragtui.store.gate import attach, connect
from tests.store import samples

ROOT = Path(__file__).parents[2]


def a_store(folder: Path, *run_ids: str) -> Store:
    store = Store(folder / "runs.duckdb", wait_seconds=0.2)
    for run_id in run_ids:
        store.load_journal(samples.write_journal(folder, run_id, samples.whole_run(run_id, 2)))
    return store


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file open to write."""
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.communicate()


def test_a_missing_file_is_an_empty_store_and_stays_missing(tmp_path: Path) -> None:
    store = Store(tmp_path / "none" / "runs.duckdb")
    assert (store.runs(), store.count_runs(), store.baselines(), store.size()) == ([], 0, [], 0)
    assert store.recover(tmp_path / "none") == []
    assert store.delete_runs([]) == 0
    assert store.compact() == 0
    assert list(tmp_path.iterdir()) == []


def test_the_holder_is_named(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a")
    with held(store.path) as process:
        program = Path(os.path.realpath(sys.executable)).name
        message = rf"runs\.duckdb is locked by {program} \(pid {process.pid}\)\."
        with pytest.raises(StoreUnavailable, match=message):
            store.runs()
        path = samples.write_journal(tmp_path, "b", samples.whole_run("b", 1))
        with pytest.raises(StoreUnavailable, match=message) as caught:
            store.load_journal(path)
        assert caught.value.exit_code == 7
        assert path.exists()
    assert store.recover(tmp_path) == ["b"]


def test_a_short_hold_is_waited_for(tmp_path: Path) -> None:
    store = Store(a_store(tmp_path, "a").path, wait_seconds=20)
    with held(store.path) as process:
        assert process.stdin is not None
        timer = threading.Timer(0.2, process.stdin.close)
        timer.start()
        assert store.count_runs() == 1
        timer.join()
        process.stdin = None


def test_nothing_is_held_while_idle(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a")
    traces = store.traces("a")
    next(traces)
    with held(store.path):
        pass
    assert len(list(traces)) == 1


def test_a_session_inside_another_leaves_it_open(tmp_path: Path) -> None:
    """What loops over a run's slices in one opening calls what opens for itself."""
    store = a_store(tmp_path, "a")
    counted: list[int] = []

    def nested() -> None:
        with store.session():
            with store.session():
                counted.append(store.count_runs())
            counted.append(store.count_runs())
        store.load_journal(samples.write_journal(tmp_path, "b", samples.whole_run("b", 1)))
        counted.append(store.count_runs())

    thread = threading.Thread(target=nested, daemon=True)
    thread.start()
    thread.join(20)
    assert counted == [1, 1, 2]


def test_threads_share_one_store(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a")
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(2):
                run_id = f"{name}{number}"
                events = samples.whole_run(run_id, 2)
                Store(store.path).load_journal(samples.write_journal(tmp_path, run_id, events))
                assert len(list(store.traces(run_id))) == 2
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.count_runs() == 7


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    """Both start without a file, so they race for its creation too."""
    code = """
import sys
from pathlib import Path
from ragtui.store import Store
folder, name = Path(sys.argv[1]), sys.argv[2]
for number in range(4):
    Store(folder / "runs.duckdb").load_journal(folder / f"{name}{number}.jsonl")
"""
    for name in "ab":
        for number in range(4):
            samples.write_journal(tmp_path, f"{name}{number}", samples.whole_run(f"{name}{number}", 20))
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], cwd=ROOT) for name in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    store = Store(tmp_path / "runs.duckdb")
    assert {row.run_id for row in store.runs()} == {f"{name}{number}" for name in "ab" for number in range(4)}
    assert all(row.status == "completed" and row.scored == 20 for row in store.runs())
    assert [item.name for item in tmp_path.iterdir()] == ["runs.duckdb"]


@pytest.mark.parametrize("content", [b"", b"hello", b"not a database " * 5000])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "runs.duckdb").write_bytes(content)
    store = Store(tmp_path / "runs.duckdb")
    with pytest.raises(StoreUnavailable, match="is not a store: it is no DuckDB file"):
        store.runs()
    with pytest.raises(StoreUnavailable, match="is not a store: it is no DuckDB file"):
        store.load_journal(samples.write_journal(tmp_path, "r", samples.whole_run("r", 1)))
    assert (tmp_path / "runs.duckdb").read_bytes() == content


def test_a_database_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    connection = connect()
    attach(connection, path, "other")
    connection.execute("CREATE TABLE other.things (i INTEGER)")
    connection.close()
    with pytest.raises(StoreUnavailable, match="not a store of ragtui"):
        Store(path).runs()


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="is not a store"):
        Store(tmp_path).runs()


@pytest.mark.parametrize("place", [0, 12, 100, 4096, 8192, 12288])
def test_a_damaged_file(tmp_path: Path, place: int) -> None:
    store = a_store(tmp_path, "a")
    data = bytearray(store.path.read_bytes())
    data[place : place + 64] = bytes(byte ^ 0x5A for byte in data[place : place + 64])
    store.path.write_bytes(data)
    with pytest.raises(StoreUnavailable, match=r"is damaged|is not a store") as caught:
        list(store.traces("a"))
    assert caught.value.hint


def test_a_store_cut_short(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a")
    os.truncate(store.path, store.path.stat().st_size // 2)
    with pytest.raises(StoreUnavailable, match="is damaged"):
        list(store.traces("a"))


def test_a_store_of_a_newer_version(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a")
    with store._gate.write() as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    message = rf"written by a newer ragtui \(schema 99; this one knows {schema.latest()}\)"
    with pytest.raises(StoreUnavailable, match=message):
        store.runs()
    with pytest.raises(StoreUnavailable, match="newer ragtui"):
        store.promote("a", "main", "")


def old_store(path: Path, version: int) -> None:
    """A store of an earlier schema with one run in it, as the version that wrote it left it."""
    connection = connect()
    attach(connection, path, "store")
    connection.execute("USE store")
    schema.migrate(connection, 0, version)
    connection.execute(
        "INSERT INTO runs VALUES (1, 'old', 'sha256:s', 'n', 'completed', '2025-01-01T00:00:00Z', NULL, 1, 0, 0, 0, 1, "
        "'c', 'e', 'retrieval', ['core'], ['RR'], [0.5], 0, '', '{}', '{}')"
    )
    connection.close()


@pytest.mark.parametrize("version", range(1, schema.latest() + 1))
@pytest.mark.parametrize("first", ["read", "write"])
def test_every_schema_is_migrated(tmp_path: Path, version: int, first: str) -> None:
    store = Store(tmp_path / "runs.duckdb")
    old_store(store.path, version)
    if first == "write":
        store.promote("old", "main", "why")
    assert store.runs()[0].measures == {"RR": 0.5}
    assert len(store.baselines()) == (first == "write")
    with store._gate.read() as connection:
        assert schema.version_of(connection) == schema.latest()


def test_an_old_store_that_is_only_read_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    old_store(path, 1)
    before = path.read_bytes()
    store = Store(path, read_only=True)
    assert (store.runs()[0].run_id, store.baselines()) == ("old", [])
    assert path.read_bytes() == before
    with pytest.raises(StoreUnavailable, match="was opened to read only"):
        store.promote("old", "main", "")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs to become somebody without rights")
def test_a_read_only_folder() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        a_store(folder, "a")
        journal = samples.write_journal(folder, "b", samples.whole_run("b", 1))
        journal.chmod(0o666)
        folder.chmod(0o555)
        os.seteuid(65534)
        store = Store(folder / "runs.duckdb")
        assert store.count_runs() == 1
        with pytest.raises(StoreUnavailable, match=r"cannot be opened: .*Permission denied"):
            store.load_journal(journal)
        with pytest.raises(StoreUnavailable, match=r"Permission denied") as caught:
            Store(folder / "new.duckdb").promote("a", "main", "")
        assert "writable" in caught.value.hint
    finally:
        os.seteuid(0)
        shutil.rmtree(folder)


@pytest.mark.parametrize("room", [0, 20_000, 400_000])
def test_a_full_disk(tmp_path: Path, room: int) -> None:
    """A limit on the size of files stands for the disk. Nothing is lost, and the next load works."""
    store = a_store(tmp_path, "a")
    events = samples.whole_run("big", 200)
    events[3:-1] = [samples.finished(index, depth=150, chunks=500) for index in range(200)]
    path = samples.write_journal(tmp_path, "big", events)
    code = """
import resource, sys
# Python would leave a cut bytecode file where it may not write all of it.
sys.dont_write_bytecode = True
from pathlib import Path
from ragtui.errors import StoreUnavailable
from ragtui.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    Store(Path(sys.argv[1])).load_journal(Path(sys.argv[2]))
except StoreUnavailable as error:
    print(error.message, error.hint)
"""
    limit = store.path.stat().st_size + room
    command = [sys.executable, "-c", code, str(store.path), str(path), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the disk is full" in done.stdout or not path.exists()
    assert room or "the disk is full" in done.stdout
    waiting = ["big"] if path.exists() else []
    assert store.recover(tmp_path) == waiting
    assert [row.status for row in store.runs()] == ["completed", "completed"]
    assert len(list(store.traces("big"))) == 200


def test_the_limit_is_ours_alone() -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


FOREIGN = {
    "view": "ALTER TABLE store.texts RENAME TO kept; CREATE VIEW store.texts AS SELECT text_id, hash, "
    "(SELECT content FROM read_text('{secret}')) AS text FROM store.kept",
    "macro": "CREATE MACRO store.unnest(x) AS (SELECT content FROM read_text('{secret}')); "
    "CREATE MACRO store.max(x) AS (SELECT content FROM read_text('{secret}')); "
    "CREATE MACRO store.coalesce(x, y) AS (SELECT content FROM read_text('{secret}'))",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_somebody_elses_store_reads_no_file_of_the_users(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the user's own words")
    store = a_store(tmp_path, "r")
    foreign = connect()
    attach(foreign, store._gate.path, "store")
    foreign.execute(FOREIGN[kind].format(secret=secret))
    foreign.close()
    for look in (
        lambda: store.count_runs(), lambda: store.runs(), lambda: store.run("r"), lambda: store.chunks("r", [0]),
        lambda: store.trace("r", samples.golden(0).id), lambda: store.promote("r", "main", ""),
        lambda: store.copy_run("r", Store(tmp_path / "other.duckdb")), lambda: store.compact(),
    ):  # fmt: skip
        try:
            told = repr(look())
        except StoreUnavailable as error:
            told = str(error)
        assert "own words" not in told
    with pytest.raises(StoreUnavailable, match="not a store of ragtui"):
        store.copy_run("r", Store(tmp_path / "other.duckdb"))


def test_a_connection_reaches_no_other_file(tmp_path: Path) -> None:
    gate = a_store(tmp_path, "r")._gate
    (tmp_path / "secret").write_text("x")
    with pytest.raises(StoreUnavailable, match="disabled by configuration"), gate.read() as connection:
        connection.execute(f"SELECT * FROM read_text('{tmp_path / 'secret'}')").fetchall()
    with pytest.raises(StoreUnavailable, match="disabled by configuration"), gate.write() as connection:
        connection.execute(f"COPY runs TO '{tmp_path / 'out.csv'}'")
