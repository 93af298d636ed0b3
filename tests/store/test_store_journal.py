"""The journal: writing, locking, tearing, following."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtui.errors import StoreUnavailable
from ragtui.events import CaseFinished, RunEvent, RunFinished
from ragtui.store import journal
from ragtui.trace import CaseError, CaseTrace, Hits
from tests.store import samples

ROOT = Path(__file__).parents[2]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
HITS = st.lists(st.tuples(st.integers(0, 2**31 - 1), FLOATS), max_size=5).map(
    lambda pairs: Hits([chunk for chunk, _ in pairs], [score for _, score in pairs])
)
# A measure is between 0 and 1; a channel's score may be any number.
SCORES = st.dictionaries(st.sampled_from([*samples.MEASURES, "other"]), st.none() | st.floats(0, 1))
TRACES = st.builds(
    CaseTrace, case=TEXTS, index=st.integers(0, 2**31 - 1), status=st.sampled_from(["ok", "error"]),
    error=st.none() | st.builds(CaseError, TEXTS, TEXTS), query=TEXTS,
    channels=st.dictionaries(TEXTS, HITS, max_size=3), fused=st.none() | HITS,
    floor=st.none() | HITS, results=HITS, scores=SCORES, unscored=st.dictionaries(TEXTS, TEXTS),
    notes=st.lists(TEXTS, max_size=2), timings=st.dictionaries(TEXTS, FLOATS, max_size=3),
)  # fmt: skip


@given(st.lists(TRACES, max_size=4))
def test_events_decode_to_what_was_encoded(traces: list[CaseTrace]) -> None:
    events: list[RunEvent] = [CaseFinished(attempt=1, at="t", trace=trace) for trace in traces]
    data = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    assert journal.decode_events(data) == events
    assert journal.decode_events(data + b'{"event":"not') == events


def test_the_package_does_not_load_duckdb() -> None:
    code = "import sys, ragtui.store.journal, ragtui.store; sys.exit('duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_read_from_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with journal.JournalWriter.open(tmp_path, "r") as writer:
        writer.write([samples.started("r", 2)])
        first, offset = journal.read_from(writer.path, 0)
        writer.write([samples.finished(0), samples.finished(1)])
        second, end = journal.read_from(writer.path, offset)
        assert len(first) == 1
        assert [event.trace.index for event in second if isinstance(event, CaseFinished)] == [0, 1]
        assert journal.read_from(writer.path, end) == ([], end)
        # A limit that is smaller than a line still reads the line.
        assert journal.read_from(writer.path, 0, limit=16)[0][:1] == first


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with journal.JournalWriter.open(tmp_path, "r") as writer:
        assert journal.is_live(writer.path)
        assert (journal.live(tmp_path), journal.abandoned(tmp_path)) == ([writer.path], [])
        with pytest.raises(StoreUnavailable, match="Run r is being written by another process"):
            journal.JournalWriter.open(tmp_path, "r")
        with pytest.raises(StoreUnavailable, match="still being written"):
            journal.cut_torn_line(writer.path)
    assert not journal.is_live(writer.path)
    assert (journal.live(tmp_path), journal.abandoned(tmp_path)) == ([], [writer.path])


def test_a_dead_writer_holds_nothing(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from tests.store import samples
from ragtui.store.journal import JournalWriter
writer = JournalWriter.open(Path({str(tmp_path)!r}), "r")
writer.write(samples.whole_run("r", 3)[:4])
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    path = journal.journal_path(tmp_path, "r")
    assert not journal.is_live(path)
    assert len(journal.read_from(path, 0)[0]) == 4


def test_resuming_cuts_the_torn_line(tmp_path: Path) -> None:
    path = samples.write_journal(tmp_path, "r", [samples.started("r", 1)])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event":"case_fin' + b"x" * 200_000)
    with journal.JournalWriter.open(tmp_path, "r") as writer:
        writer.write([samples.ended()])
    assert path.read_bytes() == whole + msgspec.json.encode(samples.ended()) + b"\n"


def test_cut_torn_line_tells_how_much(tmp_path: Path) -> None:
    path = samples.write_journal(tmp_path, "r", [samples.started("r", 1)])
    assert journal.cut_torn_line(path) == 0
    whole = path.read_bytes()
    path.write_bytes(whole + b"torn")
    assert journal.cut_torn_line(path) == 4
    path.write_bytes(whole[:40])
    assert journal.cut_torn_line(path) == 40


@pytest.mark.parametrize("text", [b"a\nprecious tail", b"precious", b'{"event":"run_finished"}\nx'])
def test_nothing_is_cut_from_a_file_that_is_no_journal(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(text)
    with pytest.raises(journal.DamagedJournal, match=r"r\.jsonl:1: .* does not begin with the start of a run"):
        journal.cut_torn_line(path)
    with pytest.raises(journal.DamagedJournal):
        journal.JournalWriter.open(tmp_path, "r")
    assert path.read_bytes() == text


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_links_pipes_and_folders_are_no_journals(tmp_path: Path, kind: str) -> None:
    """A link may lead to any file of the user's, and a pipe is never read to its end."""
    precious = samples.write_journal(tmp_path, "precious", [samples.started("precious", 1)])
    precious.write_bytes(before := precious.read_bytes() + b"tail")
    folder = tmp_path / "journal"
    folder.mkdir()
    path = folder / "r.jsonl"
    match kind:
        case "link":
            path.symlink_to(precious)
        case "hard link":
            path.hardlink_to(precious)
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    assert journal.journals(folder) == []
    assert not journal.is_live(path)
    with pytest.raises(StoreUnavailable):
        journal.cut_torn_line(path)
    with pytest.raises(StoreUnavailable):
        journal.JournalWriter.open(folder, "r")
    with pytest.raises(StoreUnavailable):
        journal.read_from(path)
    assert precious.read_bytes() == before


