"""`runs`, `show`, `trace`, `verify`, `export`: what happened, from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragtui.cli.context import reading_lab
from ragtui.cli.options import JsonOption, RunArgument, VerboseOption
from ragtui.cli.output import console, print_json, say, tell
from ragtui.errors import EXIT_GATE_FAILED, EXIT_OK, InvalidInput
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.store.store import Store


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("runs")(runs)
    app.command("show")(show)
    app.command("trace")(trace)
    app.command("verify")(verify)
    app.command("export")(export)


def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", help="At most this many, newest first.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List recorded and running runs, newest first.

    Example: ragtui runs --limit 10
    """
    from ragtui.cli.listing import listed_runs, runs_table

    rows = listed_runs(reading_lab(context), limit)
    if as_json:
        print_json({"runs": rows})
    elif not rows:
        say("No run is recorded yet. Start with: ragtui run hybrid")
    else:
        screen = console()
        screen.print(runs_table(rows, screen.width))


def show(
    context: typer.Context,
    run: RunArgument = "latest",
    verbose: VerboseOption = False,
    errors: Annotated[bool, typer.Option("--errors", help="List the cases that failed, with the reason.")] = False,
    separation: Annotated[
        bool, typer.Option("--separation", help="How well each score separates relevant from irrelevant hits.")
    ] = False,
    lost: Annotated[bool, typer.Option("--lost", help="Where the gold was lost: a cause for each miss.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a run: measures with intervals, by tag, and its worst misses.

    Example: ragtui show latest --verbose
    """
    from ragtui.cli import listing
    from ragtui.cli.outcomes import emit

    lab = reading_lab(context)
    recorded = lab.recorded(run) if separation or lost else lab.outlined(run)
    if errors:
        failed = listing.errors(recorded)
        shown = listing.errors_table(recorded) if failed else f"No case of {recorded.run_id} failed."
        _print(shown, as_json, {"errors": failed})
    elif separation:
        from ragtui.analysis.separation import separation_rows

        rows = separation_rows(recorded)
        _print(listing.separation_report(rows), as_json, {"separation": rows})
    elif lost:
        from ragtui.analysis.attribution import attribute, attribution
        from ragtui.cli.diagnosing import lost_report
        from ragtui.lab.chunks import indexed_in

        misses = attribute(recorded, indexed=indexed_in(lab, recorded))
        found = attribution(recorded, misses)
        _print(lost_report(found, misses, None if verbose else 10), as_json, {"lost": found, "misses": misses})
    else:
        emit(recorded, verbose, as_json)


def trace(
    context: typer.Context,
    run: RunArgument,
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case's id, or any unique prefix of it.")],
    depth: Annotated[int, typer.Option("--depth", help="How many hits of each stage are shown.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show what happened to one case, stage by stage.

    Example: ragtui trace latest water-boil-altitude-01
    """
    lab = reading_lab(context)
    store, run_id = lab.resolve(run)
    case_id = _case_named(store, run_id, case)
    recorded = lab.recorded_case(run_id, case_id)
    if as_json:
        from ragtui.reports.generation import outcome_record
        from ragtui.reports.records import trace_record

        outcome = outcome_record(recorded, case_id) if recorded.tier == "generation" else {}
        print_json(trace_record(recorded, case_id) | outcome)
    else:
        from ragtui.cli.tracing import trace_report

        console().print(trace_report(recorded, case_id, depth))


def verify(context: typer.Context, run: RunArgument = "latest", as_json: JsonOption = False) -> None:
    """Recompute every stage and number of a run from its recorded channel hits; exit 1 where one differs.

    Example: ragtui verify latest
    """
    from ragtui.analysis.verify import verify_slices

    lab = reading_lab(context)
    store, run_id = lab.resolve(run)
    cases = [case.id for case in store.cases_of(run_id)]
    checked = verify_slices(run_id, lab.slices(run_id), cases, store.run(run_id).status)
    if as_json:
        print_json(checked)
    else:
        for line in checked.differences[:20]:
            say(line)
        differ = plural(len(checked.differences), "number differs", "numbers differ")
        verdict = "every number agrees" if checked.ok else differ
        counted = f"{plural(checked.cases, 'case')}, {plural(checked.numbers, 'number')}"
        tell(f"{run_id}: {counted} recomputed, {verdict}")
    raise typer.Exit(EXIT_OK if checked.ok else EXIT_GATE_FAILED)


def export(
    context: typer.Context,
    run: RunArgument,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="json, csv, parquet, junit, markdown, html, trec, qrels (its judgments), topics (its questions).",
        ),
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file, or for trec a folder (a name without a suffix). Default: stdout."),
    ] = None,
    escape: Annotated[bool, typer.Option("--escape", help="Percent-encode ids that TREC files cannot carry.")] = False,
) -> None:
    """Write a run for other programs.

    json is the whole run: `compare`, `replay` and `export` read it. A folder of trec (run, qrels, topics) and the csv
    of a retrieval run come back with `import trec` and `import csv`, over the same corpus, as the same evaluation with
    the same measures; only judged spans become judgments of their documents. `score` reads trec and qrels. parquet,
    junit, markdown and html are for other tools: nothing reads them back.

    Example: ragtui export latest --format json -o run.json
    """
    from ragtui.cli.exporting import export_run

    export_run(reading_lab(context), run, form, output, escape)


def _print(table: Any, as_json: bool, record: dict[str, Any]) -> None:
    if as_json:
        print_json(record)
    else:
        console().print(table)


def _case_named(store: Store, run_id: str, text: str) -> str:
    """The id of the finished case that an id or a unique prefix names."""
    done = store.finished_indexes(run_id)
    every = [case.id for case in store.cases_of(run_id)]
    finished = [case for index, case in enumerate(every) if index in done]
    if text in finished:
        return text
    found = [case for case in finished if case.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(f"{text!r} begins {len(found)} cases: {', '.join(found[:5])}.", "Type more of the id.")
    if text in every:
        raise InvalidInput(f"Case {text!r} of run {run_id} never finished.", "Finish the run with `ragtui resume`.")
    import difflib

    near = difflib.get_close_matches(text, finished, n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    raise InvalidInput(f"Run {run_id} has no case {text!r}.{guess}", "`ragtui show RUN --verbose` lists its misses.")
