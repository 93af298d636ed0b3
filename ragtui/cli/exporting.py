"""Writing a run to a file, a folder or stdout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragtui.cli.output import print_data, say, typed, write_file
from ragtui.errors import InvalidInput
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.lab import Lab


def _json(run: RecordedRun, lab: Lab) -> bytes:
    import msgspec

    return msgspec.json.encode(run) + b"\n"


def _csv(run: RecordedRun, lab: Lab) -> bytes:
    from ragtui.reports.tables import csv_table

    return csv_table(run)


def _junit(run: RecordedRun, lab: Lab) -> bytes:
    from ragtui.lab.chunks import indexed_in
    from ragtui.reports.junit import run_junit

    return run_junit(run, indexed_in(lab, run)).encode()


def _markdown(run: RecordedRun, lab: Lab) -> bytes:
    from ragtui.lab.chunks import indexed_in
    from ragtui.reports.markdown import run_markdown

    return run_markdown(run, indexed_in(lab, run)).encode()


def _html(run: RecordedRun, lab: Lab) -> bytes:
    from ragtui.lab.chunks import indexed_in
    from ragtui.reports.html import run_html

    return run_html(run, indexed_in(lab, run)).encode()


# Format name → the bytes of a run in it.
FORMATS: dict[str, Callable[[RecordedRun, Lab], bytes]] = {
    "json": _json, "csv": _csv, "junit": _junit, "markdown": _markdown, "html": _html,
}  # fmt: skip
# What a folder gets from the format `trec`: the run, its judgments, its questions.
TREC_FILES = {"trec": "run.trec", "qrels": "qrels.txt", "topics": "topics.jsonl"}


def export_run(lab: Lab, run: str, form: str, output: Path | None, escape: bool = False) -> None:
    """Write the run in the named format; `escape` percent-encodes ids that TREC files cannot carry.

    The format `trec` writes three files where `output` is a folder: one that is there, or a new name without a suffix.
    """
    known = (*FORMATS, *TREC_FILES, "parquet")
    if form not in known:
        raise InvalidInput(f"There is no export format {form!r}.", f"Formats: {', '.join(known)}.")
    if form == "parquet":
        _parquet(lab, run, output)
    elif form in TREC_FILES:
        _trec(lab.recorded_or_file(run), form, output, escape)
    else:
        _write(FORMATS[form](lab.recorded_or_file(run), lab), output, form == "json")


def _trec(run: RecordedRun, form: str, output: Path | None, escape: bool) -> None:
    from ragtui.analysis.goldens import by_golden
    from ragtui.reports.trec import lost_in_trec, qrels, topics, trec_run

    # TREC's files know questions, not the modes and repeats in which a model answered them.
    run = by_golden(run)
    writers: dict[str, Callable[[RecordedRun, bool], bytes]] = {"trec": trec_run, "qrels": qrels, "topics": topics}
    folder = output if output is not None and _is_folder(output, form) else None
    data = {name: writers[name](run, escape) for name in (TREC_FILES if form == "trec" and folder else [form])}
    for name, content in data.items():
        _write(content, folder / TREC_FILES[name] if folder is not None else output)
    lost = lost_in_trec(run)
    if form == "qrels" or folder is not None:
        say(lost or "Judgments and questions come back as the same evaluation.")
    if folder is not None:
        unjudged = any(not (case.grades or case.expect_refusal) for case in run.cases)
        options = (" --keep-unjudged" if unjudged else "") + (" --escaped" if escape else "")
        say(f"Read them back over the same corpus: ragtui import trec {typed(folder)} --existing-corpus{options}")
    failed = sum(trace.error is not None for trace in run.traces) + len(run.cases) - len(run.traces)
    if failed and form == "trec":
        say(f"{failed:,} of {plural(len(run.cases), 'case')} without a result or a line; `ragtui score` counts 0.")


def _is_folder(output: Path, form: str) -> bool:
    return output.is_dir() or (form == "trec" and not output.exists() and not output.suffix)


def _parquet(lab: Lab, run: str, output: Path | None) -> None:
    if output is None:
        raise InvalidInput("Parquet is not text for a terminal.", "Name a file with -o.")
    store, run_id = lab.resolve(run)
    store.export_parquet(run_id, output)


def _write(data: bytes, output: Path | None, is_json: bool = False) -> None:
    if output is not None:
        write_file(output, data)
    else:
        print_data(data, is_json)
