"""Executing a specification on behalf of a terminal: live display, ctrl-c, partial results."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from ragtui.cli.output import Display, resolve_display, say
from ragtui.errors import Interrupted, RagtuiError, RunFailed
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.plan import Provenance
    from ragtui.experiment.specification import Specification
    from ragtui.lab import Lab, Spending


def execute(
    lab: Lab, specification: Specification, provenance: Provenance, display: Display, as_json: bool,
    run_id: str | None = None, resume: bool = False, only_errors: bool = False, spending: Spending | None = None,
    whole: bool = True,
) -> RecordedRun:  # fmt: skip
    """Run to the end with a live display; the first ctrl-c finishes what is in flight, the second leaves at once.

    Gives the run as it is in the store, in outline unless `whole`.
    """
    from ragtui.cli.display import live_display
    from ragtui.events import RunFinished, RunStarted, RunStatus
    from ragtui.lab import Spending

    shown = live_display("none" if as_json and display == "auto" else resolve_display(display))
    asked: list[RunStatus] = []
    started: list[str] = []
    failures: list[RagtuiError] = []
    last: list[RunFinished] = []

    def interrupt(*_: Any) -> None:
        if asked:
            # At once means without waiting for threads: what was reported is on disk, the rest is not lost but undone.
            shown.close()
            say(f"Left at once; every case that was reported is kept.\n  {_resume_hint(started)}")
            os._exit(Interrupted.exit_code)
        asked.append("interrupted")
        say("Finishing what is in flight; press ctrl-c again to leave at once.")

    async def follow() -> None:
        async for event in lab.events(
            specification,
            provenance=provenance,
            stop=lambda: asked[0] if asked else None,
            run_id=run_id,
            resume=resume,
            only_errors=only_errors,
            spending=spending or Spending(),
        ):
            if isinstance(event, RunStarted):
                started.append(event.run_id)
            elif isinstance(event, RunFinished):
                last.append(event)
            shown.show(event)

    previous = [signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        # A retriever of one's own may print; results alone go to stdout.
        with redirect_stdout(sys.stderr):
            asyncio.run(follow())
    except RagtuiError as error:
        if not started or not last:
            raise
        failures.append(error)
    finally:
        shown.close()
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), previous, strict=True):
            signal.signal(number, handler)
    if failures:
        failures[0].hint = f"{failures[0].hint}  Then: ragtui resume {started[0]}".strip()
        raise failures[0]
    recorded = lab.recorded(started[0]) if whole else lab.outlined(started[0])
    if last[0].status in ("interrupted", "cancelled"):
        limited = last[0].status == "interrupted" and not asked
        raise _partial(recorded, last[0].reason, as_json, RunFailed if limited else Interrupted)
    return recorded


def _partial(recorded: RecordedRun, reason: str, as_json: bool, kind: type[RagtuiError]) -> RagtuiError:
    """The error, after printing what there is; as JSON it travels with the error, so that one object is told.

    `kind` is Interrupted where the user stopped the run, RunFailed where a limit of calls or cost did.
    """
    done = f"{len(recorded.traces)} of {plural(len(recorded.cases), 'case')}"
    error = kind(
        f"Run {recorded.run_id} was {recorded.status} after {done}" + (f": {reason}" if reason else "."),
        _resume_hint([recorded.run_id]),
    )
    if as_json:
        from ragtui.reports.records import run_record

        error.result = run_record(recorded)
    else:
        from ragtui.cli.output import console
        from ragtui.cli.render import run_report

        console().print(run_report(recorded), crop=False)
    return error


def _resume_hint(started: list[str]) -> str:
    return f"Continue with: ragtui resume {started[0]}" if started else "Start it again with `ragtui run`."
