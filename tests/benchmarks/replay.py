"""A what-if replay against a fresh run of the same plan.

    python -m tests.benchmarks.replay [WORKSPACE] [--set chunking.strategy=document] [--cases 1000] [--repeats 5]

A workspace is a folder with `corpus/` and `goldens/`; without one, the folder of this repository. The hybrid preset is
run once; its recorded cases are repeated under new ids up to `--cases`, and replayed with another weight and collapse.
The fresh run has warm artifacts and keeps nothing; its time is scaled to as many cases. The replay starts from the
recorded value each time; `again` keeps the columns, as a slider does. Best of the repeats.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.recording import Recording
from ragtui.analysis.replay import Replay, replay
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from tests.benchmarks.recorded_runs import Workspace

CHANGES = ["retrieval.fusion.weights.vector=2", "retrieval.fusion.rank_constant=20", "retrieval.collapse=document"]


def repeated(run: RecordedRun, count: int) -> RecordedRun:
    """The run with its cases repeated under new ids until there are so many."""
    finished = [(case, run.trace_of[case.id]) for case in run.cases]
    cases, traces = [], []
    for index, (case, trace) in enumerate(itertools.islice(itertools.cycle(finished), count)):
        name = f"{case.id}~{index}"
        cases.append(msgspec.structs.replace(case, id=name))
        traces.append(msgspec.structs.replace(trace, case=name, index=index))
    return msgspec.structs.replace(run, cases=tuple(cases), traces=tuple(traces))


def best(action: Callable[[], Replay], repeats: int) -> float:
    """Seconds of the fastest of the repeats."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> None:
    """Print milliseconds and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    plan = edit(preset("hybrid"), options.settings)
    changed = edit(plan, CHANGES)
    with tempfile.TemporaryDirectory() as cache:
        workspace = Workspace.of(options.workspace, Path(cache))
        run = workspace.run(plan)
        fresh = min(workspace.run(changed).elapsed_s for _ in range(options.repeats))
        agree = replay(run, changed).recorded().traces == tuple(
            msgspec.structs.replace(trace, timings=recorded.timings)
            for trace, recorded in zip(workspace.run(changed).traces, run.traces, strict=True)
        )
    many = repeated(run, options.cases)
    scale = options.cases / len(run.cases)
    # Runs are read with these at hand: every screen and report needs them.
    _ = many.trace_of, many.columns, many.documents
    recording = Recording(many)
    whole = best(lambda: replay(many, changed), options.repeats)
    again = best(lambda: replay(recording, changed), options.repeats)
    hits = sum(len(hits.chunks) for trace in many.traces for hits in trace.channels.values())
    channels = len(many.traces[0].channels)
    print(f"{options.cases} cases, {channels} channels, {hits} hits; equal to a fresh run: {agree}")
    print(f"fresh run    {1000 * fresh * scale:8.1f} ms")
    print(f"replay       {1000 * whole:8.1f} ms   1/{fresh * scale / whole:.1f} of a fresh run")
    print(f"again        {1000 * again:8.1f} ms   1/{fresh * scale / again:.1f} of a fresh run")


if __name__ == "__main__":
    main()
