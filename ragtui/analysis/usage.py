"""What a generation run took: calls, tokens, cost, times. Fresh and replayed replies are never added together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

import msgspec

from ragtui.analysis.modes import cases_of_mode, modes_of
from ragtui.analysis.recorded import RecordedRun
from ragtui.trace import CaseTrace, Usage


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Replies and what they took; tokens and cost are sums over the replies whose server counted them."""

    replies: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds over fresh answers; `tokens_per_second` over the time after the first token. None without any."""

    answers: int
    first_token_p50: float | None
    total_p50: float | None
    total_p95: float | None
    tokens_per_second: float | None


class ModeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """One mode: what was asked anew, what was replayed, and how fast the fresh answers came."""

    fresh: Tokens
    replayed: Tokens
    latency: Latency


def usage_by_mode(run: RecordedRun) -> dict[str, ModeUsage]:
    """The usage of every mode, rewrites included."""
    return {mode: _usage([trace for _, _, trace in cases_of_mode(run, mode)]) for mode in modes_of(run)}


def _usage(traces: Sequence[CaseTrace]) -> ModeUsage:
    fresh: list[Usage] = []
    replayed: list[Usage] = []
    for trace in traces:
        answer = trace.answered
        if answer is None:
            continue
        if answer.rewrite is not None:
            (replayed if answer.rewrite.replayed else fresh).append(answer.rewrite.usage)
        if answer.mode != "mock" and answer.finish and (answer.key or trace.error is not None):
            (replayed if answer.replayed else fresh).append(answer.usage)
    return ModeUsage(fresh=_tokens(fresh), replayed=_tokens(replayed), latency=_latency(traces))


def _tokens(usages: Sequence[Usage]) -> Tokens:
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Tokens(
        replies=len(usages),
        prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
        completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
        cost=sum(costs) if costs else None,
    )


def _latency(traces: Sequence[CaseTrace]) -> Latency:
    totals, firsts, speeds = [], [], []
    for trace in traces:
        total, first = trace.timings.get("generate"), trace.timings.get("first_token")
        answer = trace.answered
        if total is None or answer is None:
            continue
        totals.append(total)
        if first is not None:
            firsts.append(first)
            if answer.usage.completion_tokens and total > first:
                speeds.append(answer.usage.completion_tokens / (total - first) * 1000)
    return Latency(
        answers=len(totals),
        first_token_p50=_rounded(median(firsts)) if firsts else None,
        total_p50=_rounded(median(totals)) if totals else None,
        total_p95=_rounded(quantiles(totals, n=20)[-1]) if len(totals) > 1 else None,
        tokens_per_second=_rounded(median(speeds)) if speeds else None,
    )


def _rounded(value: float) -> float:
    return round(value, 1)
