"""What an execution tells, one class an event. A journal is these events, one JSON object a line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from ragtui.experiment.plan import Provenance
from ragtui.experiment.specification import Specification
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.trace import CaseTrace, ChunkRef

RunStatus = Literal["running", "completed", "interrupted", "cancelled", "failed"]
JOURNAL_SCHEMA = 1


def seconds_between(start: str, end: str | None = None) -> float:
    """Seconds between two times as events have them, `end` being now by default; 0 where one is no such time."""
    try:
        last = datetime.fromisoformat(end) if end is not None else datetime.now(UTC)
        return (last - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return 0.0


class RunStarted(msgspec.Struct, frozen=True, kw_only=True, tag="run_started", tag_field="event"):
    """One attempt begins. `cases` are all the run's cases in order; `pending` the indexes this attempt executes."""

    schema: int = JOURNAL_SCHEMA
    run_id: str
    attempt: int
    spec_id: str
    specification: Specification
    provenance: Provenance
    tier: Literal["retrieval", "generation"] = "retrieval"
    measures: tuple[str, ...]
    cases: tuple[EvaluationCase, ...]
    pending: tuple[int, ...]
    environment: dict[str, Any]
    started_at: str


class StageProgress(msgspec.Struct, frozen=True, kw_only=True, tag="stage_progress", tag_field="event"):
    """Preparation advances: `done` of `total` units of a stage (`chunks`, `bm25`, `embeddings`) in so many seconds."""

    stage: str
    done: int
    total: int
    elapsed_s: float | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag="notice", tag_field="event"):
    """Something the user should know and need not act on."""

    message: str


class ServerCalls(msgspec.Struct, frozen=True, kw_only=True, tag="server_calls", tag_field="event"):
    """How calls of servers stand: `in_flight` under way, `retries` since the attempt began.

    The newest retry is of the profile `provider`, because of what it did (`reason`), after `wait_s` seconds.
    """

    in_flight: int = 0
    retries: int = 0
    provider: str = ""
    reason: str = ""
    wait_s: float = 0.0


class ChunksSeen(msgspec.Struct, frozen=True, kw_only=True, tag="chunks_seen", tag_field="event"):
    """Chunks that the cases after this event refer to, each told once a run's attempt."""

    chunks: list[ChunkRef]


class CaseFinished(msgspec.Struct, frozen=True, kw_only=True, tag="case_finished", tag_field="event"):
    """One case is done and on disk."""

    attempt: int
    at: str
    trace: CaseTrace


class RunFinished(msgspec.Struct, frozen=True, kw_only=True, tag="run_finished", tag_field="event"):
    """The attempt ends. `reason` is a sentence where the status is not `completed`."""

    attempt: int
    status: RunStatus
    at: str
    elapsed_s: float
    reason: str = ""


RunEvent = RunStarted | StageProgress | Notice | ServerCalls | ChunksSeen | CaseFinished | RunFinished
