"""`run` and `resume`: execute a specification, show it, report it."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragtui.cli.context import running_lab
from ragtui.cli.output import Display, console, print_json, resolve_display, say
from ragtui.errors import EXIT_GATE_FAILED, EXIT_OK, Interrupted, InvalidInput, RagtuiError, RunFailed

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.plan import Provenance
    from ragtui.experiment.specification import Specification
    from ragtui.lab import Lab

PlanArgument = Annotated[
    str, typer.Argument(help="A preset (bm25, vector, hybrid, hybrid-weighted), or a plan in .toml, .json or .py.")
]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="Suites, separated by commas (default: core).")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only goldens with any of these tags.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="At most this many cases, stratified by tag.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="Edit a field, e.g. chunking.size=400.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="List every miss with what was retrieved instead.")]
MinOption = Annotated[list[str] | None, typer.Option("--min", help="Fail below this, e.g. nDCG@10=0.6.")]
DisplayOption = Annotated[Display, typer.Option("--display", help="full, rich, plain or none (default: by terminal).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
NameOption = Annotated[str | None, typer.Option("--name", help="A name for the run.")]
NoteOption = Annotated[str, typer.Option("--note", help="Why this run.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("resume")(resume)


def run(
    context: typer.Context,
    plan: PlanArgument = "hybrid",
    suite: SuiteOption = None,
    tag: TagOption = None,
    limit: LimitOption = None,
    settings: SetOption = None,
    verbose: VerboseOption = False,
    minimum: MinOption = None,
    name: NameOption = None,
    note: NoteOption = "",
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run a retrieval evaluation and record it.

    Example: ragtui run hybrid --tag numeric --set retrieval.fusion.rank_constant=20
    """
    from ragtui.cli.plans import chosen_plan

    floors = parse_floors(minimum or [])
    recipe, provenance = chosen_plan(plan, suite, tag or [], limit, settings or [], name, note)
    lab = running_lab(context, recipe)
    specification = lab.bind(recipe)
    recorded = execute(lab, specification, provenance, display, as_json)
    raise typer.Exit(report(recorded, floors, verbose, as_json))


def resume(
    context: typer.Context,
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="The run to continue.")],
    verbose: VerboseOption = False,
    display: DisplayOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Finish the missing and failed cases of an interrupted run, as a further attempt.

    Example: ragtui resume latest
    """
    from ragtui.cli.context import reading_lab

    reader = reading_lab(context)
    store, run_id = reader.resolve(run_name)
    if store is not reader.store:
        raise InvalidInput(f"Run {run_id} is in the reference store, which is read-only.", "Start a new run.")
    stored = store.run(run_id)
    plan = stored.specification.plan
    lab = running_lab(context, plan)
    specification = lab.bind(plan)
    if stored.status == "completed" and len(store.finished_indexes(run_id, including_errors=False)) == stored.cases:
        say(f"Run {run_id} is complete; there is nothing to resume.")
    recorded = execute(lab, specification, stored.provenance, display, as_json, run_id=run_id, resume=True)
    raise typer.Exit(report(recorded, {}, verbose, as_json))


def execute(
    lab: Lab, specification: Specification, provenance: Provenance, display: Display, as_json: bool,
    run_id: str | None = None, resume: bool = False,
) -> RecordedRun:  # fmt: skip
    """Run to the end with a live display; the first ctrl-c finishes what is in flight, the second leaves at once."""
    from ragtui.cli.display import live_display
    from ragtui.events import RunFinished, RunStarted, RunStatus

    shown = live_display("none" if as_json and display == "auto" else resolve_display(display))
    asked: list[RunStatus] = []
    started: list[str] = []
    failures: list[RagtuiError] = []
    last: list[RunFinished] = []

    def interrupt(*_: Any) -> None:
        if asked:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise KeyboardInterrupt
        asked.append("interrupted")
        say("Finishing what is in flight; press ctrl-c again to leave at once.")

    async def follow() -> None:
        async for event in lab.events(
            specification, provenance=provenance, stop=lambda: asked[0] if asked else None, run_id=run_id, resume=resume
        ):
            if isinstance(event, RunStarted):
                started.append(event.run_id)
            elif isinstance(event, RunFinished):
                last.append(event)
            shown.show(event)

    previous = [signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        asyncio.run(follow())
    except RagtuiError as error:
        if not started or not last:
            raise
        failures.append(error)
    except KeyboardInterrupt:
        raise Interrupted("Left at once; every case that was reported is kept.", _resume_hint(started)) from None
    finally:
        shown.close()
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), previous, strict=True):
            signal.signal(number, handler)
    if failures:
        failures[0].hint = f"{failures[0].hint}  Then: ragtui resume {started[0]}".strip()
        raise failures[0]
    recorded = lab.recorded(started[0])
    if last[0].status in ("interrupted", "cancelled"):
        emit(recorded, False, as_json)
        raise Interrupted(
            f"Run {recorded.run_id} was {last[0].status} after {len(recorded.traces)} of {len(recorded.cases)} cases.",
            _resume_hint(started),
        )
    return recorded


def _resume_hint(started: list[str]) -> str:
    return f"Continue with: ragtui resume {started[0]}" if started else "Start it again with `ragtui run`."


def report(recorded: RecordedRun, floors: dict[str, float], verbose: bool, as_json: bool) -> int:
    """Print the results and give the exit code: 0, 1 below a floor, 7 where cases failed."""
    from ragtui.analysis.summary import counts, summary

    emit(recorded, verbose, as_json)
    tally = counts(recorded.cases, recorded.trace_of)
    estimates = summary(recorded).overall
    code = EXIT_OK
    for name, least in floors.items():
        if name not in estimates:
            raise InvalidInput(f"--min {name}: the run does not report it.", f"It reports {', '.join(estimates)}.")
        value = estimates[name].value
        if value is None or value < least:
            say(f"FAIL  {name} is {'unscored' if value is None else f'{value:.4f}'}, below {least:g}.")
            code = EXIT_GATE_FAILED
    if tally.errors:
        failed = RunFailed(f"{tally.errors} of {tally.cases} cases failed.", f"ragtui show {recorded.run_id} --errors")
        say(f"ragtui: {failed.message}\n  {failed.hint}")
        code = max(code, failed.exit_code)
    return code


def emit(recorded: RecordedRun, verbose: bool, as_json: bool) -> None:
    """The results on stdout, as JSON or as tables."""
    if as_json:
        from ragtui.reports.records import run_record

        print_json(run_record(recorded))
    else:
        from ragtui.cli.render import run_report

        console().print(run_report(recorded, None if verbose else 5))


def parse_floors(texts: list[str]) -> dict[str, float]:
    """`nDCG@10=0.6` as canonical measure name and least value."""
    from ragtui.metrics.measure import parse_measure

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
        floors[str(parse_measure(name))] = least
    return floors
