"""A generation run on a terminal: modes side by side, the decomposition, outcomes, what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ragtui.cli.render import heading, number, safe, table
from ragtui.inputs.text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from ragtui.analysis.decomposition import Decomposition
    from ragtui.analysis.estimate import EstimateRow
    from ragtui.analysis.judge import JudgeSection
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.analysis.usage import ModeUsage, Tokens
    from ragtui.experiment.generation import Mode
    from ragtui.metrics.aggregate import Estimate, Summary

_GOLDENS_SHOWN = 6
_RETRIEVAL_SHOWN = ("R@5", "RR", "nDCG@10")


def generation_parts(run: RecordedRun, verbose: bool) -> list[RenderableType]:
    """Everything between a run's identity and its closing line."""
    from ragtui.analysis.decomposition import decompose
    from ragtui.analysis.judge import judge_section
    from ragtui.analysis.modes import headline_mode, mode_summaries
    from ragtui.analysis.usage import usage_by_mode

    summaries = mode_summaries(run)
    parts: list[RenderableType] = [_model(run)]
    measures = measures_by_mode(run, summaries)
    parts.append(measures if measures.row_count else Text("No case has an answer that can be measured."))
    found = decompose(run)
    if found is not None:
        parts += [heading("Retriever or model?"), *_decomposition(found), *_outcomes(found, verbose)]
    mode = headline_mode(run)
    if any(row["correctness"].n for row in summaries[mode].by_tag.values()):
        parts += [heading("Correctness by tag"), tags_by_mode(run, summaries)]
    if found is not None and any(row.by_tag for row in found.differences):
        parts += [heading("Differences by tag"), differences_by_tag(found)]
    parts += _unstable(run)
    parts += _history(run)
    judged = judge_section(run)
    if judged is not None:
        parts += [heading("Judged, apart from all gates"), *_judged(judged)]
    usage = usage_by_mode(run)
    if any(row.fresh.replies or row.replayed.replies for row in usage.values()):
        parts += [heading("What it took"), usage_table(usage)]
    return parts


def measures_by_mode(run: RecordedRun, summaries: Mapping[Mode, Summary]) -> Table:
    """A row a measure, a column a mode: the value and its interval."""
    made = table("measure", *summaries, right=tuple(summaries), wrapping=("measure",))
    names = [name for name in next(iter(summaries.values())).overall if _shown(name)]
    for name in names:
        cells = [summary.overall[name] for summary in summaries.values()]
        if any(cell.n for cell in cells):
            made.add_row(name, *(estimate_cell(cell) for cell in cells))
    return made


def estimate_cell(estimate: Estimate) -> str:
    """`0.812 [0.74, 0.87]`; a dash without cases."""
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.3f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def tags_by_mode(run: RecordedRun, summaries: Mapping[Mode, Summary]) -> Table:
    """A row a tag with scored goldens, a column a mode."""
    made = table("tag", "n", *summaries, right=("n", *summaries), flexible=("tag",))
    tags = sorted({tag for summary in summaries.values() for tag in summary.by_tag})
    for tag in tags:
        cells = [summary.by_tag.get(tag, {}).get("correctness") for summary in summaries.values()]
        count = max((cell.n for cell in cells if cell is not None), default=0)
        if count:
            made.add_row(safe(tag, 24), str(count), *(number(cell.value if cell else None) for cell in cells))
    return made


def differences_by_tag(found: Decomposition) -> Table:
    """A row a tag with scored goldens, a column a difference of two modes, with its interval."""
    names = [f"{row.first} − {row.second}" for row in found.differences]
    made = table("tag", "n", *names, right=("n", *names), wrapping=("tag",))
    for tag in sorted({tag for row in found.differences for tag in row.by_tag}):
        cells = [row.by_tag.get(tag) for row in found.differences]
        count = max((cell.n for cell in cells if cell is not None), default=0)
        if count:
            made.add_row(safe(tag, 24), str(count), *(_difference_cell(cell) for cell in cells))
    return made


def _difference_cell(estimate: Estimate | None) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    return f"{estimate.value:+.3f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"


def usage_table(usage: Mapping[str, ModeUsage]) -> Table:
    """A row a mode, fresh and replayed replies apart; times in milliseconds."""
    right = ("n", "prompt tok", "answer tok", "cost", "first ms", "p50 ms", "p95 ms", "tok/s")
    made = table("mode", "", *right, right=right)
    for mode, row in usage.items():
        if row.fresh.replies:
            speed = row.latency
            made.add_row(
                mode, "fresh", *_tokens(row.fresh), _milliseconds(speed.first_token_p50),
                _milliseconds(speed.total_p50),
                _milliseconds(speed.total_p95), number(speed.tokens_per_second, 0),
            )  # fmt: skip
        if row.replayed.replies:
            made.add_row(mode, "replayed", *_tokens(row.replayed), "", "", "", "")
    return made


def estimate_table(rows: Sequence[EstimateRow]) -> Table:
    """What `--dry-run` shows: a row a model and mode."""
    right = ("cases", "calls", "prompt tokens", "answer tokens ≤", "cost ≤")
    made = table("model", "mode", *right, right=right, flexible=("model",))
    for row in rows:
        made.add_row(
            safe(row.model), row.mode, str(row.cases), str(row.calls), f"{row.prompt_tokens:,}",
            f"{row.answer_tokens:,}", "–" if row.cost is None else f"{row.cost:.4f}",
        )  # fmt: skip
    return made


