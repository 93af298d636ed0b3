"""A comparison on a terminal: the recipes' differences before any number, then measures, tags, flips, the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from ragtui.cli.render import heading, number, probability, safe, table
from ragtui.inputs.text import fold_space, plural, printable

if TYPE_CHECKING:
    from rich.table import Table

    from ragtui.analysis.compare import Comparison
    from ragtui.analysis.contrast import MeasureChange
    from ragtui.analysis.flips import Told
    from ragtui.analysis.sweep import Earning, Sweep

_GLYPHS = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?"}
_WORDS = {"better": "▲", "worse": "▼", "equal": "=", "unclear": "·"}
_LEGEND = "◆ primary  ◇ guard   ▲ better  ▼ worse  = equal  · not told apart from no change"
_FLIPS = 12
_ANSWER = 240


def comparison_report(found: Comparison) -> RenderableType:
    """What `compare` prints."""
    parts: list[RenderableType] = [
        Text(
            printable(f"{found.base_run} → {found.new_run}   {plural(len(found.cases.shared), 'shared case')}"),
            style="bold",
        )
    ]
    parts += [Text(printable(note)) for note in found.notes]
    parts += [heading("Specification"), _specification(found)]
    parts += [heading("Measures"), changes_table(found.measures), Text(_LEGEND, style="dim")]
    if found.not_compared:
        parts += [
            Text(printable(f"not compared: {name}, because {why}"), style="dim")
            for name, why in found.not_compared.items()
        ]
    if found.by_tag:
        parts += [heading("By tag"), _tags(found)]
    if found.flips:
        parts += [heading(f"Flips by {found.flipped_by}"), _flips(found), *_answers(found)]
    if found.unstable:
        parts += [heading("Unstable: right in some repeats, wrong in others; no flips"), _unstable(found)]
    parts.append(_verdict(found))
    return Group(*parts)


def changes_table(changes: Mapping[str, MeasureChange]) -> Table:
    """A row a measure: both values, the change with its interval, the test, wins/ties/losses.

    ◆ is the primary measure, ◇ a guard; ▲ better, ▼ worse, = equal, · not told apart from no change. The measures that
    gate have an adjusted p; of the others `--json` has the plain one.
    """
    right = ("base", "new", "change", "p adj.", "w/t/l")
    made = table(
        "measure", "base", "new", "change", "95 % interval", "p adj.", "w/t/l", right=right, wrapping=("measure",)
    )
    for name, row in changes.items():
        gate = {"primary": "◆ ", "guard": "◇ "}.get(row.role, "  ")
        partly = f" ({row.scored}/{row.total})" if row.scored != row.total else ""
        made.add_row(
            Text(gate, no_wrap=True, overflow="ellipsis").append(name + partly),
            number(row.base),
            number(row.new),
            f"{_WORDS[row.word]} {signed(row.delta)}",
            f"{row.low:+.3f} … {row.high:+.3f}" if row.delta is not None else "–",
            probability(row.p_adjusted),
            f"{row.wins}/{row.ties}/{row.losses}",
        )
    return made


def signed(value: float | None) -> str:
    """`+0.012`; a dash where there is none."""
    return "–" if value is None else f"{value:+.3f}"


def earnings_table(earnings: Sequence[Earning], measure: str) -> Table:
    """A row a stage: what the plan gains by having it."""
    made = table(
        "stage", "without", "with", "earns", "95 % interval", "p adj.", "w/t/l", "",
        right=("without", "with", "earns", "p adj.", "w/t/l"), wrapping=("stage",),
    )  # fmt: skip
    for earning in earnings:
        row = earning.measures[measure]
        made.add_row(
            safe(earning.name), number(row.base), number(row.new), signed(row.delta),
            f"{row.low:+.3f} … {row.high:+.3f}", probability(row.p_adjusted), f"{row.wins}/{row.ties}/{row.losses}",
            _WORDS[row.word],
        )  # fmt: skip
    return made


def sweep_report(found: Sweep) -> RenderableType:
    """A row a point, the best one marked, and what the choice is worth."""
    made = table(
        "point", "run", found.measure, "change", "95 % interval", "p adj.", "",
        right=(found.measure, "change", "p adj."), wrapping=("point",), optional=("run",),
    )  # fmt: skip
    for point in found.points:
        row = point.change
        made.add_row(
            safe(point.name), point.run_id, number(point.value.value), signed(row.delta),
            f"{row.low:+.3f} … {row.high:+.3f}", probability(row.p_adjusted),
            "★ best" if point.name == found.best else "",
        )  # fmt: skip
    return Group(made, *(Text(printable(note)) for note in found.notes))


def _specification(found: Comparison) -> RenderableType:
    if not found.specification_diff:
        return Text("equal: the same specification was run twice")
    made = table("field", "base", "new", flexible=("base", "new"))
    for change in found.specification_diff:
        made.add_row(safe(change.path), safe(_plain(change.base)), safe(_plain(change.new)))
    return made


def _plain(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _tags(found: Comparison) -> Table:
    gating = [name for name, row in found.measures.items() if row.role and "Rate" not in name]
    made = table("tag", "n", *gating, right=("n", *gating))
    for tag, row in found.by_tag.items():
        cells = [signed(row[name].delta) if name in row else "–" for name in gating]
        total = max((change.total for change in row.values()), default=0)
        made.add_row(safe(tag, 24), str(total), *cells)
    return made


def _flips(found: Comparison) -> RenderableType:
    made = table("", "case", "question", "base", "new", right=("base", "new"), flexible=("question",))
    for flip in found.flips[:_FLIPS]:
        glyph = "▼ lost" if flip.direction == "lost" else "▲ found"
        made.add_row(glyph, safe(flip.case, 32), safe(flip.query), number(flip.base, 2), number(flip.new, 2))
    rest = len(found.flips) - _FLIPS
    return Group(made, Text(f"and {rest} more; --json lists all", style="dim")) if rest > 0 else made


def _answers(found: Comparison) -> list[RenderableType]:
    """What was answered before and now to the questions that flipped, and what is wrong with it."""
    parts: list[RenderableType] = []
    for flip in found.flips[:_FLIPS]:
        if flip.base_answer is None or flip.new_answer is None:
            continue
        lines = Text(f"\n{'▼' if flip.direction == 'lost' else '▲'} ", style="bold").append(safe(flip.case))
        for when, told in (("before", flip.base_answer), ("now   ", flip.new_answer)):
            lines.append(f"\n  {when}  ", style="not bold dim").append(_said(told), style="not bold")
            for fault in told.faults:
                lines.append(f"\n          ✗ {printable(fault)}", style="not bold")
        parts.append(lines)
    return [heading("Answers that flipped"), *parts] if parts else []


def _said(told: Told) -> str:
    """An answer on one line, cut to what a few lines hold."""
    text = fold_space(printable(told.text))
    return text[:_ANSWER].rstrip() + "…" if told.cut or len(text) > _ANSWER else text or "–"


def _unstable(found: Comparison) -> RenderableType:
    made = table(
        "", "case", "question", "what is wrong", "base", "new", right=("base", "new"),
        flexible=("question", "what is wrong"),
    )  # fmt: skip
    for row in found.unstable[:_FLIPS]:
        glyph = "▼" if row.change < 0 else "▲" if row.change > 0 else "·"
        wrong = "; ".join(row.failed.faults) if row.failed is not None else "–"
        made.add_row(
            glyph, safe(row.case, 32), safe(row.query), safe(wrong),
            f"{row.base_passed} of {row.base_repeats}", f"{row.new_passed} of {row.new_repeats}",
        )  # fmt: skip
    rest = len(found.unstable) - _FLIPS
    return Group(made, Text(f"and {rest} more; --json lists all", style="dim")) if rest > 0 else made


def _verdict(found: Comparison) -> Text:
    text = Text(f"\n{_GLYPHS[found.verdict]} {found.verdict}", style="bold")
    for reason in found.reasons:
        text.append(f"\n  {printable(reason)}", style="not bold")
    return text
