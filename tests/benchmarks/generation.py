"""Throughput of the generation tier against a scripted HTTP server.

    python -m tests.benchmarks.generation            500 answers of 200 ms, 16 at a time

Prints the time beside the ideal one (answers / places × seconds) and how much memory grew with the number of cases.
"""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from ragtui.events import CaseFinished
from ragtui.experiment.generation import Generation
from ragtui.experiment.plan import Plan, Retrieval
from ragtui.experiment.presets import preset
from ragtui.lab import Lab, Spending, open_lab
from ragtui.providers.chat import ChatGenerator
from ragtui.settings import Profile

CASES, PLACES, SECONDS = 500, 16, 0.2
MOST = 1.15


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: a list of models, or an answer after SECONDS."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
            )
            await reader.readexactly(size)
            if head.startswith(b"GET"):
                body = json.dumps({"data": [{"id": "toy"}]}).encode()
                kind = b"application/json"
            else:
                await asyncio.sleep(SECONDS)
                chunks = [
                    {"choices": [{"delta": {"content": "It holds 24 litres."}, "finish_reason": "stop"}]},
                    {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 6}},
                ]
                body = (
                    b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
                )
                kind = b"text/event-stream"
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve_forever(port: Connection) -> None:
    served = await asyncio.start_server(_serve, "127.0.0.1", 0)
    port.send(served.sockets[0].getsockname()[1])
    await served.serve_forever()


def _in_a_process(port: Connection) -> None:
    asyncio.run(_serve_forever(port))


@contextmanager
def server() -> Iterator[str]:
    """The server, in a process of its own as a real one would be."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_in_a_process, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()


def workspace(folder: Path, goldens: int) -> Path:
    """Forty documents of a few paragraphs, and as many questions as wanted."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "goldens").mkdir()
    for place in range(40):
        paragraphs = [
            f"Tank {place} holds {place + 20} litres of oil; round {n} checks its dip stick. " * 8 for n in range(6)
        ]
        (folder / "corpus" / f"tank-{place}.md").write_text(f"# Tank {place}\n\n" + "\n\n".join(paragraphs) + "\n")
    lines = [
        {"id": f"q{n}", "query": f"How much oil does tank {n % 40} hold ({n})?", "relevantDocIds": [f"tank-{n % 40}"],
         "mustInclude": ["litres"]}
        for n in range(goldens)
    ]  # fmt: skip
    (folder / "goldens" / "core.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


def plan() -> Plan:
    base = preset("bm25")
    retrieval = Retrieval(channels=base.retrieval.channels, results=20)
    return Plan(
        retrieval=retrieval, generation=Generation(model="toy", modes=("e2e",), repeats=1), metrics=base.metrics
    )


async def answered(lab: Lab) -> tuple[float, int]:
    """Seconds from the first request to the last case, and how many cases there were."""
    specification = lab.bind(plan())
    started, count = time.perf_counter(), 0
    async for event in lab.events(specification, spending=Spending(fresh=True)):
        count += isinstance(event, CaseFinished)
        if type(event).__name__ == "StageProgress":
            started = time.perf_counter()
        if count and isinstance(event, CaseFinished):
            finished = time.perf_counter()
    return finished - started, count


def memory() -> float:
    """The peak so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def measure(goldens: int, url: str) -> float:
    with tempfile.TemporaryDirectory() as name:
        lab = open_lab(workspace(Path(name) / "ws", goldens), execution="allow_runs")
        profile = Profile(kind="openai", model="toy", url=url, concurrency=PLACES)
        lab.generator = ChatGenerator(profile, "toy")
        seconds, count = asyncio.run(answered(lab))
        ideal = math.ceil(count / PLACES) * SECONDS
        print(f"{count} cases  {seconds:.2f} s  ideal {ideal:.2f} s  ×{seconds / ideal:.3f}  peak {memory():.0f} MB")
        return seconds / ideal


def main() -> int:
    with server() as url:
        measure(64, url)
        ratio = measure(CASES, url)
        measure(4 * CASES, url)
    print(f"{'within' if ratio <= MOST else 'ABOVE'} {MOST} × the ideal time")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
