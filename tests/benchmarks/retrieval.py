"""What ragtui adds to the libraries it stands on, as ratios within one run.

    python -m tests.benchmarks.retrieval [--cases 20000]

Over SciFact (one chunk a document) where it is at hand: a hybrid run to its journal beside a bare loop over the same
library calls that records nothing; building artifacts beside the bare calls; loading the store. Then the command line:
seconds of a warm `ragtui run` over the bundled corpus, process start to exit, and the peak memory of a run of many
cases and of the commands that look at it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tantivy
from usearch.index import MetricKind, search

from ragtui.artifacts.bm25 import Bm25Index, bm25_index, write_index
from ragtui.artifacts.cache import ArtifactCache
from ragtui.artifacts.chunking import chunk_set
from ragtui.artifacts.recipes import Lexical
from ragtui.artifacts.vectors import embedding_set
from ragtui.engine import Attempt, Dependencies, run_experiment
from ragtui.experiment.editing import edit
from ragtui.experiment.presets import preset
from ragtui.experiment.specification import Specification, bind
from ragtui.ids import new_run_id
from ragtui.inputs.corpus import CorpusSnapshot
from ragtui.inputs.evaluation import EvaluationSet
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.store.journal import JournalWriter, journal_path
from ragtui.store.store import Store
from tests.benchmarks.public_collections import datasets_folder, scifact

_ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 7
DEPTH = 100
LEXICAL = Lexical(bigrams="off")


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    cases = parser.parse_args().cases
    folder = datasets_folder()
    with tempfile.TemporaryDirectory() as place:
        if folder is None:
            print("The public collections are not here; set RAGTUI_DATASETS to their folder.")
        else:
            corpus, evaluation = scifact(folder / "scifact")
            building(corpus, Path(place))
            running(corpus, evaluation, Path(place))
            loading(corpus, evaluation, Path(place) / "short")
            loading(*scifact(folder / "scifact", ("test", "train")), Path(place) / "long")
        starting(Path(place))
        remembering(Path(place), cases)


def building(corpus: CorpusSnapshot, place: Path) -> None:
    """Artifacts through the cache beside the bare calls."""
    plan = edit(preset("hybrid"), ["chunking.strategy=document"])
    embedder = BuiltinEmbedder()
    embedder.embed(["warm"], "query")
    ratios = []
    for number in range(3):
        texts = [item.text for item in corpus.documents]

        def bare(number: int = number, texts: list[str] = texts) -> None:
            target = place / f"bare-{number}"
            target.mkdir()
            write_index(target, texts, LEXICAL)
            np.save(place / f"bare-{number}.npy", embedder.embed(texts, "document"))

        def ours(number: int = number) -> None:
            cache = ArtifactCache(place / f"cache-{number}")
            chunks = chunk_set(corpus, plan.chunking, cache)
            bm25_index(chunks, LEXICAL, cache)
            embedding_set(chunks, embedder, cache)

        ratios.append((timed(ours), timed(bare)))
    report("building artifacts / bare calls", ratios)


def running(corpus: CorpusSnapshot, evaluation: EvaluationSet, place: Path) -> None:
    """A hybrid run to its journal beside a bare loop."""
    plan = edit(preset("hybrid"), ["chunking.strategy=document"])
    cache = ArtifactCache(place / "cache-0")
    embedder = BuiltinEmbedder()
    specification = bind(plan, corpus, evaluation, embedder.identity)
    chunks = chunk_set(corpus, plan.chunking, cache)
    index = bm25_index(chunks, LEXICAL, cache)
    vectors = np.load(cache.folder("vectors", specification.embedding_set_id or "") / "vectors.npy", mmap_mode="r")
    folder = cache.folder("bm25", specification.bm25_id or "")
    queries = [case.query for case in evaluation.cases]
    journals = place / "journal"

    def ours() -> None:
        recorded(specification, corpus, evaluation, cache, embedder, journals)

    ratios = [(timed(ours), timed(lambda: bare_loop(queries, index, folder, vectors, embedder))) for _ in range(ROUNDS)]
    report(f"hybrid run to its journal / bare loop ({len(queries)} questions)", ratios)


def loading(corpus: CorpusSnapshot, evaluation: EvaluationSet, place: Path) -> None:
    """The journals of hybrid runs into one store; the first makes it, and brings all texts."""
    embedder = BuiltinEmbedder()
    cache = ArtifactCache(place.parent / "cache-0")
    specification = bind(edit(preset("hybrid"), ["chunking.strategy=document"]), corpus, evaluation, embedder.identity)
    count, seconds = len(evaluation.cases), []
    for _ in range(ROUNDS + 1):
        journal = recorded(specification, corpus, evaluation, cache, embedder, place / "journal")
        store = Store(place / "runs.duckdb")
        seconds.append(timed(lambda store=store, journal=journal: store.load_journal(journal)))  # type: ignore[misc]
    first, rest = seconds[0], statistics.median(seconds[1:])
    print(
        f"loading a run of {count} cases: {rest * 1000:.0f} ms, {rest * 1000 / count:.3f} s per 1,000 cases "
        f"(median of {ROUNDS}; the first, which makes the store and brings all texts: {first * 1000:.0f} ms)"
    )


def recorded(
    specification: Specification,
    corpus: CorpusSnapshot,
    evaluation: EvaluationSet,
    cache: ArtifactCache,
    embedder: BuiltinEmbedder,
    journals: Path,
) -> Path:
    """The journal of a run of the specification."""
    run_id = new_run_id()

    async def drain() -> None:
        with JournalWriter.open(journals, run_id) as journal:
            needed = Dependencies(corpus=corpus, evaluation=evaluation, cache=cache, journal=journal, embedder=embedder)
            async for _ in run_experiment(specification, needed, Attempt(run_id=run_id)):
                pass

    asyncio.run(drain())
    return journal_path(journals, run_id)


def bare_loop(
    queries: list[str], index: Bm25Index, folder: Path, vectors: np.ndarray, embedder: BuiltinEmbedder
) -> None:
    """Embed, search both ways, and look up ordinals: nothing fused, scored or kept."""
    opened = tantivy.Index.open(str(folder))
    opened.register_tokenizer("ragtui", index.analyzer)
    searcher, schema = opened.searcher(), opened.schema
    embedded = embedder.embed(queries, "query")
    for row, text in enumerate(queries):
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term, "freq"))
            for term in index.analyzer.analyze(text)
        ]
        hits = searcher.search(tantivy.Query.boolean_query(terms), DEPTH, count=False).hits
        searcher.fast_field_values("ord", [address for _, address in hits])
        search(vectors, embedded[row : row + 1], DEPTH, MetricKind.IP, exact=True)


def starting(place: Path) -> None:
    """A run over the bundled corpus with warm artifacts, from process start to exit."""
    workspace = place / "bundled"
    for part in ("corpus", "goldens"):
        shutil.copytree(_ROOT / part, workspace / part)
    command(workspace, "run", "hybrid")
    seconds = [command(workspace, "run", "hybrid")[0] for _ in range(ROUNDS)]
    print(f"ragtui run hybrid, bundled corpus, warm: {statistics.median(seconds):.2f} s (median of {ROUNDS})")


def remembering(place: Path, count: int) -> None:
    """Peak memory of a run of many cases over a small corpus, and of looking at it."""
    workspace = place / "many"
    source = random.Random(1)
    words = [
        f"{stem}{ending}" for stem in ("boil", "pump", "sledge", "radio", "fuel") for ending in ("", "s", "er", "ing")
    ]
    (workspace / "corpus").mkdir(parents=True)
    (workspace / "goldens").mkdir()
    for number in range(300):
        text = f"# Document {number}\n\n{' '.join(source.choices(words, k=120))}\n"
        (workspace / "corpus" / f"d{number:03}.md").write_text(text)
    with (workspace / "goldens" / "core.jsonl").open("w") as file:
        for number in range(count):
            golden = {
                "id": f"g{number:05}", "query": " ".join(source.choices(words, k=8)), "tags": [f"t{number % 10}"],
                "relevantDocIds": [f"d{source.randrange(300):03}"],
            }  # fmt: skip
            file.write(json.dumps(golden) + "\n")
    for arguments in (("run", "hybrid"), ("show",), ("runs",), ("trace", "latest", "g00001"), ("verify",)):
        seconds, memory = command(workspace, *arguments)
        print(f"ragtui {' '.join(arguments)}, {count} cases: {seconds:.1f} s, peak {memory:.0f} MB")


# A process's peak memory begins with that of the one that forked it, so a small one stands between.
_LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024)
"""


def command(workspace: Path, *arguments: str) -> tuple[float, float]:
    """Seconds and MB of peak memory of a command in a process of its own; it must succeed."""
    called = [sys.executable, "-c", _LAUNCHER, sys.executable, "-m", "ragtui", *arguments]
    started = time.perf_counter()
    variables = os.environ | {"PYTHONPATH": str(_ROOT)}
    # An installed package has its bytecode; here it is written by the first call.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    told = subprocess.run(called, cwd=workspace, env=variables, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    code, memory = told.stdout.split()
    if code != "0":
        raise SystemExit(f"ragtui {' '.join(arguments)} failed in {workspace} with {code}.")
    return seconds, float(memory)


def report(name: str, pairs: list[tuple[float, float]]) -> None:
    """The median ratio and the medians in milliseconds."""
    ratio = statistics.median(ours / bare for ours, bare in pairs)
    ours, bare = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    print(f"{name}: {ratio:.2f}x  ({ours:.0f} ms / {bare:.0f} ms, median of {len(pairs)})")


if __name__ == "__main__":
    main()
