"""Journal lines as rows to insert. A trace is taken as the bytes that stand in the line, never encoded anew."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragtui.events import ChunksSeen, Notice, RunFinished, ServerCalls, StageProgress
from ragtui.store.lines import DamagedJournal
from ragtui.trace import CaseError, ChunkRef

CASES_A_BATCH = 2000
BYTES_A_BATCH = 24 * 1024 * 1024


class Started(msgspec.Struct, tag="run_started", tag_field="event"):
    """RunStarted, its large parts left as JSON."""

    run_id: str
    attempt: int
    spec_id: str
    specification: msgspec.Raw
    provenance: msgspec.Raw
    measures: tuple[str, ...]
    cases: list[msgspec.Raw]
    environment: msgspec.Raw
    started_at: str
    tier: Literal["retrieval", "generation"] = "retrieval"


class _Finished(msgspec.Struct, tag="case_finished", tag_field="event"):
    attempt: int
    at: str
    trace: msgspec.Raw


class _Head(msgspec.Struct):
    case: str
    index: int
    status: Literal["ok", "error"] = "ok"
    error: CaseError | None = None
    scores: dict[str, float | None] = {}


class _Golden(msgspec.Struct):
    id: str
    query: str
    tags: list[str]


class TraceRow(msgspec.Struct):
    """A row of `traces`; `scores` by name, still to be put in the run's order of measures."""

    index: int
    attempt: int
    case: str
    status: str
    error: CaseError | None
    at: str
    scores: dict[str, float | None]
    trace: str


_Line = Started | _Finished | ChunksSeen | RunFinished | StageProgress | Notice | ServerCalls
_LINES: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_HEADS = msgspec.json.Decoder(_Head)
_GOLDENS = msgspec.json.Decoder(_Golden)


class Batch:
    """What one transaction inserts: parts of a journal in the order of its lines."""

    def __init__(self) -> None:
        self.started: list[Started] = []
        #: By ordinal, with the number of the line that told it.
        self.chunks: dict[int, tuple[ChunkRef, int]] = {}
        self.traces: dict[tuple[int, int], TraceRow] = {}
        self.finished: list[RunFinished] = []
        self.last_at: dict[int, str] = {}
        self.size = 0

    @property
    def full(self) -> bool:
        """Whether it is time to commit: two thousand cases, or as many bytes as fit the memory limit with ease."""
        return len(self.traces) > CASES_A_BATCH or self.size >= BYTES_A_BATCH

    def add(self, line: bytes, path: Path, number: int) -> None:
        """Take one line of the journal; DamagedJournal if it is not an event."""
        try:
            event = _LINES.decode(line)
            if isinstance(event, _Finished):
                self._trace(event)
            elif isinstance(event, Started):
                self.started.append(event)
                self.last_at[event.attempt] = event.started_at
            elif isinstance(event, ChunksSeen):
                for chunk in event.chunks:
                    if chunk.fault:
                        raise msgspec.ValidationError(chunk.fault)
                    known, _ = self.chunks.setdefault(chunk.ordinal, (chunk, number))
                    if known != chunk:
                        raise msgspec.ValidationError(twice_told(chunk.ordinal))
            elif isinstance(event, RunFinished):
                self.finished.append(event)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DamagedJournal(path, number, error) from error
        self.size += len(line)

    def _trace(self, event: _Finished) -> None:
        head = _HEADS.decode(event.trace)
        row = TraceRow(
            head.index,
            event.attempt,
            head.case,
            head.status,
            head.error,
            event.at,
            head.scores,
            str(event.trace, "utf-8"),
        )
        self.traces.setdefault((head.index, event.attempt), row)
        self.last_at[event.attempt] = event.at


def case_columns(cases: list[msgspec.Raw]) -> dict[str, list[Any]]:
    """Frozen goldens as columns: idx, case_id, query, tags, definition (the JSON as journaled)."""
    goldens = [_GOLDENS.decode(case) for case in cases]
    return {
        "idx": list(range(len(cases))),
        "case_id": [golden.id for golden in goldens],
        "query": [golden.query for golden in goldens],
        "tags": [golden.tags for golden in goldens],
        "definition": [str(case, "utf-8") for case in cases],
    }


def twice_told(ordinal: int) -> str:
    """What is wrong with a journal that gives one ordinal to two spans: traces would refer to either."""
    return f"it gives the chunk ordinal {ordinal} to another span than before"


def text_hash(text: str) -> bytes:
    """The 32 bytes under which a chunk text is kept once."""
    return hashlib.sha256(text.encode()).digest()
