"""The words of the live screen: functions from a snapshot to text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.content import Content

from ragtui.errors import RagtuiError
from ragtui.events import seconds_between
from ragtui.ids import short
from ragtui.metrics.aggregate import Estimate
from ragtui.tui.data.live import LiveView
from ragtui.tui.widgets.rows import Row
from ragtui.tui.widgets.text import STATUS_GLYPHS, block, line, seconds, spark, value, when

_KINDS = {"miss": ("○ miss", ""), "error": ("✗ err", "$error bold"), "notice": ("i note", "$secondary")}
_TONES = {"completed": "$success", "failed": "$error", "interrupted": "$warning", "cancelled": "$warning"}


def head(view: LiveView, width: int) -> Content:
    """Which run this is; where it stands. A line more for a run that asks a model, and one for the queue of calls."""
    title = Content.assemble(
        (f"{STATUS_GLYPHS[view.status]} {view.status}", f"bold {_TONES.get(view.status, '$primary')}"),
        "  ",
        line(view.name or "unnamed", "bold"),
        (f"   run {view.run_id}   spec {short(view.spec_id, 8)}", "$secondary"),
        (f"   attempt {view.attempt}" if view.attempt > 1 else "", "$secondary"),
    )
    lines = [title.truncate(width, ellipsis=True), counts(view, width)]
    if view.mode:
        lines.append(answers(view).truncate(width, ellipsis=True))
    if queued := queue(view):
        lines.append(queued.truncate(width, ellipsis=True))
    return Content("\n").join(lines)


def answers(view: LiveView) -> Content:
    """What a run of the generation tier has asked and spent, and of which mode the numbers are."""
    asked = f"{view.fresh:,} fresh, {view.replayed:,} replayed" if view.fresh or view.replayed else "no model asked yet"
    parts = [Content.assemble(("answers ", "bold"), asked)]
    if view.tokens_per_second is not None:
        parts.append(Content(f"{view.tokens_per_second:.0f} tokens/s"))
    if view.cost is not None:
        parts.append(Content(f"cost {view.cost:.4f}"))
    parts.append(Content.styled(f"numbers of {view.mode}", "$secondary"))
    return Content("   ").join(parts)


def queue(view: LiveView) -> Content | None:
    """Calls in flight, cases that wait, and retries with the reason of the newest; None where nothing is asked."""
    calls, parts = view.calls, []
    if calls.in_flight and not view.over:
        parts.append(Content(f"{calls.in_flight:,} in flight, {view.waiting:,} waiting"))
    if calls.retries:
        parts.append(Content.styled(f"retries {calls.retries:,}", "bold $warning"))
    if not parts:
        return None
    told = [Content.assemble(("queue   ", "bold"), Content("   ").join(parts))]
    if calls.retries:
        wait = "" if view.over else f", again in {calls.wait_s:.1f} s"
        told.append(line(f"{calls.provider} {calls.reason}{wait}", "$secondary"))
    return Content("   ").join(told)


def counts(view: LiveView, width: int) -> Content:
    """n/N, scored, missed, errored, rate, elapsed, what is left, after a bar as long as there is room for."""
    done, total = view.position
    if view.stage and done < total:
        words = Content.assemble((f"preparing {view.stage} ", "bold"), f"{done:,}/{total:,}", "  no case yet")
    else:
        done, total = of_all(view)
        errors = (f"✗ {view.errors} errored", "bold $error") if view.errors else ("0 errored", "")
        pace = "" if view.rate is None else f"  {view.rate:.0f}/s" if view.rate >= 10 else f"  {view.rate:.1f}/s"
        left = "" if view.over or view.eta is None else f"  {seconds(view.eta)} left"
        words = Content.assemble(
            (f"{done:,}/{total:,}", "bold"),
            f"  {view.earlier:,} before" if view.earlier else "",
            f"  {view.scored:,} scored  {view.missed:,} missed  ",
            errors,
            pace,
            f"  {seconds(elapsed(view))}",
            left,
        )
    room = min(width - words.cell_length - 2, 40)
    if room < 6:
        return words.truncate(width, ellipsis=True)
    filled = round(room * done / total) if total else 0
    bar = Content.assemble(("━" * filled, "$primary"), ("─" * (room - filled), "dim"))
    return Content("  ").join([bar, words])


def of_all(view: LiveView) -> tuple[int, int]:
    """Cases done and cases wanted, with those of the attempts before this one."""
    return view.earlier + view.done, view.earlier + view.total


def elapsed(view: LiveView) -> float | None:
    """Seconds since the attempt began, until it ended."""
    if not view.started_at:
        return None
    return max(seconds_between(view.started_at, view.ended_at or None), 0.0)


def interval(estimate: Estimate) -> str:
    """`0.597–0.673`; a dash without cases."""
    return "–" if estimate.value is None else f"{estimate.low:.3f}–{estimate.high:.3f}"


def measure_rows(view: LiveView, trail: int = 8) -> list[Row]:
    """A row a measure, with the last `trail` points of its mean."""
    return [
        (
            line(item.name, "bold" if item.name == view.decisive else ""),
            value(item.estimate.value),
            Content.styled(interval(item.estimate), "$secondary"),
            str(item.estimate.n),
            Content.styled(spark(item.trail, trail), "$primary"),
        )
        for item in view.measures
    ]


def tag_rows(view: LiveView) -> list[Row]:
    """A row a tag."""
    return [
        (
            line(item.tag),
            f"{item.done}/{item.total}",
            value(item.estimate.value),
            Content.styled(interval(item.estimate), "$secondary"),
        )
        for item in view.tags
    ]


def latency_rows(view: LiveView) -> list[Row]:
    """A row a stage, the slowest first."""
    ordered = sorted(view.latencies, key=lambda item: -item.p95)
    return [(line(item.name), _milliseconds(item.p50), _milliseconds(item.p95)) for item in ordered]


def _milliseconds(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.0f}"


def feed_rows(view: LiveView) -> tuple[list[Row], list[str]]:
    """A row a miss, an error or a notice, and the keys `place case`."""
    rows: list[Row] = []
    keys = []
    for place, item in enumerate(view.feed):
        word, style = _KINDS[item.kind]
        rows.append(
            (
                Content.styled(word, style),
                line(item.case),
                value(item.score, 2) if item.kind == "miss" else "",
                line(item.text, style),
            )
        )
        keys.append(f"{place} {item.case}")
    return rows, keys


def banner(view: LiveView) -> Content:
    """Many errors of one kind in a row: what they say, and what to do."""
    return Content.assemble(
        f"✗ {view.alike} errors alike in a row ({view.alike_kind}): ",
        line(view.alike_message),
        "  x cancels and keeps what is done; mend the cause, then resume: only missing and failed cases run.",
    )


def others(views: Mapping[str, LiveView], shown: str) -> Content:
    """All followed runs on one line, the shown one in brackets."""
    parts = []
    for run_id, view in views.items():
        done, total = of_all(view)
        share = f"{100 * done // total} %" if total else "–"
        text = f"{STATUS_GLYPHS[view.status]} {run_id[:6]} {share}"
        parts.append(Content.styled(f"[{text}]", "bold $foreground") if run_id == shown else Content(f" {text} "))
    return Content(" ").join([Content(f"{len(views)} runs "), *parts])


def state(view: LiveView, cancelling: bool) -> str:
    """What to know and to do now."""
    if cancelling and not view.over:
        return "Asked to stop: it finishes what is in flight and keeps everything."
    if view.status == "running":
        return "The run goes on when the app is closed."
    return end_words(view)


def end_words(view: LiveView) -> str:
    """How a run ended, and the command that goes on from there."""
    done, total = of_all(view)
    if view.status == "completed":
        resumed = f", {view.done} of them now," if view.earlier else ""
        return f"Completed: {done} cases{resumed} in {seconds(elapsed(view))}. t opens its traces, 5 compares it."
    if view.status == "failed":
        return f"Failed: {view.reason}  Resume: ragtui resume {view.run_id}"
    if view.status == "interrupted" and not view.reason and not view.ended_at:
        return f"Its process died; all {done} cases that were reported are kept. Resume: ragtui resume {view.run_id}"
    words = f"{view.status.capitalize()} after {done} of {total}; all is kept."
    return f"{words} Resume: ragtui resume {view.run_id}"


UNKNOWN = object()


def nothing(last: Any, starting: bool = False) -> Content:
    """What an empty live screen says. `last` is the last run, None without one, `UNKNOWN` until it is known.

    `starting`: a process was started here whose run has not begun yet.
    """
    if starting:
        return Content.assemble(
            ("A run is being started.\n\n", "bold"), "It appears here as soon as its process has loaded its inputs."
        )
    text = Content.assemble(
        ("Nothing is running here.\n\n", "bold"),
        "Press ",
        ("2", "bold"),
        " to choose a plan and start a run. A run that is started elsewhere with\n",
        ("  ragtui run hybrid", "bold"),
        "\nappears here by itself within a second.\n",
    )
    if isinstance(last, RagtuiError):
        return text + Content.assemble("\n", block(f"The store cannot be read: {last.message} {last.hint}", "$warning"))
    if last is UNKNOWN:
        return text
    if last is None:
        return text + Content("\nNo run has been recorded yet.")
    planned = "" if last.status == "completed" else " planned"
    measures = "   ".join(f"{name} {value(number)}" for name, number in list(last.measures.items())[-3:])
    return text + Content.assemble(
        "\nThe last run was ",
        (f"{last.run_id}", "bold"),
        "  ",
        line(last.name or "unnamed"),
        f"  {STATUS_GLYPHS[last.status]} {last.status}, {when(last.started_at)} UTC, {last.cases} cases{planned} "
        f"in {seconds(last.elapsed_s)}\n",
        line(measures, "$secondary"),
        "\nPress ",
        ("t", "bold"),
        " to open its traces.",
    )
