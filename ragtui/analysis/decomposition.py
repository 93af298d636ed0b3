"""Is it the retriever or the model? Modes of one run against each other, golden by golden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import msgspec
import numpy as np

from ragtui.analysis.modes import GoldenPasses, cases_of_mode, mode_table, modes_of, passes
from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.cases import parse_case
from ragtui.experiment.generation import Mode
from ragtui.metrics.aggregate import Estimate, mean_estimate, paired_estimate
from ragtui.metrics.formulas import FloatArray

MEASURE = "correctness"
COMPARED: tuple[Mode, ...] = ("oracle", "e2e", "noretrieval")
# Below this share the model fails even with the right documents before it; above it a difference is a large one.
LOW_ORACLE, LARGE, NEAR_ZERO = 0.7, 0.1, 0.05

Outcome = tuple[bool, bool, bool]

MEANINGS: dict[Outcome, str] = {
    (True, True, True): "known anyway: passes without any context, so it tests neither retrieval nor context",
    (True, True, False): "retrieval works: passes with what was found, fails without",
    (True, False, True): "retrieval harms: what was found leads the model away from what it knows",
    (True, False, False): "retrieval misses: passes with the right documents, fails with what was found",
    (False, True, True): "the golden's documents harm: passes with what was found and without, fails with them",
    (False, True, False): "better than the oracle: the golden lacks a document, or the answer is luck",
    (False, False, True): "context harms: the model knows, and fails as soon as there is context",
    (False, False, False): "the model fails: not even the right documents help, or the golden asks too much",
}

# The same of goldens that expect a refusal, where to pass is to decline and the golden has no documents to be given.
REFUSAL_MEANINGS: dict[Outcome, str] = {
    (True, True, True): "declines always: nothing tempts the model to answer, with what was found or without",
    (True, True, False): "declines with a context: without retrieval the model answers what it should decline",
    (True, False, True): "tempted: with what was found the model answers what it should decline",
    (True, False, False): "declines only with an empty context: otherwise it answers what it should decline",
    (False, True, True): "answers an empty context: with what was found and without retrieval it declines",
    (False, True, False): "declines only with what was found: otherwise it answers what it should decline",
    (False, False, True): "declines only without retrieval: with any context it answers what it should decline",
    (False, False, False): "never declines: the model answers in all three modes what it should decline",
}


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of `first` − `second` over the goldens scored in both, with its interval, overall and by tag."""

    first: Mode
    second: Mode
    overall: Estimate
    by_tag: dict[str, Estimate]


class OutcomeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The goldens with one outcome: passed in `oracle`, `e2e`, `noretrieval`.

    `refusals` are those of `goldens` that expect a refusal, of which `meaning` speaks apart.
    """

    oracle: bool
    e2e: bool
    noretrieval: bool
    meaning: str
    goldens: tuple[str, ...]
    refusals: tuple[str, ...] = ()


class Decomposition(msgspec.Struct, frozen=True, kw_only=True):
    """What the three modes say together.

    `levels` are means of `correctness` by mode (`mock` among them where it ran), `unstable` the goldens whose pass
    flips, by mode. `reversed` are goldens that fail with their own documents and pass with what was found;
    `reversed_steady` those of them that do so in every repeat.
    """

    measure: str
    levels: dict[str, Estimate]
    differences: tuple[Difference, ...]
    outcomes: tuple[OutcomeRow, ...]
    unstable: dict[str, tuple[str, ...]]
    reversed: tuple[str, ...]
    reversed_steady: tuple[str, ...]
    findings: tuple[str, ...]

    def outcome_of(self, golden: str) -> OutcomeRow | None:
        """The golden's outcome, in words about it alone; None where it is not judged in all three modes."""
        row = next((row for row in self.outcomes if golden in row.goldens), None)
        if row is None:
            return None
        means = REFUSAL_MEANINGS if golden in row.refusals else MEANINGS
        return msgspec.structs.replace(row, meaning=means[row.oracle, row.e2e, row.noretrieval])


def decompose(run: RecordedRun) -> Decomposition | None:
    """The decomposition of a run that has all three modes; None for any other."""
    modes = modes_of(run)
    if not set(COMPARED) <= set(modes):
        return None
    columns = {mode: _column(run, mode) for mode in modes}
    tags = {golden: tag for mode in COMPARED for golden, tag in _tags(run, mode).items()}
    levels = {str(mode): mean_estimate(list(columns[mode].values())) for mode in modes}
    differences = tuple(_difference(columns, tags, *pair) for pair in (("oracle", "e2e"), ("e2e", "noretrieval")))
    steady = {mode: {row.golden: row for row in passes(run, mode)} for mode in modes}
    reversed_, always = _reversed(steady)
    return Decomposition(
        measure=MEASURE,
        levels=levels,
        differences=differences,
        outcomes=_outcomes(steady, _refusals(run)),
        unstable={mode: tuple(row.golden for row in steady[mode].values() if row.unstable) for mode in modes},
        reversed=reversed_,
        reversed_steady=always,
        findings=tuple(_findings(levels, differences, reversed_, always)),
    )


