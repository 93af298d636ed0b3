"""Writing a run to a file, a folder or stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.errors import InvalidInput, RunFailed

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab


def _json(run: RecordedRun) -> bytes:
    import msgspec

    return msgspec.json.encode(run) + b"\n"


def _csv(run: RecordedRun) -> bytes:
    from ragtui.reports.tables import csv_table

    return csv_table(run)


def _junit(run: RecordedRun) -> bytes:
    from ragtui.reports.junit import run_junit

    return run_junit(run).encode()


def _markdown(run: RecordedRun) -> bytes:
    from ragtui.reports.markdown import run_markdown

    return run_markdown(run).encode()


def _html(run: RecordedRun) -> bytes:
    from ragtui.reports.html import run_html

    return run_html(run).encode()


# Format name → the bytes of a run in it.
FORMATS: dict[str, Callable[[RecordedRun], bytes]] = {
    "json": _json, "csv": _csv, "junit": _junit, "markdown": _markdown, "html": _html,
}  # fmt: skip
# What a folder gets from the format `trec`: the run, its judgments, its questions.
TREC_FILES = {"trec": "run.trec", "qrels": "qrels.txt", "topics": "topics.jsonl"}


def export_run(lab: Lab, run: str, form: str, output: Path | None, escape: bool = False) -> None:
    """Write the run in the named format; `escape` percent-encodes ids that TREC files cannot carry.

    The format `trec` writes three files where `output` is a folder.
    """
    known = (*FORMATS, *TREC_FILES, "parquet")
    if form not in known:
        raise InvalidInput(f"There is no export format {form!r}.", f"Formats: {', '.join(known)}.")
    if form == "parquet":
        _parquet(lab, run, output)
    elif form in TREC_FILES:
        _trec(lab.recorded(run), form, output, escape)
    else:
        _write(FORMATS[form](lab.recorded(run)), output)


def _trec(run: RecordedRun, form: str, output: Path | None, escape: bool) -> None:
    from ragtui.cli.output import say
    from ragtui.reports.trec import lost_in_trec, qrels, topics, trec_run

    writers: dict[str, Callable[[RecordedRun, bool], bytes]] = {"trec": trec_run, "qrels": qrels, "topics": topics}
    into_folder = output is not None and output.is_dir()
    data = {name: writers[name](run, escape) for name in (TREC_FILES if form == "trec" and into_folder else [form])}
    for name, content in data.items():
        _write(content, output / TREC_FILES[name] if output is not None and into_folder else output)
    lost = lost_in_trec(run)
    if lost and form != "trec":
        say(lost)
    elif into_folder:
        say(lost or "The three files carry everything that retrieval is scored by.")
    failed = sum(trace.error is not None for trace in run.traces) + len(run.cases) - len(run.traces)
    if failed and form == "trec":
        say(f"{failed:,} of {len(run.cases):,} cases have no result and no line; `ragtui score` counts them as 0.")


def _parquet(lab: Lab, run: str, output: Path | None) -> None:
    if output is None:
        raise InvalidInput("Parquet is not text for a terminal.", "Name a file with -o.")
    store, run_id = lab.resolve(run)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFailed(f"{output} cannot be written: {error.strerror or error}.", "Choose another place.") from error
    store.export_parquet(run_id, output)


def _write(data: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise RunFailed(f"{output} cannot be written: {error.strerror or error}.", "Choose another place.") from error
