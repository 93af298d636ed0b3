"""Record the reference store anew: one run of each preset over the bundled handbook.

    python -m tests.reference.record

Only when numbers are meant to change: the file is committed, and the tests compare fresh runs with it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import ragtui
from ragtui.experiment.presets import PRESETS
from ragtui.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "runs.duckdb"


def main() -> None:
    """Run the presets in a scratch store, copy the runs into a new reference file, and promote one of them."""
    with tempfile.TemporaryDirectory() as folder:
        lab = ragtui.open(
            ROOT,
            execution="allow_runs",
            query_embedder=ragtui.BuiltinEmbedder(),
            store=Path(folder) / "runs.duckdb",
        )
        fresh = Store(Path(folder) / "reference.duckdb")
        recorded = {}
        for name in PRESETS:
            run = lab.run(lab.bind(ragtui.preset(name)), provenance=ragtui.Provenance(name=name, note="reference"))
            lab.store.copy_run(run.run_id, fresh)
            print(f"{name:16} {run.run_id}  {len(run.traces)} cases")
            recorded[name] = run.run_id
        REFERENCE.write_bytes(fresh.path.read_bytes())
        _, written = lab.promote(recorded["hybrid"], "main", "the preset that the README runs", to_reference=True)
        print(f"baseline: {written.name if written else '-'}")
    print(f"{REFERENCE.name}: {REFERENCE.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
