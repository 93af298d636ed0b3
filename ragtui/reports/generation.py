"""What `generate --json` adds to a run's record."""

from __future__ import annotations

from typing import Any

import msgspec

from ragtui.analysis.decomposition import decompose
from ragtui.analysis.history import history_faults
from ragtui.analysis.judge import judge_section
from ragtui.analysis.modes import headline_mode, mode_summaries, modes_of
from ragtui.analysis.recorded import RecordedRun
from ragtui.analysis.usage import usage_by_mode
from ragtui.trace import CaseTrace


def generation_record(run: RecordedRun) -> dict[str, Any]:
    """`by_mode`, the model, the decomposition where there is one, and what the run took."""
    summaries = mode_summaries(run)
    record = {
        "headline_mode": headline_mode(run),
        "generator": run.specification.generator,
        "modes": list(modes_of(run)),
        "by_mode": {mode: {"measures": found.overall, "by_tag": found.by_tag} for mode, found in summaries.items()},
        "decomposition": decompose(run),
        "usage": usage_by_mode(run),
        "judge": judge_section(run),
        "history_faults": history_faults(run),
    }
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return plain


def answer_record(run: RecordedRun, trace: CaseTrace) -> dict[str, Any] | None:
    """The answer's part of a trace, with chunks by name; None in the retrieval tier."""
    answer = trace.answered
    if answer is None:
        return None
    record: dict[str, Any] = msgspec.to_builtins(answer)
    for field in ("context", "dropped"):
        record[field] = [run.chunk_of[chunk].name if chunk in run.chunk_of else None for chunk in record[field]]
    return record
