"""An ablation and a sweep of the bundled handbook, and of SciFact where it is at hand, as Markdown.

python -m tests.benchmarks.trials
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ragtui.analysis.contrast import MeasureChange
from ragtui.analysis.points import grid, holdout
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.sweep import ablations, best_of, earnings
from ragtui.experiment.editing import edit
from ragtui.experiment.plan import Plan
from ragtui.experiment.presets import preset
from tests.benchmarks.public_collections import datasets_folder, scifact
from tests.benchmarks.recorded_runs import Workspace

ROOT = Path(__file__).resolve().parents[2]
MEASURE = "nDCG@10"
SWEEP = ("rank_constant=5,20,60", "weights.bm25=1,2,4")

Run = Callable[[Plan], RecordedRun]


def main() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        trials("The handbook", Workspace.of(ROOT, Path(folder) / "handbook").run, [])
        datasets = datasets_folder()
        if datasets is not None:
            public = Workspace(*scifact(datasets / "scifact"), Path(folder) / "scifact")
            trials("SciFact", public.run, ["chunking.strategy=document"])


def trials(name: str, run: Run, settings: list[str]) -> None:
    """One ablation of `hybrid-weighted` and one sweep of `hybrid`, half of the questions held out."""
    whole_plan = edit(preset("hybrid-weighted"), settings)
    whole = run(whole_plan)
    without = {part.name: run(part.plan) for part in ablations(whole_plan)}
    print(f"### {name}: what each stage of hybrid-weighted earns, by {MEASURE}\n")
    print("| stage | without | with | earns | 95 % interval | p adj. |\n|---|--:|--:|--:|---|--:|")
    for earning in earnings(whole, without):
        print(f"| {earning.name} | {_change(earning.measures[MEASURE])} |")
    present_plan = edit(preset("hybrid"), settings)
    present = run(present_plan)
    points = {
        ", ".join(point): run(edit(present_plan, [f"retrieval.fusion.{setting}" for setting in point]))
        for point in grid(SWEEP)
    }
    found = best_of(present, points, MEASURE, report_on=holdout(present.cases, 0.5)[1])
    print(f"\n### {name}: a sweep of hybrid, chosen on one half of the questions\n")
    print("| point | hybrid | point | change | 95 % interval | p adj. |\n|---|--:|--:|--:|---|--:|")
    for row in found.points:
        mark = "**" if row.name == found.best else ""
        if row.change is not None:
            print(f"| {mark}{row.name}{mark} | {_change(row.change)} |")
    print("\n" + "\n".join(found.notes) + "\n")


def _change(row: MeasureChange) -> str:
    values = f"{row.base:.3f} | {row.new:.3f} | {row.delta:+.3f}" if row.delta is not None else "– | – | –"
    return f"{values} | {row.low:+.3f} … {row.high:+.3f} | {row.p_adjusted or 0:.3f}"


if __name__ == "__main__":
    main()