def case_outcome(run: RecordedRun, case_id: str) -> OutcomeRow | None:
    """The outcome of a case's golden; None in the retrieval tier and where not all three modes were judged."""
    found = decompose(run)
    return None if found is None else found.outcome_of(parse_case(case_id).golden)


def _column(run: RecordedRun, mode: Mode) -> dict[str, float]:
    table = mode_table(run, mode)
    values: FloatArray = table.scores[:, table.measures.index(MEASURE)]
    return dict(zip(table.goldens, values.tolist(), strict=True))


def _tags(run: RecordedRun, mode: Mode) -> dict[str, Sequence[str]]:
    table = mode_table(run, mode)
    return dict(zip(table.goldens, table.tags, strict=True))


def _difference(
    columns: Mapping[Mode, Mapping[str, float]], tags: Mapping[str, Sequence[str]], first: Mode, second: Mode
) -> Difference:
    shared = [golden for golden in columns[first] if golden in columns[second]]
    values = np.array([columns[first][golden] - columns[second][golden] for golden in shared], dtype=np.float64)
    rows: dict[str, list[int]] = {}
    for row, golden in enumerate(shared):
        for tag in dict.fromkeys(tags[golden]):
            rows.setdefault(tag, []).append(row)
    by_tag = {tag: paired_estimate(values[rows[tag]]) for tag in sorted(rows)}
    return Difference(first=first, second=second, overall=paired_estimate(values), by_tag=by_tag)


def _refusals(run: RecordedRun) -> set[str]:
    """The goldens that expect a refusal."""
    return {golden for golden, case, _ in cases_of_mode(run, "oracle") if case.expect_refusal}


def _outcomes(steady: Mapping[Mode, Mapping[str, GoldenPasses]], refused: Set[str]) -> tuple[OutcomeRow, ...]:
    goldens: dict[Outcome, list[str]] = {outcome: [] for outcome in MEANINGS}
    for golden in steady["oracle"]:
        rows = [steady[mode].get(golden) for mode in COMPARED]
        told = [row.passed for row in rows if row is not None]
        if len(told) == len(COMPARED):
            goldens[told[0], told[1], told[2]].append(golden)
    found = []
    for key, named in goldens.items():
        refusals = tuple(golden for golden in named if golden in refused)
        found.append(
            OutcomeRow(
                oracle=key[0], e2e=key[1], noretrieval=key[2], meaning=_meaning(key, len(named), len(refusals)),
                goldens=tuple(named), refusals=refusals,
            )
        )  # fmt: skip
    return tuple(found)


def _meaning(outcome: Outcome, goldens: int, refusals: int) -> str:
    """What the outcome means; of goldens of both kinds, what it means for each."""
    if not refusals:
        return MEANINGS[outcome]
    if refusals == goldens:
        return REFUSAL_MEANINGS[outcome]
    return f"{MEANINGS[outcome]}; for the {refusals} to be refused, {REFUSAL_MEANINGS[outcome]}"


def _reversed(steady: Mapping[Mode, Mapping[str, GoldenPasses]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Goldens that are better off with what was found than with their own documents, and those always so."""
    worse, always = [], []
    for golden, oracle in steady["oracle"].items():
        found = steady["e2e"].get(golden)
        if found is None or oracle.share >= found.share:
            continue
        worse.append(golden)
        if oracle.share == 0 and found.share == 1 and min(len(oracle.passes), len(found.passes)) > 1:
            always.append(golden)
    return tuple(worse), tuple(always)


def _findings(
    levels: Mapping[str, Estimate],
    differences: Sequence[Difference],
    reversed_: Sequence[str],
    always: Sequence[str],
) -> list[str]:
    oracle = levels["oracle"]
    if oracle.value is None or differences[0].overall.value is None or differences[1].overall.value is None:
        return ["No golden has a scored answer in all three modes: nothing can be told apart."]
    lost, gained = differences[0].overall, differences[1].overall
    found = []
    if oracle.value < LOW_ORACLE:
        found.append(
            _told("The model", f"with the right documents only {oracle.value:.2f} are correct", _width(oracle))
        )
    if (lost.value or 0) >= LARGE and lost.low > 0:
        found.append(_told("Retrieval", f"oracle is {lost.value:+.2f} above e2e", _interval(lost)))
    if abs(gained.value or 0) < NEAR_ZERO:
        found.append(
            _told("Retrieval does not contribute", f"e2e is {gained.value:+.2f} above noretrieval", _interval(gained))
        )
    if (lost.value or 0) < 0:
        told = "it survives the repeats" if always else "noise"
        of = f"{len(always)} of {len(reversed_)} goldens are so in every repeat"
        found.append(f"Oracle is below e2e ({lost.value:+.2f}): {told}; {of}.")
    elif reversed_:
        found.append(
            f"{len(reversed_)} goldens do better with what was found than with their own documents; {len(always)} of "
            f"them in every repeat, the others are noise."
        )
    return found or ["Neither the model nor retrieval stands out."]


def _told(what: str, why: str, interval: str) -> str:
    return f"{what}: {why} {interval}."


def _interval(estimate: Estimate) -> str:
    return f"[{estimate.low:+.2f}, {estimate.high:+.2f}]"


def _width(estimate: Estimate) -> str:
    return f"[{estimate.low:.2f}, {estimate.high:.2f}]"
