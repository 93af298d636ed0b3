"""The cases of the generation tier: each golden in each mode, repeated; `golden@mode#repeat`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ragtui.experiment.generation import MODES, Generation, Mode
from ragtui.ids import content_id
from ragtui.inputs.evaluation import EvaluationCase


class CaseName(NamedTuple):
    """What a case's id says. `repeat` counts from 1."""

    golden: str
    mode: Mode
    repeat: int

    def __str__(self) -> str:
        return f"{self.golden}@{self.mode}#{self.repeat}"


def parse_case(case_id: str) -> CaseName:
    """The parts of a generation case's id; ValueError if it is none."""
    golden, _, rest = case_id.rpartition("@")
    mode, _, repeat = rest.partition("#")
    for known in MODES:
        if mode == known and golden and repeat.isdecimal():
            return CaseName(golden, known, int(repeat))
    raise ValueError(f"{case_id!r} is not the id of a generation case")


def expand(goldens: Sequence[EvaluationCase], generation: Generation) -> tuple[EvaluationCase, ...]:
    """Every case, the first repeat of all goldens before the second, so that a run cut short has whole modes.

    The echo of the context is the same each time: `mock` runs once.
    """
    return tuple(
        msgspec.structs.replace(golden, id=str(CaseName(golden.id, mode, repeat)))
        for repeat in range(1, generation.repeats + 1)
        for golden in goldens
        for mode in generation.modes
        if repeat == 1 or mode != "mock"
    )


def answers_evaluation_id(goldens: Sequence[EvaluationCase]) -> str:
    """The content id of what retrieval and answers depend on: both hashes of every golden."""
    return content_id({golden.id: [golden.retrieval_hash, golden.answer_hash] for golden in goldens})
