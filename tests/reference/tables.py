"""The README's tables, printed from the reference store.

python -m tests.reference.tables
"""

from __future__ import annotations

from itertools import combinations

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.stored import recorded_run
from ragtui.analysis.summary import summary
from ragtui.store.store import Store
from tests.reference.record import REFERENCE

PRESETS = ("bm25", "vector", "hybrid")
MEASURES = ("R@1", "R@5", "RR", "AP", "nDCG@10")


def reference_runs() -> dict[str, RecordedRun]:
    """Preset → its recorded run."""
    store = Store(REFERENCE, read_only=True)
    return {row.name: recorded_run(store, row.run_id) for row in store.runs()}


def tables(runs: dict[str, RecordedRun]) -> str:
    """Measures by preset with intervals, then R@5 / nDCG@10 by tag, as Markdown."""
    summaries = {name: summary(runs[name]) for name in PRESETS}
    lines = [
        f"| core, {len(runs['hybrid'].cases)} questions | {' | '.join(PRESETS)} |",
        "|---|" + "---|" * len(PRESETS),
    ]
    for measure in MEASURES:
        cells = []
        for name in PRESETS:
            estimate = summaries[name].overall[measure]
            cells.append(f"{estimate.value:.3f} ({estimate.low:.3f} … {estimate.high:.3f})")
        lines.append(f"| {measure} | {' | '.join(cells)} |")
    lines += ["", f"| R@5 / nDCG@10 | n | {' | '.join(PRESETS)} |", "|---|--:|" + "---|" * len(PRESETS)]
    for tag, row in summaries["hybrid"].by_tag.items():
        if not row["R@5"].n:
            continue
        cells = [
            " / ".join(f"{summaries[name].by_tag[tag][measure].value:.3f}" for measure in ("R@5", "nDCG@10"))
            for name in PRESETS
        ]
        lines.append(f"| {tag} | {row['R@5'].n} | {' | '.join(cells)} |")
    return "\n".join(lines)


def gaps(runs: dict[str, RecordedRun]) -> str:
    """How far apart the presets are, pair by pair, as Markdown; Success@1 is the share answered at rank 1."""
    means = {name: _means(runs[name]) for name in PRESETS}
    names = [*MEASURES, "Success@1"]
    lines = [f"| difference | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for left, right in combinations(PRESETS, 2):
        cells = [f"{means[right][name] - means[left][name]:+.4f}" for name in names]
        lines.append(f"| {right} − {left} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _means(run: RecordedRun) -> dict[str, float]:
    overall = summary(run).overall
    found = {name: value for name in MEASURES if (value := overall[name].value) is not None}
    first = [trace.scores["RR"] == 1 for trace in run.traces if trace.scores["RR"] is not None]
    return found | {"Success@1": sum(first) / len(first)}


def shares(runs: dict[str, RecordedRun]) -> str:
    """How many questions all three presets answer at rank 1, and how many none finds in five."""
    first = everywhere_missed = answerable = 0
    for case in runs["hybrid"].cases:
        scores = [runs[name].trace_of[case.id].scores for name in PRESETS]
        if scores[0]["RR"] is None:
            continue
        answerable += 1
        first += all(row["RR"] == 1 for row in scores)
        everywhere_missed += all(row["Success@5"] == 0 for row in scores)
    return (
        f"Of {answerable} answerable questions all three presets answer {first / answerable:.1%} at rank 1; "
        f"{everywhere_missed / answerable:.1%} are in nobody's first five."
    )


if __name__ == "__main__":
    found = reference_runs()
    print(tables(found))
    print(f"\n{gaps(found)}\n\n{shares(found)}")
