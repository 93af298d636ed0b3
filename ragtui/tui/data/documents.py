"""Texts that are shown or written whole: a run's manifest, a case's answer, a case as JSON."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from ragtui.errors import InvalidInput, StoreUnavailable
from ragtui.ids import text_id
from ragtui.store.rows import RunRecord
from ragtui.store.store import Store
from ragtui.trace import JudgeTrace
from ragtui.tui.data.case import CaseView, recorded_case


def case_record(store: Store, record: RunRecord, case_id: str) -> bytes:
    """The case as `ragtui trace RUN CASE --json` prints it; InvalidInput where it was not executed."""
    from ragtui.reports.records import trace_record

    detail = store.case_detail(record.run_id, case_id)
    if detail.trace is None:
        raise InvalidInput(
            f"Run {record.run_id} has not executed the case {case_id!r}.",
            f"Finish it with `ragtui resume {record.run_id}`.",
        )
    plain = trace_record(recorded_case(record, detail), case_id)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def export_case(store: Store, record: RunRecord, case_id: str, folder: Path) -> Path:
    """Write `case_record` into a folder; the file. StoreUnavailable where that cannot be."""
    data = case_record(store, record, case_id)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", case_id)[:60].strip(".-") or "case"
    if plain != case_id:
        plain += "-" + text_id(case_id).removeprefix("sha256:")[:8]
    path = folder / f"{record.run_id}-{plain}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        aside.write_bytes(data)
        aside.replace(path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written: {error.strerror or error}.", "Check the folder's permissions."
        ) from error
    return path


def answer_text(view: CaseView) -> str:
    """The answer with the prompt exactly as it was sent, what it must and must not hold, and what it took."""
    answer = view.answer
    if answer is None:
        return "This case has no answer: its run is of the retrieval tier, or it failed before its prompt."
    verdict = {True: "passed", False: "failed", None: "nothing says what is right"}[answer.passed]
    usage = answer.usage
    parts = [
        f"{answer.mode}, repeat {answer.repeat}: {verdict}" + (", replayed" if answer.replayed else ""),
        f"ANSWER\n{answer.text or '(empty)'}",
        *([f"THINKING\n{answer.thinking}"] if answer.thinking else []),
        "MUST HOLD\n" + ("\n".join(view.case.must_include) or "–"),
        "MUST NOT HOLD\n" + ("\n".join(view.case.must_not_include) or "–"),
        f"TOKENS\nprompt {_count(usage.prompt_tokens)} (estimated {answer.estimated_tokens}), "
        f"answer {_count(usage.completion_tokens)}",
        *([_judge_text(answer.judge)] if answer.judge is not None else []),
        *([f"CONTEXT\n{_names(view, answer.context)}"] if answer.context else []),
        *([f"DROPPED\n{_names(view, answer.dropped)}"] if answer.dropped else []),
        *(f"PROMPT · {message.role}\n{message.content}" for message in answer.messages),
    ]
    return "\n\n".join(parts)


def _judge_text(judge: JudgeTrace) -> str:
    claims = [f"{'supported' if claim.supported else 'not supported'}: {claim.claim}" for claim in judge.claims]
    marks = f"completeness {judge.completeness} of 5, relevance {judge.relevance} of 5"
    fault = f"{judge.error.kind}: {judge.error.message}" if judge.error is not None else marks
    return "\n".join(["JUDGE", *claims, fault]) + f"\n\nJUDGE'S REPLY\n{judge.raw or '(none)'}"


def _count(tokens: int | None) -> str:
    return "not counted" if tokens is None else str(tokens)


def _names(view: CaseView, ordinals: list[int]) -> str:
    return "\n".join(view.chunks[chunk].name if chunk in view.chunks else f"chunk {chunk}" for chunk in ordinals)


def manifest(record: RunRecord) -> str:
    """The exact specification that produced a run, with its fingerprint, provenance and each attempt's environment."""
    from ragtui.artifacts.recipes import canonical

    plain = {
        "run_id": record.run_id,
        "spec_id": record.spec_id,
        "specification": canonical(record.specification),
        "provenance": canonical(record.provenance),
        "attempts": [msgspec.to_builtins(row) for row in record.attempt_rows],
    }
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
