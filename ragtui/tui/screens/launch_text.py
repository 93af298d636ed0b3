"""The words of the launch screen: functions from a preview to text."""

from __future__ import annotations

from textual.content import Content

from ragtui.ids import short
from ragtui.tui.data.launch import Preview
from ragtui.tui.data.launch_estimate import Estimated
from ragtui.tui.widgets.rows import Row
from ragtui.tui.widgets.text import block, line, plural, seconds, when

_CHANGES = 8
_NAME = 9
_BRIEF = 32
_FIRST = 1


def summary(found: Preview, width: int = 60, spent: Content | None = None) -> Content:
    """What the form means: its faults, or identity, history, work, what it spends, what differs from the baseline."""
    if found.faults:
        count = len(found.faults)
        parts = [Content.styled(f"✗ {count} fault{'' if count == 1 else 's'} to mend", "bold $error")]
        parts += [block(text) for _, text in found.faults]
        return Content("\n").join(parts)
    identity = Content.assemble((short(found.spec_id, 12), "bold"), "  ", _history(found))
    rows = [
        ("matrix", Content.styled(plural(found.rows, "run"), "bold")) if found.rows else ("spec", identity),
        ("cases", Content.assemble((f"{found.cases:,}", "bold"), "  ", line(found.work, "$secondary"))),
        ("time", _time(found)),
    ]
    if found.rows:
        rows.append(("then", Content.styled("m on Live shows its table while it fills", "$secondary")))
    elif found.store_fault:
        rows.append(("store", block(f"⚠ {found.store_fault}", "$warning")))
    elif not found.baseline:
        rows.append(("baseline", Content.styled("none for this corpus and these suites", "$secondary")))
    elif not found.changes:
        rows.append(("baseline", Content(f"the same specification as {found.baseline}")))
    else:
        rows.append(("baseline", Content(f"{plural(len(found.changes), 'field')} differ from {found.baseline}")))
        for path, old, new in found.changes[:_CHANGES]:
            rows.append(
                (
                    "",
                    Content.assemble(
                        line(path.removeprefix("plan."), "$secondary"),
                        "  ",
                        line(_brief(old)),
                        " → ",
                        line(_brief(new), "bold"),
                    ),
                )
            )
        if len(found.changes) > _CHANGES:
            rows.append(("", Content.styled(f"and {len(found.changes) - _CHANGES} more", "$secondary")))
    lines = [_hanging(name, text, width) for name, text in rows]
    # The table of what is asked is as wide as a narrow pane, so that it stands for itself.
    return Content("\n").join([*lines[:_FIRST], *([spent] if spent is not None else []), *lines[_FIRST:]])


def spending(found: Preview, counted: Estimated | None, counting: bool) -> Content | None:
    """What would be asked, as `--dry-run` counts it, a line a model and mode; None where no model is asked."""
    if not found.asks or found.faults:
        return None
    if counted is None or counted.arguments != found.arguments:
        if counting:
            return Content.styled("counting calls, tokens, cost …", "$secondary")
        return Content.styled("ctrl+g counts calls, tokens, cost", "$secondary")
    if counted.fault:
        return block(f"⚠ {counted.fault}", "$warning")
    lines = [Content.styled(f"{'asks':11} {'calls':>5} {'tokens':>6} {'cost ≤':>6}", "$secondary")]
    costs = [row.cost for row in counted.rows if row.cost is not None]
    calls, tokens = sum(row.calls for row in counted.rows), sum(row.prompt_tokens for row in counted.rows)
    lines.append(Content.styled(_counted("in all", calls, tokens, sum(costs) if costs else None), "bold"))
    models = list(dict.fromkeys(row.model for row in counted.rows)) if found.rows else []
    for row in counted.rows:
        if row.model in models:
            models.remove(row.model)
            lines.append(line(row.model, "bold"))
        lines.append(Content(_counted(row.mode, row.calls, row.prompt_tokens, row.cost)))
    replayed = sum(row.replayed for row in counted.rows)
    lines += [Content.styled(f"{replayed:,} more are replayed, paid for before", "$secondary")] if replayed else []
    limit = found.form.max_calls.strip()
    # A matrix has its limit for each run.
    if limit and not found.rows and calls > int(limit):
        lines.append(Content.styled(f"⚠ stops after {int(limit):,} calls; resume goes on", "$warning"))
    return Content("\n").join(lines)


def _counted(name: str, calls: int, tokens: int, cost: float | None) -> str:
    """A row of 31 cells; large numbers in thousands or millions."""
    brief = f"{tokens:,}" if tokens < 1e5 else f"{tokens / 1e3:,.0f}k" if tokens < 1e7 else f"{tokens / 1e6:,.1f}M"
    price = "–" if cost is None else f"{cost:.4f}" if cost < 10 else f"{cost:.2f}" if cost < 1000 else f"{cost:.0f}"
    return f"{name:11} {calls:>5,} {brief:>6} {price:>6}"


def _hanging(name: str, text: Content, width: int) -> Content:
    """A name and its text, whose further lines begin under the first."""
    lines = [piece for part in text.split("\n") for piece in part.wrap(max(width - _NAME, 12))]
    first = Content.assemble((name.ljust(_NAME), "$secondary"), lines[0] if lines else "")
    return Content("\n").join([first, *(Content(" " * _NAME) + piece for piece in lines[1:])])


def _history(found: Preview) -> Content:
    if found.store_fault:
        return Content.styled("its runs cannot be read", "$secondary")
    if not found.runs or found.last is None:
        return Content.styled("never run", "$secondary")
    return Content.styled(
        f"run {plural(found.runs, 'time')}, last {when(found.last.started_at)} ({found.last.status})", "$secondary"
    )


def _time(found: Preview) -> Content:
    unknown = "unknown" if found.store_fault else "unknown: nothing like it has run here"
    text = f"about {seconds(found.seconds)}" if found.seconds is not None else unknown
    builds = f"; builds {', '.join(found.builds)} first" if found.builds else ""
    source = f"  {found.seconds_from}" if found.seconds_from else ""
    return Content.assemble(text + builds, (source, "$secondary"))


def _brief(text: str) -> str:
    """An id's first characters; the beginning of a long value."""
    if text.startswith("sha256:"):
        return short(text, 8)
    return text if len(text) <= _BRIEF else text[: _BRIEF - 1] + "…"


def leaf_rows(found: Preview) -> list[Row]:
    """The manifest as a tree: a row a field under a row for each recipe that holds it."""
    rows: list[Row] = []
    open_path: list[str] = []
    for path, value in found.leaves:
        *above, name = path.removeprefix("plan.").split(".")
        shared = 0
        while shared < min(len(above), len(open_path)) and above[shared] == open_path[shared]:
            shared += 1
        rows += [(line_at(depth, above[depth], "bold"), "") for depth in range(shared, len(above))]
        open_path = above
        name = "plan schema" if path == "plan.schema" else name
        rows.append((line_at(len(above), name, "$secondary"), line(_brief(value))))
    return rows


def line_at(depth: int, text: str, style: str) -> Content:
    """A line of the tree."""
    return Content("  " * depth) + line(text, style)


def state(found: Preview) -> str:
    """The command that starts the same run."""
    if found.faults:
        return "Mend the marked fields; the run can then be started."
    return "ragtui " + " ".join(found.arguments)
