"""Small workspaces on disk, and ragtui run on them: in this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ragtui.analysis.recorded import RecordedRun
from ragtui.events import CaseFinished, RunEvent
from ragtui.experiment.plan import Plan
from ragtui.lab import Lab, open_lab
from ragtui.providers.builtin import BuiltinEmbedder
from ragtui.store.journal import journals, read_from

ROOT = Path(__file__).resolve().parent.parent
TOPICS = (
    "anchor", "beacon", "compass", "diesel", "engine", "filter", "glacier", "harness", "igloo", "jacket", "kerosene",
    "lantern",
)  # fmt: skip
_FILLER = ["the", "crew", "keeps", "a", "record", "of", "every", "use", "and", "reads", "it", "aloud", "before", "noon"]
# LINES and COLUMNS stand above a terminal's own size; a process that loads readline hands them to its children.
_DROPPED = ("CI", "NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR")

RETRIEVER = '''
"""A retriever of one's own over corpus/: documents and spans by shared words, as slow as SECONDS says."""
import os
import time
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
TEXTS = {path.stem: path.read_text() for path in sorted(CORPUS.glob("*.md"))}


def retrieve(query, depth):
    time.sleep(float(os.environ.get("SECONDS", "0")))
    words = set(query.lower().replace("?", "").split())
    found = []
    for doc, text in TEXTS.items():
        shared = len(words & set(text.lower().split()))
        if shared:
            found.append((doc, float(shared)))
            # A span that no chunk set has, another one for each length of the question.
            found.append((doc, 0, 10 + len(query) % 7, shared - 0.5))
    return sorted(found, key=lambda hit: -hit[-1])[:depth]


retrieve.identity = {"name": "words", "version": 1}
'''

OWN_PLAN = """
preset = "bm25"
[retrieval.channels.bm25]
kind = "bm25"
depth = 20
[retrieval.channels.own]
kind = "python"
source = "my_search:retrieve"
depth = 20
[provenance]
name = "own"
"""


# A document, a size and an overlap at which the splitter's native code panics.
SPLITTER_FAILS = ("~~~\n  \xa0\n\n\u2028 | b |\n|---|---|", 21, 10)


def sample_documents() -> dict[str, str]:
    """A document a topic: two headings, a few sentences, always the same."""
    source = random.Random(7)
    documents = {}
    for place, topic in enumerate(TOPICS):
        other = TOPICS[(place + 1) % len(TOPICS)]
        lines = [f"# The {topic}", f"Every {topic} is checked each morning. {_sentence(source)}"]
        lines += ["## Repair", f"A broken {topic} waits beside the {other}. {_sentence(source)} {_sentence(source)}"]
        documents[f"{topic}-notes"] = "\n\n".join(lines) + "\n"
    return documents


def sample_goldens(count: int = 40) -> list[dict[str, Any]]:
    """Answerable questions about the topics, and every tenth one without an answer."""
    goldens: list[dict[str, Any]] = []
    for place in range(count):
        topic = TOPICS[place % len(TOPICS)]
        golden: dict[str, Any] = {"id": f"q-{place:03}", "tags": ["even" if place % 2 == 0 else "odd"]}
        if place % 10 == 9:
            golden |= {"query": f"Who sang about {place} violins?", "expectRefusal": True}
        else:
            golden |= {"query": f"When is the {topic} checked, question {place}?", "relevantDocIds": [f"{topic}-notes"]}
        goldens.append(golden)
    return goldens


def make_workspace(
    folder: Path,
    documents: Mapping[str, str] | None = None,
    goldens: Iterable[Mapping[str, Any]] | None = None,
) -> Path:
    """A workspace with these (or the sample) inputs, a retriever of one's own and a plan `own.toml` that uses it."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "goldens").mkdir()
    for name, text in (sample_documents() if documents is None else documents).items():
        path = folder / "corpus" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    write_suite(folder, "core", sample_goldens() if goldens is None else goldens)
    (folder / "my_search.py").write_text(RETRIEVER)
    (folder / "own.toml").write_text(OWN_PLAN)
    return folder


def write_suite(folder: Path, name: str, goldens: Iterable[Mapping[str, Any]]) -> None:
    """Write `goldens/<name>.jsonl`."""
    lines = [json.dumps(golden, ensure_ascii=False) for golden in goldens]
    (folder / "goldens" / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def own_lab(folder: Path) -> Lab:
    """The workspace opened to run the plan `own.toml` in this process."""
    spec = importlib.util.spec_from_file_location("my_search", folder / "my_search.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return open_lab(
        folder, execution="allow_runs", query_embedder=BuiltinEmbedder(),
        retrievers={"my_search:retrieve": module.retrieve},
    )  # fmt: skip


def resume(lab: Lab, run_id: str, plan: Plan) -> RecordedRun:
    """Finish a run in this process."""

    async def drain() -> None:
        async for _ in lab.events(lab.bind(plan), run_id=run_id, resume=True):
            pass

    asyncio.run(drain())
    return lab.recorded(run_id)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, without what would change how ragtui shows things."""
    kept = {key: value for key, value in os.environ.items() if key not in _DROPPED}
    return kept | {"PYTHONPATH": str(ROOT)} | changes


def start(folder: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    """`ragtui …` as a process of its own, in the workspace."""
    return subprocess.Popen(
        [sys.executable, "-m", "ragtui", *arguments], cwd=folder, env=environment(**changes), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def ragtui(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """`ragtui …` as a process of its own, to its end."""
    with start(folder, *arguments, **changes) as process:
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def journal_of(folder: Path, process: subprocess.Popen[str], seconds: float = 20.0) -> Path:
    """The journal that appears when the process begins its run."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = journals(folder / ".ragtui" / "journal")
        if found:
            return found[-1]
        if process.poll() is not None:
            break
        time.sleep(0.002)
    raise AssertionError(f"no journal appeared: {process.communicate()}")


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[str], seconds: float = 20.0) -> list[RunEvent]:
    """The events of the journal once it has `count` lines, or all of them when the process ends earlier."""
    deadline = time.monotonic() + seconds
    events: list[RunEvent] = []
    offset = 0
    while len(events) < count and time.monotonic() < deadline:
        over = process.poll() is not None
        if path.exists():
            more, offset = read_from(path, offset)
            events += more
        if over:
            break
        time.sleep(0.001)
    return events


def reported_cases(events: Iterable[RunEvent]) -> set[str]:
    """The cases that these events report."""
    return {event.trace.case for event in events if isinstance(event, CaseFinished)}


def _sentence(source: random.Random) -> str:
    return f"Here {' '.join(source.choices(_FILLER, k=14))}."
