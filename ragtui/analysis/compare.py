"""Two runs side by side: what differs in intent, what in the numbers, which questions flipped, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ragtui.analysis.announcements import answer_notes, notes_of
from ragtui.analysis.answer_flips import CORRECT, answer_flips
from ragtui.analysis.comparability import Pairing, Revisions, pair
from ragtui.analysis.contrast import BoolArray, MeasureChange, Role, applies, contrast, score_columns
from ragtui.analysis.flips import Flip, Unstable, find_flips, flip_measure_of
from ragtui.analysis.gates import gating_measures, roles_of, with_roles
from ragtui.analysis.goldens import by_golden, common_mode, standing
from ragtui.analysis.modes import same_answers
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.statistics import FloatArray
from ragtui.analysis.verdict import TOLERANCE, Evidence, Mode, Verdict, decide
from ragtui.artifacts.recipes import canonical
from ragtui.experiment.generation import Mode as AnswerMode
from ragtui.experiment.specification import differences
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.metrics.measure import Measure, parse_measure


class SpecificationChange(msgspec.Struct, frozen=True):
    """A field of the specification that differs; None where a side lacks it."""

    path: str
    base: Any
    new: Any


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that two runs say about each other; `notes` are announcements, `not_compared` measure → why not.

    `unstable` are goldens that are answered now rightly, now wrongly; none of them is among the flips. `answer_mode` is
    the mode of the answers that are compared, None in the retrieval tier.
    """

    schema: int = 1
    base_run: str
    new_run: str
    tag: str | None
    tolerance: float
    mode: Mode
    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    detectable: float | None
    more_questions: int | None
    cases: Pairing
    specification_diff: tuple[SpecificationChange, ...]
    measures: dict[str, MeasureChange]
    by_tag: dict[str, dict[str, MeasureChange]]
    not_compared: dict[str, str]
    flip_measure: str
    flips: tuple[Flip, ...]
    unstable: tuple[Unstable, ...] = ()
    answer_mode: AnswerMode | None = None

    @property
    def flipped_by(self) -> str:
        """The measure of the flips; in the generation tier the measures, for a refusal flips by its own."""
        return " and ".join(dict.fromkeys(flip.measure or self.flip_measure for flip in self.flips))


class Compared(NamedTuple):
    """A comparison with the scores behind it, of shape (cases, measures of the comparison), NaN where unscored."""

    comparison: Comparison
    cases: list[EvaluationCase]
    base: FloatArray
    new: FloatArray


def compare(
    base: RecordedRun,
    new: RecordedRun,
    *,
    tag: str | None = None,
    subset: bool = False,
    tolerance: float = TOLERANCE,
    mode: Mode = "verdict",
    allow_errors: bool = False,
    documents: tuple[Revisions, Revisions] | None = None,
) -> Comparison:
    """`compare_cases` without the scores of single cases."""
    return compare_cases(
        base, new, tag=tag, subset=subset, tolerance=tolerance, mode=mode, allow_errors=allow_errors,
        documents=documents,
    ).comparison  # fmt: skip


def compare_cases(
    base: RecordedRun,
    new: RecordedRun,
    *,
    tag: str | None = None,
    subset: bool = False,
    tolerance: float = TOLERANCE,
    mode: Mode = "verdict",
    allow_errors: bool = False,
    documents: tuple[Revisions, Revisions] | None = None,
) -> Compared:
    """Compare over the shared cases; ComparisonRefused where the numbers would not mean the same.

    In the generation tier a case is a golden, its repeats averaged, in the mode that stands for both runs. The new
    run's plan says which measures gate; one of rankings that a run does not report is computed from that run's traces.
    `documents` as in `comparability.pair`.
    """
    whole = base, new
    answer_mode = common_mode(whole)
    base, new = by_golden(base, answer_mode), by_golden(new, answer_mode)
    pairing = pair(base, new, tag, documents)
    case_of = {case.id: case for case in new.cases}
    cases = [case_of[name] for name in pairing.shared]
    gating = gating_measures(new.specification.plan)
    names, not_compared = _comparable(base, new, [str(measure) for measure in gating])
    old, present = score_columns(base, cases, names), score_columns(new, cases, names)
    applicable = applies(cases, names) | _unanswered(base, new, cases, names)
    table = contrast(names, old, present, applicable)
    roles = roles_of(gating, table)
    table = with_roles(table, roles)
    gates = {name: table[name] for name in roles}
    unreported = [name for name in roles if name not in base.measures or name not in new.measures]
    stands = [(run, standing(run, answer_mode)) for run in whole]

    def lacks(counted: Mapping[str, int]) -> int:
        return sum(counted.get(name, 0) for name in pairing.shared)

    evidence = Evidence(
        identical=_identical(base, new, pairing.shared)
        and (answer_mode is None or same_answers(*whole, set(pairing.shared), answer_mode)),
        alike="ranking" if new.tier == "retrieval" else "ranking and answers",
        equal_cases=pairing.equal,
        unfinished=any(run.status != "completed" and lacks(found.missing) for run, found in stands),
        failed=tuple((run.run_id, lacks(found.failed)) for run, found in stands),
        not_compared=tuple(str(measure) for measure in gating if str(measure) in not_compared),
        subset=subset,
        allow_errors=allow_errors,
    )
    decision = decide(gates or {str(gating[0]): _nothing(gating[0])}, evidence, tolerance, mode)
    flip_measure, flips, unstable = _flips(whole, answer_mode, gating, names, cases, (old, present))
    comparison = Comparison(
        base_run=base.run_id,
        new_run=new.run_id,
        tag=tag,
        tolerance=tolerance,
        mode=mode,
        verdict=decision.verdict,
        reasons=decision.reasons,
        notes=(
            *notes_of(whole, pairing, unreported, evidence.identical),
            *answer_notes(whole, answer_mode, unstable),
        ),
        detectable=decision.detectable,
        more_questions=decision.more_questions,
        cases=pairing,
        specification_diff=specification_diff(base, new),
        measures=table,
        by_tag=_by_tag(cases, names, old, present, applicable, roles),
        not_compared=not_compared,
        flip_measure=flip_measure,
        flips=flips,
        unstable=unstable,
        answer_mode=answer_mode,
    )
    return Compared(comparison, cases, old, present)