def _model(run: RecordedRun) -> Text:
    recipe, identity = run.specification.plan.generation, run.specification.generator
    line = Text("model ", style="dim")
    line.append(printable(str(identity)) if identity is not None else "none")
    if recipe is not None:
        line.append(f"   {recipe.repeats} repeat{'s' if recipe.repeats > 1 else ''}", style="dim")
        line.append(
            f"   window {recipe.budget.context_window}, {recipe.budget.answer_reserve} for the answer", style="dim"
        )
    return line


def _shown(name: str) -> bool:
    from ragtui.metrics.measure import parse_measure

    return parse_measure(name).of_answers or name.split("(")[0] in _RETRIEVAL_SHOWN


def _decomposition(found: Decomposition) -> list[RenderableType]:
    made = table("difference", "correctness", "95 % interval", "n", right=("correctness", "n"))
    for row in found.differences:
        value = "–" if row.overall.value is None else f"{row.overall.value:+.3f}"
        interval = f"{row.overall.low:+.3f} … {row.overall.high:+.3f}"
        made.add_row(f"{row.first} − {row.second}", value, interval, str(row.overall.n))
    return [made, *(Text(f"• {printable(line)}") for line in found.findings)]


def _outcomes(found: Decomposition, verbose: bool) -> list[RenderableType]:
    made = table(
        "oracle", "e2e", "no retrieval", "goldens", "which means", right=("goldens",), flexible=("which means",)
    )
    made.columns[4].no_wrap = False
    marks = {True: "✓", False: "✗"}
    for row in found.outcomes:
        if row.goldens:
            made.add_row(marks[row.oracle], marks[row.e2e], marks[row.noretrieval], str(len(row.goldens)), row.meaning)
    parts: list[RenderableType] = [heading("Outcomes"), made]
    for row in found.outcomes:
        if row.goldens and (verbose or not (row.oracle and row.e2e)):
            shown = row.goldens if verbose else row.goldens[:_GOLDENS_SHOWN]
            more = "" if len(shown) == len(row.goldens) else f" and {len(row.goldens) - len(shown)} more"
            key = "".join(marks[side] for side in (row.oracle, row.e2e, row.noretrieval))
            parts.append(Text(f"{key}  {printable(', '.join(shown))}{more}", style="dim"))
    return parts


def _history(run: RecordedRun) -> list[RenderableType]:
    from ragtui.analysis.history import ADVICE, history_faults

    faults = history_faults(run)
    parts: list[RenderableType] = []
    for kind, advice in ADVICE.items():
        found = [fault for fault in faults if fault.kind == kind]
        if found:
            shown = ", ".join(
                printable(f"{fault.case} ({fault.sent} of {fault.turns})") for fault in found[:_GOLDENS_SHOWN]
            )
            parts.append(Text(f"• {len(found)} {kind}: {advice}. {shown}"))
    return [heading("Lost turns"), *parts] if parts else []


def _judged(section: JudgeSection) -> list[RenderableType]:
    modes = tuple(section.measures)
    wrapping = ("judged", "agrees with")
    made = table("judged", *modes, "spread", "agrees with", right=(*modes, "spread"), wrapping=wrapping)
    agreement = {row.judged: row for row in section.agreement}
    for name in next(iter(section.measures.values()), {}):
        row = agreement.get(name)
        told = ""
        if row is not None and row.agree is not None:
            told = f"{row.counted} in {row.agree:.0%} of {row.cases}" + (
                "" if row.kappa is None else f", κ {row.kappa:.2f}"
            )
        cells = [estimate_cell(section.measures[mode][name]) for mode in modes]
        made.add_row(name, *cells, number(section.spread[name]), told)
    failures = ", ".join(f"{count} {kind}" for kind, count in section.failures.items())
    line = f"judge {printable(str(section.judge))}, rules {section.version}: "
    line += f"{section.judged} of {section.asked} answers judged"
    return [Text(line + (f" ({failures})" if failures else "")), made]


def _unstable(run: RecordedRun) -> list[RenderableType]:
    from ragtui.analysis.modes import modes_of, passes

    rows = [(mode, row) for mode in modes_of(run) for row in passes(run, mode) if row.unstable]
    if not rows:
        return []
    made = table("mode", "golden", "passed", flexible=("golden",))
    for mode, row in rows[: 3 * _GOLDENS_SHOWN]:
        made.add_row(mode, safe(row.golden), f"{sum(row.passes)} of {len(row.passes)}")
    return [heading(f"Unstable ({len(rows)})"), made]


def _tokens(tokens: Tokens) -> tuple[str, str, str, str]:
    cost = "–" if tokens.cost is None else f"{tokens.cost:.4f}"
    return str(tokens.replies), f"{tokens.prompt_tokens:,}", f"{tokens.completion_tokens:,}", cost


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def group(parts: Sequence[RenderableType]) -> Group:
    """The parts below one another."""
    return Group(*parts)
