"""What `generate --json` adds to a run's record."""

from __future__ import annotations

from typing import Any

import msgspec

from ragtui.analysis.decomposition import case_outcome, decompose
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


def outcome_record(run: RecordedRun, case_id: str) -> dict[str, Any]:
    """What `trace --json` adds in the generation tier: what the three modes together say of the case's golden.

    `outcome` is None where not all three were judged.
    """
    outcome = case_outcome(run, case_id)
    if outcome is None:
        return {"outcome": None}
    modes = {"oracle": outcome.oracle, "e2e": outcome.e2e, "noretrieval": outcome.noretrieval}
    return {"outcome": modes | {"meaning": outcome.meaning}}


def answer_record(run: RecordedRun, trace: CaseTrace) -> dict[str, Any] | None:
    """The answer's part of a trace, with chunks by name; None in the retrieval tier."""
    answer = trace.answered
    if answer is None:
        return None
    record: dict[str, Any] = msgspec.to_builtins(answer)
    for field in ("context", "dropped"):
        record[field] = [run.chunk_of[chunk].name if chunk in run.chunk_of else None for chunk in record[field]]
    return record
