"""`score`: measure anybody's runs against anybody's judgments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ragtui.cli.options import JsonOption
from ragtui.cli.output import console, print_json, say
from ragtui.errors import InvalidInput
from ragtui.inputs.text import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ragtui.analysis.contrast import MeasureChange
    from ragtui.analysis.foreign import ScoredRun
    from ragtui.metrics.measure import Measure

DEFAULT_MEASURES = ("nDCG@10", "R@10", "R@100", "P@10", "RR", "AP", "Rprec", "Success@5")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score")(score)


def score(
    qrels: Annotated[Path, typer.Argument(help="Judgments: TREC, BEIR (.tsv) or JSON; also .gz and .lz4.")],
    runs: Annotated[list[Path], typer.Argument(help="Runs: TREC or JSON; also .gz and .lz4. The first is the base.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            help=f"E.g. nDCG@10, ndcg_cut_10, recall@5, map; repeat for more. Default: {', '.join(DEFAULT_MEASURES)}.",
        ),
    ] = None,
    relevance: Annotated[
        int, typer.Option("-l", "--relevance", min=1, help="The lowest grade that is relevant (trec_eval -l).")
    ] = 1,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete/--only-retrieved",
            help="Judged queries that a run lacks count as 0 (trec_eval -c), or are left out.",
        ),
    ] = True,
    per_query: Annotated[bool, typer.Option("-q", "--per-query", help="Each query's values too.")] = False,
    double: Annotated[
        bool, typer.Option("--double", help="Compare scores as 64-bit floats, as trec_eval 10 does.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score runs of any system, several side by side, with trec_eval's numbers.

    A query with nothing to find counts as 0 in each mean here, because trec_eval counts it so and published numbers
    do; in ragtui's own runs such a question is left out of ranking measures and has its own. Hits are ordered by score
    and, where scores are equal, by document id, descending; the rank column is ignored.

    Example: ragtui score qrels.txt base.run new.run.gz --measure nDCG@10 --measure map
    """
    from ragtui.analysis.foreign import paired, score_run
    from ragtui.inputs.formats.files import seekable
    from ragtui.inputs.formats.trec import read_qrels, read_run

    names = [str(path) for path in runs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"{repeated[0]} is given twice.", "Name each run once.")
    measures = chosen_measures(measure or DEFAULT_MEASURES, relevance)
    with seekable(qrels) as file:
        judgments = read_qrels(file)
    scored: dict[str, ScoredRun] = {}
    for name, path in zip(names, runs, strict=True):
        with seekable(path) as file:
            run = read_run(file)
        found = score_run(judgments, run, measures, complete=complete, single_precision=not double)
        if found.lacking == len(judgments):
            known, asked = next(iter(judgments)), next(iter(run))
            raise InvalidInput(
                f"{name}: of its queries ({len(run):,}) none is among the judged ones ({len(judgments):,}).",
                f"A judged query is called {known!r}, a query of the run {asked!r}.",
            )
        scored[name] = found
    others = {name: scored[name] for name in names[1:]}
    changes = paired(measures, scored[names[0]], others)
    if as_json:
        print_json(score_record(measures, scored, changes, complete, per_query))
        return
    for name, found in scored.items():
        say(explained(name, found, len(judgments), complete))
    console().print(score_report(measures, scored, changes, per_query))


def chosen_measures(names: list[str] | tuple[str, ...], relevance: int) -> tuple[Measure, ...]:
    """The measures, none twice, at the given relevance unless a name carries its own."""
    from ragtui.metrics.measure import measure_at, parse_measure

    parsed = [parse_measure(name) for name in names]
    spans = [str(measure) for measure in parsed if measure.level == "span"]
    if spans:
        raise InvalidInput(f"{spans[0]} needs judged spans, and qrels judge documents.", "Leave out level=span.")
    return tuple(dict.fromkeys(measure_at(name, relevance) for name in names))