def specification_diff(base: RecordedRun, new: RecordedRun) -> tuple[SpecificationChange, ...]:
    """Each field of the two specifications that differs, by path."""
    found = differences(canonical(base.specification), canonical(new.specification))
    return tuple(SpecificationChange(*difference) for difference in found)


def _flips(
    runs: tuple[RecordedRun, RecordedRun], mode: AnswerMode | None, gating: Sequence[Measure], names: Sequence[str],
    cases: Sequence[EvaluationCase], scores: tuple[FloatArray, FloatArray],
) -> tuple[str, tuple[Flip, ...], tuple[Unstable, ...]]:  # fmt: skip
    """The flips' measure, the flips, and the goldens that are too unstable to flip. The runs are whole."""
    if mode is not None and CORRECT in names:
        return CORRECT, *answer_flips(*runs, cases, mode)
    measure = flip_measure_of(gating, names)
    if not names:
        return measure, (), ()
    columns = (matrix[:, names.index(measure)] for matrix in scores)
    return measure, find_flips(cases, *columns, higher_is_better=parse_measure(measure).higher_is_better), ()


def _comparable(base: RecordedRun, new: RecordedRun, gating: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The measures to compare, and why others are not: missing from a run, or counting chunks of other chunk sets."""
    same_chunks = base.specification.chunk_set_id == new.specification.chunk_set_id
    names, refused = [], {}
    for name in dict.fromkeys((*new.measures, *base.measures, *gating)):
        lacking = [run.run_id for run in (base, new) if name not in run.measures]
        cutoff = parse_measure(name).cutoff or 0
        shallow = [run.run_id for run in (base, new) if cutoff > run.specification.plan.retrieval.results]
        if not same_chunks and parse_measure(name).level == "chunk":
            refused[name] = "it counts chunks, and the two runs have different chunk sets"
        elif lacking and (name not in gating or parse_measure(name).of_answers):
            refused[name] = f"not reported by {' and '.join(lacking)}"
        elif lacking and shallow:
            refused[name] = f"{' and '.join(shallow)} kept fewer results than it looks at"
        else:
            names.append(name)
    return names, refused


def _nothing(measure: Measure) -> MeasureChange:
    """A measure without any case."""
    empty = np.empty((0, 1))
    return contrast([str(measure)], empty, empty, np.empty((0, 1), dtype=np.bool_))[str(measure)]


def _by_tag(
    cases: Sequence[EvaluationCase], names: Sequence[str], base: FloatArray, new: FloatArray,
    applicable: BoolArray, roles: Mapping[str, Role],
) -> dict[str, dict[str, MeasureChange]]:  # fmt: skip
    """The table of each tag, tags in order; tags do not gate, so nothing in them is adjusted."""
    rows: dict[str, list[int]] = {}
    for row, case in enumerate(cases):
        for tag in dict.fromkeys(case.tags):
            rows.setdefault(tag, []).append(row)
    tables = {}
    for tag in sorted(rows):
        chosen = rows[tag]
        table = contrast(names, base[chosen], new[chosen], applicable[chosen])
        tables[tag] = {name: msgspec.structs.replace(row, role=roles.get(name, "")) for name, row in table.items()}
    return tables


def _unanswered(
    base: RecordedRun, new: RecordedRun, cases: Sequence[EvaluationCase], names: Sequence[str]
) -> BoolArray:
    """Where a measure of answers lacks one: the case failed or never finished in a run."""
    done = [
        all(case.id in run.trace_of and run.trace_of[case.id].error is None for run in (base, new)) for case in cases
    ]  # fmt: skip
    of_answers = np.array([parse_measure(name).of_answers for name in names], dtype=np.bool_)
    return ~np.array(done, dtype=np.bool_)[:, None] & of_answers


def _identical(base: RecordedRun, new: RecordedRun, shared: Sequence[str]) -> bool:
    """Whether every shared case finished in both runs with the same ranking of the same chunks."""
    for name in shared:
        old, present = base.trace_of.get(name), new.trace_of.get(name)
        if old is None or present is None or old.error is not None or present.error is not None:
            return False
        if len(old.results.chunks) != len(present.results.chunks):
            return False
        # Of runs that were read without their rankings the scores tell: equal rankings have equal ones.
        reported = old.scores.keys() & present.scores.keys()
        if not old.results.chunks and any(old.scores[measure] != present.scores[measure] for measure in reported):
            return False
        for left, right in zip(old.results.chunks, present.results.chunks, strict=True):
            a, b = base.chunk_of.get(left), new.chunk_of.get(right)
            if a is None or b is None or (a.doc, a.start, a.end) != (b.doc, b.start, b.end):
                return False
    return True
