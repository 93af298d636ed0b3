"""Lists of runs, errors and score separation, as rows and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group

from ragtui.cli.render import number, safe, status_words, table
from ragtui.ids import short

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab
    from ragtui.metrics.separation import Separation

_COLUMNS = ("nDCG@10", "R@5", "RR")


def listed_runs(lab: Lab, limit: int) -> list[dict[str, Any]]:
    """Live runs from their journals, then the working store's, then the reference store's; newest first within each."""
    from ragtui.store.live import live_runs

    rows = [
        {
            "run_id": run.run_id, "spec_id": run.spec_id, "name": run.name, "note": run.note, "status": "running",
            "started_at": run.started_at, "cases": run.cases, "finished": run.finished, "measures": {}, "store": "live",
        }
        for run in live_runs(lab.workspace.journals)
    ]  # fmt: skip
    seen = {row["run_id"] for row in rows}
    for label, store in (("working", lab.store), ("reference", lab.reference)):
        for row in store.runs(limit=limit) if store is not None else []:
            if row.run_id not in seen:
                seen.add(row.run_id)
                rows.append(
                    {
                        "run_id": row.run_id, "spec_id": row.spec_id, "name": row.name, "note": row.note,
                        "status": row.status, "started_at": row.started_at, "elapsed_s": row.elapsed_s,
                        "cases": row.cases, "finished": row.finished, "scored": row.scored,
                        "unscored": row.unscored, "errors": row.errors,
                        "suites": list(row.suites), "tier": row.tier, "measures": row.measures, "store": label,
                    }
                )  # fmt: skip
    return rows[:limit]


def runs_table(rows: Sequence[dict[str, Any]], width: int) -> Table:
    """A row a run; where there is room, its errors and specification too.

    Where runs of the generation tier are among them, how right answers are comes first; in a narrow list of both
    tiers that needs the room of the time.
    """
    roomy = width >= 120
    answers = [row.get("tier") == "generation" for row in rows]
    answered = ("correctness",) if any(answers) else ()
    columns = (*answered, *_COLUMNS)[: len(_COLUMNS)]
    both = bool(answered) and not all(answers)
    shown = columns if roomy else columns[:2] if width >= 100 or both else columns[:1]
    extra = ("errors", "spec") if roomy else ()
    made = table(
        "run", "status", "name", "started", "cases", *shown, *extra,
        right=("cases", "errors", *shown), flexible=("name",), optional=("started",) if both else (),
    )  # fmt: skip
    for row in rows:
        values = [number(_measure(row["measures"], name)) for name in shown]
        tail = (str(row.get("errors", "")), short(row["spec_id"], 8)) if roomy else ()
        made.add_row(
            row["run_id"],
            status_words(row["status"], row.get("errors", 0), brief=True),
            safe(row["name"], 40),
            row["started_at"][5:16].replace("T", " "),
            _cases(row),
            *values,
            *tail,
        )
    return made


def _cases(row: dict[str, Any]) -> str:
    """`600`, or `96/600` while some have no result."""
    done = row["finished"]
    return str(row["cases"]) if done == row["cases"] else f"{done}/{row['cases']}"


def _measure(measures: dict[str, float | None], name: str) -> float | None:
    """The measure of this name, whatever its relevance threshold."""
    return next((value for key, value in measures.items() if key.split("(")[0] == name), None)


def errors(run: RecordedRun) -> list[dict[str, str]]:
    """Each failed case with its reason."""
    return [
        {"case": trace.case, "kind": trace.error.kind, "message": trace.error.message}
        for trace in run.traces
        if trace.error is not None
    ]


def errors_table(run: RecordedRun) -> Table:
    """A row a failed case."""
    made = table("case", "kind", "reason", wrapping=("reason",))
    for row in errors(run):
        made.add_row(safe(row["case"], 40), row["kind"], safe(row["message"]))
    return made


def separation_report(rows: Sequence[Separation]) -> RenderableType:
    """A row a score axis: medians, the area under the curve, the cut that separates best and what it keeps.

    Below, the setting that each axis calibrates.
    """
    right = ("relevant", "other", "refusal", "AUC", "cut at", "keeps", "and other")
    made = table("score", *right, right=right, flexible=("score",))
    for row in rows:
        made.add_row(
            safe(row.name), number(row.relevant.p50), number(row.irrelevant.p50), number(row.refusals.p50),
            number(row.auc), number(row.threshold, 4), number(row.kept_relevant, 2), number(row.kept_irrelevant, 2),
        )  # fmt: skip
    settings = [safe(f"{row.name} calibrates {row.setting}") for row in rows]
    return Group(made, *settings)