def explained(name: str, found: ScoredRun, judged: int, complete: bool) -> str:
    """One line: over which queries the means are."""
    parts = [f"{name}: mean over {len(found.queries):,} of {judged:,} judged queries"]
    if found.lacking:
        how = "that the run lacks count as 0 (--only-retrieved leaves them out)" if complete else "are left out"
        parts.append(f"{found.lacking:,} {how}")
    if found.empty:
        parts.append(f"{found.empty:,} with nothing to find count as 0, as in trec_eval")
    if found.unjudged:
        parts.append(f"left out, being unjudged: {plural(found.unjudged, 'query', 'queries')} of the run")
    return "; ".join(parts) + "."


def score_record(
    measures: tuple[Measure, ...], scored: dict[str, ScoredRun], changes: dict[str, dict[str, MeasureChange]],
    complete: bool, per_query: bool,
) -> dict[str, Any]:  # fmt: skip
    """What `--json` prints."""
    means = {name: found.means(measures) for name, found in scored.items()}
    record: dict[str, Any] = {
        "complete": complete,
        "runs": {name: {key: mean.value for key, mean in row.items()} for name, row in means.items()},
        "intervals": {
            name: {key: {"n": mean.n, "low": mean.low, "high": mean.high} for key, mean in row.items()}
            for name, row in means.items()
        },
        "queries": {
            name: {
                "scored": len(found.queries),
                "lacking": found.lacking,
                "unjudged": found.unjudged,
                "nothing_to_find": found.empty,
            }
            for name, found in scored.items()
        },
    }
    if changes:
        record["base"] = next(iter(scored))
        record["changes"] = {name: msgspec.to_builtins(table) for name, table in changes.items()}
    if per_query:
        record["per_query"] = {name: found.per_query(measures) for name, found in scored.items()}
    return record


def score_report(
    measures: tuple[Measure, ...], scored: dict[str, ScoredRun], changes: dict[str, dict[str, MeasureChange]],
    per_query: bool,
) -> RenderableType:  # fmt: skip
    """Means side by side, the differences, and each query's values where asked for."""
    from rich.console import Group

    from ragtui.cli.render import heading, interval, number, probability, safe, table

    parts: list[RenderableType] = []
    means = {name: found.means(measures) for name, found in scored.items()}
    if len(scored) == 1:
        [row] = means.values()
        alone = table("measure", "value", "95 % interval", "n", right=("value", "n"))
        for key, mean in row.items():
            alone.add_row(key, number(mean.value, 4), interval(mean), f"{mean.n:,}")
        parts.append(alone)
    else:
        columns = [_label(name, scored) for name in scored]
        side = table("measure", *columns, right=columns)
        for key in map(str, measures):
            side.add_row(key, *(number(means[name][key].value, 4) for name in scored))
        parts.append(side)
    for name, changed in changes.items():
        figures = ("difference", "95 % interval", "p", "p adjusted", "better", "equal", "worse")
        made = table("measure", *figures, right=figures, optional=("equal",))
        for key, change in changed.items():
            shown = "–" if change.delta is None else f"{change.delta:+.4f}"
            made.add_row(
                key, shown, f"{change.low:+.4f} … {change.high:+.4f}", probability(change.p),
                probability(change.p_adjusted), str(change.wins), str(change.ties), str(change.losses),
            )  # fmt: skip
        paired_queries = max((change.scored for change in changed.values()), default=0)
        title = f"{_label(name, scored)} against {_label(next(iter(scored)), scored)}"
        parts += [heading(f"{title}, {plural(paired_queries, 'query', 'queries')} in pairs"), made]
    for name, found in scored.items() if per_query else ():
        rows = table("query", *map(str, measures), right=list(map(str, measures)))
        for query, values in found.per_query(measures).items():
            rows.add_row(safe(query, 30), *(number(value, 4) for value in values.values()))
        parts += [heading(_label(name, scored)), rows]
    return Group(*parts)


def _label(name: str, scored: dict[str, Any]) -> str:
    """The file's own name where that tells the runs apart."""
    from ragtui.inputs.text import printable

    last = Path(name).name
    return printable(last if sum(Path(other).name == last for other in scored) == 1 else name)
