"""Importing a large BEIR collection: documents a second, and the most memory that it takes.

    python -m tests.benchmarks.imports [documents]

The folder is written first (not measured); the import runs in a process of its own.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUERIES = 5_000
WORDS = 60


def main() -> None:
    documents = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory(prefix="ragtui-bench-") as name:
        folder = Path(name)
        size = write_collection(folder / "in", documents)
        started = time.perf_counter()
        command = [sys.executable, "-m", "ragtui", "import", "beir", str(folder / "in"), "--into", str(folder / "out")]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    rate = documents / seconds
    print(f"{documents:,} documents ({size / 1e6:,.0f} MB): {seconds:.1f} s, {rate:,.0f}/s, {peak:.0f} MiB")


def write_collection(folder: Path, documents: int) -> int:
    """A collection of random words; gives the bytes of its corpus."""
    source = random.Random(7)
    vocabulary = [f"word{number}" for number in range(20_000)]
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as file:
        for number in range(documents):
            text = " ".join(source.choices(vocabulary, k=WORDS))
            file.write(json.dumps({"_id": f"document-{number:09d}", "title": f"Title {number}", "text": text}) + "\n")
    with (folder / "queries.jsonl").open("w") as file:
        for number in range(QUERIES):
            file.write(json.dumps({"_id": f"q{number}", "text": " ".join(source.choices(vocabulary, k=8))}) + "\n")
    with (folder / "qrels" / "test.tsv").open("w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for number in range(QUERIES):
            for doc in source.sample(range(documents), 20):
                file.write(f"q{number}\tdocument-{doc:09d}\t{source.randint(0, 3)}\n")
    return (folder / "corpus.jsonl").stat().st_size


if __name__ == "__main__":
    main()
