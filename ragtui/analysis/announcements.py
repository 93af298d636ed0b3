"""What a comparison announces beside its numbers: unfinished runs, cases that are not shared, other modes, repeats."""

from __future__ import annotations

from collections.abc import Sequence

from ragtui.analysis.comparability import Pairing
from ragtui.analysis.flips import Unstable
from ragtui.analysis.modes import headline_mode
from ragtui.analysis.recorded import RecordedRun
from ragtui.experiment.generation import Mode
from ragtui.inputs.text import plural, printable


def notes_of(
    runs: tuple[RecordedRun, RecordedRun], pairing: Pairing, unreported: Sequence[str], identical: bool
) -> list[str]:
    """What is announced of the whole runs."""
    base, new = runs
    notes = []
    if base.run_id == new.run_id:
        notes.append("A run is compared with itself.")
    for run in runs:
        missing = sum(case.id not in run.trace_of for case in run.cases)
        if run.status != "completed":
            done = len(run.cases) - missing
            notes.append(f"{run.run_id} is {run.status}: {done} of {plural(len(run.cases), 'case')} finished.")
    if not pairing.equal:
        shared = plural(len(pairing.shared), "case is", "cases are")
        notes.append(
            f"{shared} shared; {len(pairing.only_base)} are only in {base.run_id}"
            f"{_some(pairing.only_base)}, {len(pairing.only_new)} only in {new.run_id}{_some(pairing.only_new)}."
        )
    if unreported:
        notes.append(f"Computed from the traces, because a run does not report it: {', '.join(unreported)}.")
    if identical and base.run_id != new.run_id:
        alike = "rankings" if new.tier == "retrieval" else "rankings and answers"
        notes.append(f"The {alike} are identical.")
    return notes


def answer_notes(runs: tuple[RecordedRun, RecordedRun], mode: Mode | None, unstable: Sequence[Unstable]) -> list[str]:
    """What modes and repeats say that no measure does. The runs are whole."""
    notes = []
    if mode is not None and any(headline_mode(run) != mode for run in runs):
        notes.append(f"Compared in the mode {mode}, which both runs have.")
    if unstable:
        count = "1 question is" if len(unstable) == 1 else f"{len(unstable)} questions are"
        notes.append(f"{count} answered rightly in some repeats and wrongly in others: unstable, and no flip.")
    recipes = [run.specification.plan.generation for run in runs]
    once = [run.run_id for run, recipe in zip(runs, recipes, strict=True) if recipe and recipe.repeats == 1]
    if len(once) == 1 and all(recipe is not None for recipe in recipes):
        notes.append(f"{once[0]} asked each question once, so unstableRate cannot be compared and does not gate.")
    return notes


def _some(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", and {len(names) - 5} more" if len(names) > 5 else ""
    return f" ({printable(', '.join(names[:5]))}{more})"
