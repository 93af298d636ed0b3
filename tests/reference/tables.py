"""The README's tables, printed from the reference store.

python -m tests.reference.tables
"""

from __future__ import annotations

from itertools import combinations

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.replay import replay
from ragtui.analysis.stored import recorded_run
from ragtui.analysis.summary import summary
from ragtui.store.store import Store
from tests.reference.record import REFERENCE

PRESETS = ("bm25", "vector", "hybrid")
MEASURES = ("R@1", "R@5", "RR", "AP", "nDCG@10")
EARLY_TO_LATE = ("R@1", "Rprec", "R@2", "nDCG@3", "AP", "RR", "nDCG@10", "R@5", "R@20")


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
    """How far apart the presets are, pair by pair, as Markdown: the recorded hits by early and by late measures."""
    lines = [f"| difference | {' | '.join(EARLY_TO_LATE)} |", "|---|" + "--:|" * len(EARLY_TO_LATE)]
    for pair, values in differences(runs).items():
        lines.append(f"| {pair} | {' | '.join(f'{value:+.4f}' for value in values.values())} |")
    return "\n".join(lines)


def differences(runs: dict[str, RecordedRun]) -> dict[str, dict[str, float]]:
    """Pair of presets → measure → difference of the means."""
    means = {name: _means(runs[name]) for name in PRESETS}
    return {
        f"{right} − {left}": {name: means[right][name] - means[left][name] for name in EARLY_TO_LATE}
        for left, right in combinations(PRESETS, 2)
    }


def _means(run: RecordedRun) -> dict[str, float]:
    plan = run.specification.plan
    metrics = msgspec.structs.replace(plan.metrics, measures=EARLY_TO_LATE, primary=EARLY_TO_LATE[0], guards=())
    overall = replay(run, msgspec.structs.replace(plan, metrics=metrics)).summary.overall
    return {name: value for name in EARLY_TO_LATE if (value := overall[name].value) is not None}


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
