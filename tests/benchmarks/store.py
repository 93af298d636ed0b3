"""Loading journals into the store: seconds per 1,000 cases, peak memory, and the size of the file.

    python -m tests.benchmarks.store [--cases 20000] [--depth 100] [--runs 1000]

A case is one golden of a hybrid run: two channels of `--depth` hits, their fusion and the results (about 8 KB at 75).
Loading happens in a process of its own, so its peak memory is not that of making the journal.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ragtui.events import CaseFinished, ChunksSeen
from ragtui.store import Store
from ragtui.store.journal import JournalWriter, journal_path

_ROOT = Path(__file__).resolve().parents[2]
# Run as a script, the folder of the tests is not on the path.
sys.path.insert(0, str(_ROOT))
samples = importlib.import_module("tests.store.samples")

_LOADER = """
import resource, sys, time
from pathlib import Path
from ragtui.store import Store
began = time.perf_counter()
import duckdb
imported = time.perf_counter() - began
Store(Path(sys.argv[1])).load_journal(Path(sys.argv[2]))
print(time.perf_counter() - began, imported, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def make_journal(folder: Path, run_id: str, cases: int, depth: int, chunks: int) -> Path:
    """A journal of a completed run whose chunks hold 600 characters each."""
    with JournalWriter.open(folder, run_id) as writer:
        writer.write([samples.started(run_id, cases)])
        writer.write([ChunksSeen(chunks=[samples.chunk(ordinal, 600) for ordinal in range(chunks)])])
        for start in range(0, cases, 200):
            indexes = range(start, min(start + 200, cases))
            traces = (samples.trace(index, depth, chunks, seed=len(run_id)) for index in indexes)
            writer.write([CaseFinished(attempt=1, at="2026-01-01T00:00:00Z", trace=trace) for trace in traces])
        writer.write([samples.ended()])
    return journal_path(folder, run_id)


def load(store: Path, journal: Path) -> tuple[float, float, float]:
    """Seconds, those of them that import DuckDB, and MB of peak memory, of loading a journal in a fresh process."""
    command = [sys.executable, "-c", _LOADER, str(store), str(journal)]
    words = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout.split()
    return float(words[0]), float(words[1]), float(words[2])


def timed(label: str, call: object, repeats: int = 3) -> None:
    """Print the fastest of a few calls."""
    assert callable(call)
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    print(f"  {label}: {min(seconds) * 1000:.1f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--depth", type=int, default=75)
    parser.add_argument("--runs", type=int, default=1000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference = folder / "reference.duckdb"
        for run_id in ("a", "bb", "ccc"):
            load(reference, make_journal(folder, run_id, 360, 100, 1200))
        grown = reference.stat().st_size
        Store(reference).compact()
        print(f"three runs of 360 cases: {grown / 1e6:.2f} MB, compacted {reference.stat().st_size / 1e6:.2f} MB")

        for cases in (1000, wanted.cases):
            store = folder / f"{cases}.duckdb"
            journal = make_journal(folder, "big", cases, wanted.depth, 2000)
            journal_size = journal.stat().st_size
            seconds, imported, memory = load(store, journal)
            print(
                f"{cases} cases, {journal_size / cases / 1000:.1f} KB each: "
                f"{seconds:.2f} s ({imported:.2f} import DuckDB), "
                f"{seconds / cases * 1000:.3f} s per 1,000, peak {memory:.0f} MB, "
                f"file {store.stat().st_size / 1e6:.1f} MB"
            )
        big = Store(store)
        timed("first page of cases by a measure", lambda: big.case_rows("big", sort="nDCG@10"))
        timed("one trace", lambda: big.trace("big", samples.golden(cases // 2).id))
        timed("all scores", lambda: big.scores("big"))
        timed("all traces", lambda: sum(1 for _ in big.traces("big")), 1)

        many = Store(folder / "many.duckdb")
        began = time.perf_counter()
        for number in range(wanted.runs):
            events = samples.whole_run(f"run{number:05d}", 2, chunks=10)
            many.load_journal(samples.write_journal(folder, f"run{number:05d}", events))
        each = (time.perf_counter() - began) / max(wanted.runs, 1)
        print(f"{wanted.runs} small runs: {each * 1000:.1f} ms to load each, {many.size() / 1e6:.1f} MB")
        timed("list of all runs", many.runs)
        timed("resolve", lambda: many.resolve("latest"))


if __name__ == "__main__":
    main()