def test_a_request_to_cancel_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "r.cancel").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable):
        journal.request_cancel(tmp_path, "r")
    assert not (tmp_path / "elsewhere").exists()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = samples.write_journal(tmp_path, "r", samples.whole_run("r", 2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\x00\xff nonsense\n", *lines[3:]]))
    with pytest.raises(StoreUnavailable, match=r"r\.jsonl:4: the journal is damaged"):
        journal.read_from(path, 0)
    with pytest.raises(StoreUnavailable, match=r"r\.jsonl:4:"):
        journal.read_from(path, len(lines[0]))


@pytest.mark.parametrize(("code", "hint"), [(errno.ENOSPC, "ragtui resume r"), (errno.EIO, "Check the disk")])
def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, hint: str) -> None:
    writer = journal.JournalWriter.open(tmp_path, "r")
    writer.write([samples.started("r", 2)])
    before = writer.path.read_bytes()
    real, calls = os.write, []

    def fails_halfway(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(code, os.strerror(code))
        return real(descriptor, data[:10])

    monkeypatch.setattr(os, "write", fails_halfway)
    with pytest.raises(StoreUnavailable, match=os.strerror(code)) as caught:
        writer.write([samples.finished(0)])
    monkeypatch.undo()
    assert hint in caught.value.hint
    assert writer.path.read_bytes() == before
    writer.write([samples.finished(0)])
    assert len(journal.read_from(writer.path, 0)[0]) == 2
    writer.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_the_device_that_is_always_full(tmp_path: Path) -> None:
    with journal.JournalWriter.open(tmp_path, "r") as writer, Path("/dev/full").open("wb") as full:
        os.dup2(full.fileno(), writer._descriptor)
        with pytest.raises(StoreUnavailable, match="cannot be written: No space left on device"):
            writer.write([samples.ended()])


def test_text_that_is_not_unicode_is_refused_whole(tmp_path: Path) -> None:
    with journal.JournalWriter.open(tmp_path, "r") as writer:
        with pytest.raises(StoreUnavailable, match="cannot be written as JSON"):
            writer.write([samples.ended(), CaseFinished(attempt=1, at="", trace=CaseTrace(case="\ud800", index=0))])
        assert writer.path.read_bytes() == b""


def test_cancelling(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    assert not journal.cancel_requested(folder, "r")
    journal.request_cancel(folder, "r")
    assert journal.cancel_requested(folder, "r")
    assert journal.journals(folder) == []
    journal.clear_cancel(folder, "r")
    journal.clear_cancel(folder, "r")
    assert not journal.cancel_requested(folder, "r")


async def _followed(path: Path) -> list[RunEvent]:
    return [event async for batch in journal.follow(path, 0.01) for event in batch]


def test_a_viewer_sees_everything_while_it_is_written_and_removed(tmp_path: Path) -> None:
    events = samples.whole_run("r", 60)
    writer = journal.JournalWriter.open(tmp_path, "r")

    def write() -> None:
        for start in range(0, len(events), 7):
            writer.write(events[start : start + 7])
            time.sleep(0.005)
        writer.path.unlink()
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    seen = asyncio.run(_followed(writer.path))
    thread.join()
    assert seen == events
    assert isinstance(seen[-1], RunFinished)


def test_a_viewer_ends_with_a_writer_that_dies(tmp_path: Path) -> None:
    events = samples.whole_run("r", 3)[:-1]
    path = samples.write_journal(tmp_path, "r", events)
    path.write_bytes(path.read_bytes() + b'{"torn')
    assert asyncio.run(_followed(path)) == events
    assert asyncio.run(_followed(tmp_path / "none.jsonl")) == []
