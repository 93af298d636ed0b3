"""What happened to one case, stage by stage, in columns."""

from __future__ import annotations

from typing import Literal

import msgspec

from ragtui.artifacts.ranking import Ranking

CaseStatus = Literal["ok", "error"]


class Hits(msgspec.Struct, frozen=True):
    """A stage's list: chunk ordinals of the run and their scores, best first."""

    chunks: list[int]
    scores: list[float]

    @classmethod
    def of(cls, ranking: Ranking) -> Hits:
        """From arrays."""
        return cls(ranking.chunks.tolist(), ranking.scores.tolist())


class CaseError(msgspec.Struct, frozen=True):
    """Why a case has no result: a stable kind and one sentence."""

    kind: str
    message: str


class CaseTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One golden executed once.

    `query` is what was asked of the channels. `fused`, `floor` and `collapse` are None where the stage did not run;
    `results` is the end of the pipeline. `scores` has a value for every measure, None where the case is unscored, with
    the reason in `unscored`. `timings` are milliseconds; a stage that ran for a batch is divided by its cases.
    """

    case: str
    index: int
    status: CaseStatus = "ok"
    error: CaseError | None = None
    query: str = ""
    channels: dict[str, Hits] = {}
    fused: Hits | None = None
    floor: Hits | None = None
    collapse: Hits | None = None
    results: Hits = Hits([], [])
    scores: dict[str, float | None] = {}
    unscored: dict[str, str] = {}
    notes: list[str] = []
    timings: dict[str, float] = {}


class ChunkRef(msgspec.Struct, frozen=True):
    """A chunk as a run saw it, under the ordinal that the run's traces use."""

    ordinal: int
    doc: str
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        """`doc#start-end`."""
        return f"{self.doc}#{self.start}-{self.end}"
