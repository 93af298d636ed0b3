"""The questions whose answers a change won or lost, and those that change from one repeat to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtui.analysis.answer_marks import marks_of
from ragtui.analysis.flips import Flip, Told, Unstable
from ragtui.analysis.modes import GoldenPasses, cases_of_mode, passes
from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.generation import Mode
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.trace import CaseTrace

# What of an answer goes into a comparison; the whole of it is in the run.
ANSWER_CHARACTERS = 600
CORRECT, REFUSES = "correctness", "refusalCorrectness"


def answer_flips(
    base: RecordedRun, new: RecordedRun, cases: Sequence[EvaluationCase], mode: Mode
) -> tuple[tuple[Flip, ...], tuple[Unstable, ...]]:
    """Flips, lost ones first, and unstable goldens, the greatest losses first; each in the order of `cases`.

    The runs are whole, `cases` goldens, and what counts are the answers in `mode`. A golden without a judged answer in
    one of the runs is neither.
    """
    old, present = _Answers(base, mode), _Answers(new, mode)
    flips: list[Flip] = []
    unstable: list[Unstable] = []
    for case in cases:
        before, now = old.passes.get(case.id), present.passes.get(case.id)
        if before is None or now is None:
            continue
        if before.unstable or now.unstable:
            better = before.share >= now.share
            unstable.append(
                Unstable(
                    case=case.id, query=case.query, tags=case.tags,
                    base_passed=sum(before.passes), base_repeats=len(before.passes),
                    new_passed=sum(now.passes), new_repeats=len(now.passes),
                    base_answer=old.told(case, better), new_answer=present.told(case, not better),
                )
            )  # fmt: skip
        elif before.passed != now.passed:
            flips.append(
                Flip(
                    case=case.id, query=case.query, tags=case.tags, direction="lost" if before.passed else "found",
                    base=before.share, new=now.share, measure=_measure(case, old, present),
                    base_answer=old.told(case, before.passed), new_answer=present.told(case, now.passed),
                )
            )  # fmt: skip
    flips.sort(key=lambda flip: flip.direction, reverse=True)
    unstable.sort(key=lambda row: row.change)
    return tuple(flips), tuple(unstable)


def wrong_answers(run: RecordedRun, cases: Sequence[EvaluationCase], mode: Mode) -> dict[str, Told]:
    """An answer to each of these goldens that no repeat passes. An unstable golden is not among them."""
    answers = _Answers(run, mode)
    rows = ((case, answers.passes.get(case.id)) for case in cases)
    return {case.id: answers.told(case, False) for case, row in rows if row is not None and row.share == 0}


class _Answers:
    """The answers of one run by golden, in one mode."""

    def __init__(self, run: RecordedRun, mode: Mode) -> None:
        self.passes: Mapping[str, GoldenPasses] = {row.golden: row for row in passes(run, mode)}
        self._traces: dict[str, list[CaseTrace]] = {}
        for golden, _, trace in cases_of_mode(run, mode):
            self._traces.setdefault(golden, []).append(trace)

    def value(self, golden: str, measure: str) -> float | None:
        """The measure's value in the first repeat that has one."""
        values = (trace.scores.get(measure) for trace in self._traces[golden])
        return next((value for value in values if value is not None), None)

    def told(self, golden: EvaluationCase, passed: bool) -> Told:
        """The first answer that came out so, or else the first of all."""
        traces = self._traces[golden.id]
        wanted = (t for t in traces if t.error is None and t.answered is not None and t.answered.passed == passed)
        return _told(golden, next(wanted, traces[0]))


def _measure(case: EvaluationCase, base: _Answers, new: _Answers) -> str:
    """What the answers of a question that flipped differ in; a refusal may be right without any pattern."""
    if case.expect_refusal and base.value(case.id, CORRECT) == new.value(case.id, CORRECT):
        return REFUSES
    return CORRECT


def _told(golden: EvaluationCase, trace: CaseTrace) -> Told:
    answer = trace.answered
    if trace.error is not None or answer is None:
        return Told(case=trace.case, error=trace.error.message if trace.error is not None else "there is no answer")
    marks = marks_of(golden, answer.text)
    return Told(
        case=trace.case,
        text=answer.text[:ANSWER_CHARACTERS],
        cut=len(answer.text) > ANSWER_CHARACTERS,
        passed=answer.passed,
        missing=marks.missing,
        violated=tuple(dict.fromkeys(mark.pattern for mark in marks.marks if mark.kind == "forbidden")),
    )
