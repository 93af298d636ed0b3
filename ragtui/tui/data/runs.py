"""What the screens want to know of recorded runs."""

from __future__ import annotations

from ragtui.lab import Lab
from ragtui.store.rows import RunRow


def last_run(lab: Lab) -> RunRow | None:
    """The newest run of the working store, else of the reference store; None where there is none."""
    for store in (lab.store, lab.reference):
        if store is not None and (rows := store.runs(limit=1)):
            return rows[0]
    return None
