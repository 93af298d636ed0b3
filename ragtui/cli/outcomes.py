"""What a finished run comes to: its results on stdout, its floors, its verdict, its exit code."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ragtui.cli.output import console, print_json, say
from ragtui.errors import EXIT_GATE_FAILED, EXIT_INCONCLUSIVE, EXIT_OK, InvalidInput, RunFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragtui.analysis.compare import Comparison
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.verdict import FloorResult
    from ragtui.experiment.plan import Plan


def emit(
    recorded: RecordedRun,
    verbose: bool,
    as_json: bool,
    comparison: Comparison | None = None,
    gates: Sequence[FloorResult] = (),
) -> None:
    """The results on stdout, as one JSON object or as tables, with the comparison and the floors if there are any."""
    if as_json:
        from ragtui.reports.records import run_record

        floors = [
            {"measure": gate.measure, "floor": gate.minimum, "value": gate.value, "passed": gate.passed}
            for gate in gates
        ]  # fmt: skip
        extra = {"comparison": comparison} if comparison is not None else {}
        print_json(run_record(recorded) | extra | ({"gates": floors} if floors else {}))
        return
    from ragtui.cli.render import run_report

    screen = console()
    # A command that is longer than the line is whole all the same.
    screen.print(run_report(recorded, None if verbose else 5), crop=False)
    if comparison is not None:
        from ragtui.cli.comparing import comparison_report

        screen.print()
        screen.print(comparison_report(comparison))


def reached(recorded: RecordedRun, floors: dict[str, float]) -> list[FloorResult]:
    """Whether the run reaches each floor of `parse_floors`."""
    from ragtui.analysis.summary import summary
    from ragtui.analysis.verdict import check_floors

    return check_floors(summary(recorded), floors) if floors else []


def outcome(recorded: RecordedRun, gates: Sequence[FloorResult] = ()) -> int:
    """The exit code of a run by itself: 1 below a floor, 7 where cases failed; each told on stderr."""
    from ragtui.analysis.summary import counts

    tally = counts(recorded.cases, recorded.trace_of)
    failed = [result for result in gates if not result.passed]
    for result in failed:
        say(f"FAIL  {result.reason}")
    if tally.errors:
        failed_cases = f"{tally.errors} of {tally.cases} cases failed"
        then = f"Why: ragtui show {recorded.run_id} --errors   Try them again: ragtui resume {recorded.run_id}"
        say(f"ragtui: {failed_cases}.\n  {then}")
        return RunFailed.exit_code
    return EXIT_GATE_FAILED if failed else EXIT_OK


def verdict_code(found: Comparison, strict: bool) -> int:
    """The exit code of a verdict; one that is not 0 has its line on stderr. The reasons are on stdout."""
    if found.verdict == "FAIL":
        lost = next((flip for flip in found.flips if flip.direction == "lost"), None)
        case = "" if lost is None else lost.new_answer.case if lost.new_answer is not None else lost.case
        trace = f"ragtui trace {found.new_run} {shlex.quote(case)}"
        what = f"Look at a question that was lost: {trace}" if case else "The measures that lost are marked ▼."
        say(f"ragtui: the gate failed: {found.new_run} is worse than {found.base_run}.\n  {what}")
        return EXIT_GATE_FAILED
    if found.verdict == "INCONCLUSIVE" and strict:
        say(
            "ragtui: the comparison is inconclusive, and --strict wants a decision.\n"
            "  The reasons say what is missing; more questions, or a larger --tolerance, decide."
        )
        return EXIT_INCONCLUSIVE
    return EXIT_OK


def parse_floors(texts: list[str], plan: Plan) -> dict[str, float]:
    """`nDCG@10=0.6` as the plan's name of the measure and the least value; InvalidInput for one it does not report."""
    from ragtui.analysis.modes import UNSTABLE
    from ragtui.experiment.validate import measure_names
    from ragtui.metrics.measure import measure_at, parse_measure

    # How often answers are unstable is no case's measure, but one of the run.
    repeated = (UNSTABLE,) if plan.generation is not None and plan.generation.repeats > 1 else ()
    reported = [parse_measure(name) for name in (*measure_names(plan), *repeated)]
    floors = {}
    for text in texts:
        # A measure's own options hold equals signs, so the last one separates.
        name, equals, value = text.rpartition("=")
        try:
            least = float(value) if equals else float("nan")
        except ValueError:
            least = float("nan")
        if not 0 <= least <= 1:
            raise InvalidInput(
                f"--min {text!r} is not MEASURE=VALUE with a value from 0 to 1.", "E.g. --min nDCG@10=0.6"
            )
        wanted = parse_measure(name)
        if wanted not in reported:
            wanted = measure_at(name, plan.metrics.relevance)
        if wanted not in reported:
            raise InvalidInput(
                f"--min {text}: the plan does not report {name}.", f"It reports {', '.join(map(str, reported))}."
            )
        floors[str(wanted)] = least
    return floors
