"""A generation run by mode as sections of a list: measures, differences, outcomes, what is unstable, judged, spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtui.metrics.aggregate import Estimate
from ragtui.metrics.measure import parse_measure
from ragtui.tui.data.by_mode import ByMode
from ragtui.tui.widgets.cells import Column, Row
from ragtui.tui.widgets.section_list import Section
from ragtui.tui.widgets.text import inert, value

if TYPE_CHECKING:
    from ragtui.analysis.usage import Latency, Tokens

WIDE = 110
_MARKS = {True: "✓", False: "✗"}
# Beside the measures of answers, how well was searched: as the command line shows it.
_OF_RETRIEVAL = ("R@5", "RR", "nDCG@10")


def sections(found: ByMode, wide: bool) -> list[Section]:
    """Every part that the run has something for."""
    parts = [_measures(found, wide)]
    if found.decomposition is not None:
        parts += [_differences(found, wide), _outcomes(found)]
    if found.unstable:
        parts.append(_unstable(found))
    if found.judged is not None:
        parts.append(_judged(found, wide))
    parts.append(_usage(found))
    return parts


def estimate_text(estimate: Estimate | None, wide: bool, signed: bool = False) -> Text:
    """`0.812 .74–.87`, or with room `0.812 [0.74, 0.87]`; with a sign where it is a difference."""
    if estimate is None or estimate.value is None:
        return Text("–", end="")
    if signed:
        text = Text(f"{estimate.value:+.3f} ", end="")
        return text.append(f"[{estimate.low:+.2f}, {estimate.high:+.2f}]", "dim")
    return Text(f"{estimate.value:.3f} ", end="").append(short_interval(estimate, wide), "dim")


def short_interval(estimate: Estimate | None, wide: bool) -> str:
    """`.74–.87`, or with room `[0.74, 0.87]`; nothing without cases."""
    if estimate is None or estimate.value is None:
        return ""
    if wide:
        return f"[{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{_short(estimate.low)}–{_short(estimate.high)}"


def _short(number: float) -> str:
    """Two digits behind the point and none before it, so that four modes fit 80 columns: `.74`, `1.0`."""
    text = f"{number:.2f}"
    return text[1:] if text.startswith("0.") else text[:3]


def _mode_columns(found: ByMode, wide: bool) -> list[Column]:
    width = 18 if wide else 13
    return [Column(mode, mode, width, rank=1 if mode == "mock" else 0) for mode in found.summaries]


def _measures(found: ByMode, wide: bool) -> Section:
    rows = []
    for name in next(iter(found.summaries.values())).overall:
        if not (parse_measure(name).of_answers or name.split("(")[0] in _OF_RETRIEVAL):
            continue
        cells = [summary.overall.get(name) for summary in found.summaries.values()]
        if any(cell is not None and cell.n for cell in cells):
            rows.append(Row(name, (inert(name), *(estimate_text(cell, wide) for cell in cells))))
    columns = (Column("measure", "measure", least=14), *_mode_columns(found, wide))
    return Section("measures", columns, tuple(rows), "No case has a value yet.")


def _differences(found: ByMode, wide: bool) -> Section:
    """The paired differences, overall and by tag."""
    assert found.decomposition is not None
    pairs = found.decomposition.differences
    columns = [Column("tag", found.decomposition.measure, least=10)]
    for pair in pairs:
        columns += [
            Column(pair.first, f"{pair.first} − {pair.second}", 21),
            Column(f"{pair.first} n", "n", 5, right=True),
        ]
    named = {"all goldens": [pair.overall for pair in pairs]}
    tags = dict.fromkeys(tag for pair in pairs for tag in pair.by_tag)
    named |= {f"tag {tag}": [pair.by_tag.get(tag, Estimate(None, 0, -1, 1)) for pair in pairs] for tag in tags}
    rows = []
    for name, told in named.items():
        cells = [cell for each in told for cell in (estimate_text(each, wide, True), Text(str(each.n), end=""))]
        rows.append(Row(name, (inert(name), *cells)))
    return Section("differences", tuple(columns), tuple(rows))


def _outcomes(found: ByMode) -> Section:
    """The eight outcomes, each with its goldens and its meaning."""
    assert found.decomposition is not None
    columns = (
        Column("oracle", "oracle", 6), Column("e2e", "e2e", 3), Column("noretrieval", "none", 4),
        Column("goldens", "goldens", 7, right=True), Column("meaning", "which means", least=30),
    )  # fmt: skip
    rows = []
    for row in found.decomposition.outcomes:
        style = "" if row.goldens else "dim"
        sides = (row.oracle, row.e2e, row.noretrieval)
        told = [*(_MARKS[side] for side in sides), str(len(row.goldens))]
        cells = (*(Text(text, style, end="") for text in told), inert(row.meaning, style))
        rows.append(Row(outcome_key(*sides), cells))
    return Section("outcomes", columns, tuple(rows))


def outcome_key(oracle: bool, e2e: bool, noretrieval: bool) -> str:
    """`✓✗✗`: passed in oracle, e2e, noretrieval."""
    return "".join(_MARKS[side] for side in (oracle, e2e, noretrieval))


def _unstable(found: ByMode) -> Section:
    columns = (Column("golden", "unstable: golden", least=20), Column("mode", "mode", 11),
               Column("passed", "passed", 8, right=True))  # fmt: skip
    rows = [
        Row(f"{row.golden}@{row.mode}#1",
            (inert(row.golden), Text(row.mode, end=""), Text(f"{sum(row.passes)} of {len(row.passes)}", end="")))
        for row in found.unstable
    ]  # fmt: skip
    return Section("unstable", columns, tuple(rows))


def _judged(found: ByMode, wide: bool) -> Section:
    """What the judge says, with its spread over repeats and its agreement with what is counted."""
    judged = found.judged
    assert judged is not None
    modes = list(judged.measures)
    columns = (
        Column("judged", "judged", 12), *(Column(mode, mode, 18 if wide else 13) for mode in modes),
        Column("spread", "spread", 6, right=True, rank=2), Column("agrees", "agrees with", rank=1, least=14),
    )  # fmt: skip
    agreement = {row.judged: row for row in judged.agreement}
    rows = []
    for name in next(iter(judged.measures.values()), {}):
        row = agreement.get(name)
        told = ""
        if row is not None and row.agree is not None:
            kappa = "" if row.kappa is None else f", κ {row.kappa:.2f}"
            told = f"{row.counted} in {row.agree:.0%} of {row.cases}{kappa}"
        cells = [estimate_text(judged.measures[mode][name], wide) for mode in modes]
        spread = Text(value(judged.spread.get(name)), end="")
        rows.append(Row(name, (Text(name, end=""), *cells, spread, Text(told, end=""))))
    return Section("judged", columns, tuple(rows))


def _usage(found: ByMode) -> Section:
    titles = ("replies", "prompt tok", "answer tok", "cost", "first ms", "p50 ms", "p95 ms", "tok/s")
    widths = (7, 10, 10, 8, 8, 7, 7, 5)
    ranks = (0, 0, 0, 0, 3, 1, 1, 2)
    columns = (
        Column("mode", "what it took", least=18),
        *(Column(t, t, w, right=True, rank=r) for t, w, r in zip(titles, widths, ranks, strict=True)),
    )
    rows = []
    for mode, row in found.usage.items():
        if row.fresh.replies:
            rows.append(Row(mode, (Text(f"{mode}, fresh", end=""), *_tokens(row.fresh), *_times(row.latency))))
        if row.replayed.replies:
            blank = [Text("", end="")] * 4
            rows.append(Row(f"{mode} replayed", (Text(f"{mode}, replayed", end=""), *_tokens(row.replayed), *blank)))
    return Section("usage", columns, tuple(rows), "No model was asked.")


def _tokens(tokens: Tokens) -> list[Text]:
    cost = "–" if tokens.cost is None else f"{tokens.cost:.4f}"
    told = (f"{tokens.replies:,}", f"{tokens.prompt_tokens:,}", f"{tokens.completion_tokens:,}", cost)
    return [Text(text, end="") for text in told]


def _times(speed: Latency) -> list[Text]:
    times = (speed.first_token_p50, speed.total_p50, speed.total_p95, speed.tokens_per_second)
    return [Text("–" if time is None else f"{time:.0f}", end="") for time in times]
