"""Suite health over the newest runs of this corpus."""

from __future__ import annotations

from ragtui.analysis.health import SuiteHealth, suite_health
from ragtui.analysis.recorded import RecordedRun
from ragtui.lab import Lab, recorded_run

_RUNS = 5


def health(lab: Lab) -> SuiteHealth | None:
    """What up to five newest completed runs over this corpus say of their goldens; None without a run."""
    corpus_id = lab.snapshot.corpus_id
    found: list[RecordedRun] = []
    specs: set[str] = set()
    for row in lab.store.runs(limit=50):
        if (
            row.corpus_id == corpus_id
            and row.status == "completed"
            and row.tier == "retrieval"
            and row.spec_id not in specs
        ):
            specs.add(row.spec_id)
            found.append(recorded_run(lab.store, row.run_id))
        if len(found) == _RUNS:
            break
    return suite_health(found[::-1]) if found else None
