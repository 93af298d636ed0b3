"""What can be deleted without losing anything that is still needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ragtui.store.live import journaled_runs

if TYPE_CHECKING:
    from ragtui.experiment.specification import Specification
    from ragtui.lab import Lab


class Prunable(msgspec.Struct, frozen=True):
    """One thing to delete: a run of the working store or a folder, and about how many bytes that frees."""

    what: str
    size: int
    run_id: str | None = None
    folder: Path | None = None


def plan_pruning(lab: Lab, keep: int) -> list[Prunable]:
    """Runs beyond the newest `keep` that are no baseline; artifacts that no kept run names; half-built folders.

    A run whose journal is there is kept: it is going on, be it for the first time or resumed.
    """
    under_way = journaled_runs(lab.workspace.journals)
    rows = lab.store.runs()
    spared = {baseline.run_id for baseline in lab.store.baselines()} | {started.run_id for started in under_way}
    kept = [row for position, row in enumerate(rows) if position < keep or row.run_id in spared]
    dropped = [row for row in rows if row not in kept]
    found = [
        Prunable(
            f"run {row.run_id} ({row.name or 'unnamed'}, {row.started_at[:10]})",
            lab.store.estimate_freed([row.run_id]),
            run_id=row.run_id,
        )
        for row in dropped
    ]
    specifications = [lab.store.run(row.run_id).specification for row in kept]
    specifications += [started.specification for started in under_way]
    needed = {artifact for specification in specifications for artifact in _artifacts_of(specification)}
    for stored in lab.cache.stored():
        if stored.record is None or (dropped and stored.record.id not in needed):
            name = f"artifact {stored.folder.name}" + (" (damaged)" if stored.damage else "")
            found.append(Prunable(name, _size(stored.folder), folder=stored.folder))
    found += [Prunable(f"half-built {path.name}", _size(path), folder=path) for path in lab.cache.abandoned()]
    return found


def _artifacts_of(specification: Specification) -> list[str]:
    ids = (specification.chunk_set_id, specification.bm25_id, specification.embedding_set_id)
    return [artifact for artifact in ids if artifact is not None]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
