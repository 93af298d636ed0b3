"""Suite health over the newest runs of this corpus."""

from __future__ import annotations

from ragtui.analysis.health import SuiteHealth, suite_health
from ragtui.lab import Lab

_RUNS = 5


def health(lab: Lab) -> SuiteHealth | None:
    """What up to five newest completed runs over this corpus say of their goldens; None without a run."""
    runs = [run for run in lab.recent(_RUNS) if run.specification.corpus_id == lab.snapshot.corpus_id]
    return suite_health(runs) if runs else None
