"""What happened to one case, stage by stage, in columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ragtui.artifacts.ranking import Ranking
from ragtui.experiment.generation import Mode
from ragtui.providers.protocols import Message

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


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of a model took: tokens as the server counted them (None: it did not), cost in the profile's unit."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


class PaidReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that an earlier run recorded."""

    text: str
    thinking: str = ""
    finish: str = "stop"
    usage: Usage = Usage()


class RewriteTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A multi-turn question made to stand alone: what was sent, what came back; `key` as in AnswerTrace."""

    messages: tuple[Message, ...]
    question: str
    usage: Usage = Usage()
    key: str = ""
    replayed: bool = False


class Claim(msgspec.Struct, frozen=True):
    """A statement of an answer, and whether the injected context supports it."""

    claim: str
    supported: bool


class JudgeTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said of an answer. `raw` is its reply as it came; `completeness` and `relevance` are 1 to 5.

    With an `error` nothing is judged: the reply was no verdict, or there was none.
    """

    raw: str = ""
    claims: tuple[Claim, ...] = ()
    completeness: int | None = None
    relevance: int | None = None
    usage: Usage = Usage()
    key: str = ""
    replayed: bool = False
    error: CaseError | None = None


class AnswerTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a case after retrieval.

    `messages` is the prompt exactly as sent. `context` and `dropped` are ordinals of chunks: those injected, in order,
    and those left out for lack of room, best first; `history` is the number of earlier turns that were sent, the
    newest ones. `estimated_tokens` is the budget's estimate of the prompt. `key` is that of model, prompt, parameters
    and repeat: an answer is replayed under it. `text` is the answer, `thinking` the reasoning given apart from it.
    `passed` is None where nothing says what is right.
    """

    mode: Mode
    repeat: int
    messages: tuple[Message, ...] = ()
    context: list[int] = []
    dropped: list[int] = []
    history: int = 0
    estimated_tokens: int = 0
    key: str = ""
    replayed: bool = False
    text: str = ""
    thinking: str = ""
    finish: str = ""
    usage: Usage = Usage()
    rewrite: RewriteTrace | None = None
    passed: bool | None = None
    judge: JudgeTrace | None = None


class CaseTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One golden executed once.

    `query` is what was asked of the channels. `fused`, `floor` and `collapse` are None where the stage did not run;
    `results` is the end of the pipeline. `scores` has a value for every measure, None where the case is unscored, with
    the reason in `unscored`. `timings` are milliseconds; a stage that ran for a batch is divided by its cases.
    `answer` is there in the generation tier only.
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
    answer: AnswerTrace | msgspec.UnsetType = msgspec.UNSET

    def chunks(self) -> set[int]:
        """Every chunk that the trace refers to."""
        found = {chunk for hits in (*self.channels.values(), self.results) for chunk in hits.chunks}
        answer = self.answered
        return found if answer is None else found.union(answer.context, answer.dropped)

    @property
    def answered(self) -> AnswerTrace | None:
        """The answer's part, None in the retrieval tier and where the case failed before its prompt."""
        return None if isinstance(self.answer, msgspec.UnsetType) else self.answer


def time_spent(timings: Mapping[str, float]) -> float:
    """Milliseconds of a case from its timings, without those that are part of others.

    `case` holds the answer, `generate` the time to its first token, and every stage what it waited before a retry.
    """
    inner = {"first_token", "retry_wait"} | ({"generate"} if "case" in timings else set())
    return sum(spent for name, spent in timings.items() if name not in inner)


LARGEST_ORDINAL = 20_000_000
LARGEST_OFFSET = 1 << 40


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

    @property
    def fault(self) -> str:
        """What no chunk of a run can have, in a record that somebody edited or cut; empty where nothing is."""
        if not 0 <= self.ordinal <= LARGEST_ORDINAL:
            return "a chunk's ordinal is out of range"
        return "" if 0 <= self.start <= self.end <= LARGEST_OFFSET else "a chunk's place is out of range"
