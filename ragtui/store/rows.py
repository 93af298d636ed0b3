"""What queries return."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ragtui.events import RunStatus
from ragtui.experiment.plan import Provenance
from ragtui.experiment.specification import Specification

Tier = Literal["retrieval", "generation"]


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list.

    `scored` cases have a value for at least one measure that is no rate, `unscored` are all others (errors and cases
    not executed included), `errors` ended in an error: scored + unscored == cases. `measures` maps a name to the plain
    mean over the goldens that have a value, None without any; in the generation tier repeats are averaged first, and
    only the mode that stands for the run counts. `elapsed_s` is the seconds of all attempts; `finished` cases have a
    result, be it an error. `note` is why the run was made, in the user's words.
    """

    run_id: str
    spec_id: str
    name: str
    status: RunStatus
    started_at: str
    ended_at: str | None
    elapsed_s: float
    cases: int
    scored: int
    unscored: int
    errors: int
    finished: int
    attempts: int
    corpus_id: str
    evaluation_id: str
    tier: Tier
    note: str
    suites: tuple[str, ...]
    measures: dict[str, float | None]


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One process's work on a run. `reason` is a sentence where the status is not `completed`."""

    attempt: int
    status: RunStatus
    started_at: str
    ended_at: str | None
    elapsed_s: float
    reason: str
    environment: dict[str, Any]


class RunRecord(RunRow, frozen=True, kw_only=True):
    """A run with what it was to do and each attempt's environment, oldest attempt first."""

    specification: Specification
    provenance: Provenance
    measure_names: tuple[str, ...]
    attempt_rows: tuple[AttemptRow, ...]

    @property
    def environments(self) -> tuple[dict[str, Any], ...]:
        """The environment of each attempt, oldest first."""
        return tuple(row.environment for row in self.attempt_rows)


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """A case in a list. `status` is `pending` where no attempt executed it; `scores` has every measure of the run."""

    case: str
    index: int
    query: str
    tags: tuple[str, ...]
    status: Literal["ok", "error", "pending"]
    error: str
    scores: dict[str, float | None]


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A run promoted as the reference for (corpus, suites, tier, name). `suites` is sorted."""

    name: str
    run_id: str
    corpus_id: str
    suites: tuple[str, ...]
    tier: Tier
    why: str
    promoted_at: str
