"""What the diff screen shows, as immutable values: pure functions from a store to a comparison and its questions.

Statistics and verdict are analysis's; nothing here computes one. Everything blocks on the store's file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.errors import InvalidInput
from ragtui.store.rows import Baseline, RunRow
from ragtui.tui.data import trace
from ragtui.tui.data.case import CaseView, Hit, Stage
from ragtui.tui.data.trace import Label, RunLine, RunView

if TYPE_CHECKING:
    from ragtui.analysis.compare import Comparison
    from ragtui.analysis.recorded import RecordedRun
    from ragtui.experiment.generation import Mode
    from ragtui.lab import Lab


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the pair."""

    row: RunRow
    store: Label
    baseline: str


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """The two runs that are compared; `why` says how the base was chosen."""

    base: Side
    new: Side
    why: str


class DiffView(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison with the scores behind it.

    `base` and `new` have shape (shared cases, measures) over `measures`, NaN where unscored; `cases`, `queries` and
    `tags` are by row. `names` say, for base and new, which case of a generation run stands for a golden.
    """

    pair: Pair
    comparison: Comparison
    measures: tuple[str, ...]
    cases: tuple[str, ...]
    queries: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    names: tuple[dict[str, str], dict[str, str]]
    base: NDArray[np.float64]
    new: NDArray[np.float64]
    primary: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose measure changed; `gain` is positive where it got better."""

    case: str
    query: str
    tags: tuple[str, ...]
    base: float
    new: float
    gain: float


class PairView(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs, its result lists as two stages, the base's first."""

    base: CaseView
    new: CaseView
    stages: tuple[Stage, Stage]


def choose_pair(lines: tuple[RunLine, ...], base_id: str | None, new_id: str | None) -> Pair:
    """The runs to compare: the newest complete one unless named, against its baseline, else the one before it.

    Raises InvalidInput where there are no two runs for that.
    """
    sides = {line.row.run_id: Side(row=line.row, store=line.store, baseline=line.baseline) for line in lines}
    for wanted in (base_id, new_id):
        if wanted is not None and wanted not in sides:
            raise InvalidInput(f"There is no run {wanted!r}.", "It may have been pruned. Choose another with b or n.")
    finished = [side for side in sides.values() if side.row.status == "completed"]
    if new_id is None and not finished:
        raise InvalidInput("No complete run is recorded yet.", "Press 2 to launch one; a diff needs two.")
    new = sides[new_id] if new_id is not None else finished[0]
    if base_id is not None:
        return Pair(base=sides[base_id], new=new, why="chosen")
    alike = [side for side in sides.values() if _key(side.row) == _key(new.row) and side.row.run_id != new.row.run_id]
    promoted = [side for side in alike if side.baseline]
    if promoted:
        return Pair(base=promoted[0], new=new, why=f"baseline {promoted[0].baseline}")
    others = [side for side in alike if side.row.status == "completed"]
    earlier = [side for side in others if side.row.started_at <= new.row.started_at] or others
    if not earlier:
        raise InvalidInput(
            f"Run {new.row.run_id} has nothing to be compared with: no other run has its corpus, suites and tier.",
            "Press 2 to launch another, or choose a base with b.",
        )
    return Pair(base=earlier[0], new=new, why="run before; no baseline")


def diff_view(lab: Lab, pair: Pair, tell: Callable[[str], None] = lambda text: None) -> DiffView:
    """Compare; ComparisonRefused where the numbers would not mean the same. `tell` hears how far the reading is."""
    from ragtui.analysis.compare import compare_cases
    from ragtui.analysis.stored import runs_to_compare

    of_base, of_new = ((trace.store_named(lab, side.store), side.row.run_id) for side in (pair.base, pair.new))
    base, new = runs_to_compare(of_base, of_new, tell)
    tell("Comparing …")
    comparison, cases, old, present = compare_cases(base, new)
    names = (_case_names(base, comparison.answer_mode), _case_names(new, comparison.answer_mode))
    measures = tuple(comparison.measures)
    primary = next((name for name, change in comparison.measures.items() if change.role == "primary"), "")
    return DiffView(
        pair=pair,
        comparison=comparison,
        measures=measures,
        cases=tuple(case.id for case in cases),
        queries=tuple(case.query for case in cases),
        tags=tuple(case.tags for case in cases),
        names=names,
        base=old,
        new=present,
        primary=primary or (measures[0] if measures else ""),
    )


def questions(view: DiffView, measure: str, tag: str | None = None) -> tuple[Question, ...]:
    """The cases for which the measure changed, the greatest loss first."""
    column = view.measures.index(measure)
    change = view.comparison.measures[measure]
    old, present = view.base[:, column], view.new[:, column]
    gains = present - old if change.higher_is_better else old - present
    rows = np.flatnonzero(np.abs(np.nan_to_num(gains)) > 1e-12)
    chosen = [
        row for row in rows[np.argsort(gains[rows], kind="stable")].tolist() if tag is None or tag in view.tags[row]
    ]
    return tuple(
        Question(
            case=view.cases[row], query=view.queries[row], tags=view.tags[row], base=float(old[row]),
            new=float(present[row]), gain=float(gains[row]),
        )
        for row in chosen
    )  # fmt: skip


def open_pair(lab: Lab, pair: Pair) -> tuple[RunView, RunView]:
    """Both runs, opened, for `pair_view`."""
    return (
        trace.open_run(lab, pair.base.row.run_id, pair.base.store),
        trace.open_run(lab, pair.new.row.run_id, pair.new.store),
    )


def pair_view(
    lab: Lab, views: tuple[RunView, RunView], case_id: str, names: tuple[dict[str, str], dict[str, str]] = ({}, {})
) -> PairView:
    """One golden in both runs. Each hit's note says how it moved against the other list."""
    base, new = (
        trace.open_case(lab, view, known.get(case_id, case_id)) for view, known in zip(views, names, strict=True)
    )
    same = views[0].record.specification.chunk_set_id == views[1].record.specification.chunk_set_id
    left, right = (next((stage.hits for stage in side.stages if stage.name == "results"), ()) for side in (base, new))
    return PairView(
        base=base,
        new=new,
        stages=(
            Stage(name="base", hits=tuple(_gone(hit, right, same) for hit in left)),
            Stage(name="new", hits=tuple(_moved(hit, left, same) for hit in right)),
        ),
    )


def promote(lab: Lab, run_id: str, name: str, why: str) -> Baseline:
    """Make the run the baseline of its corpus, suites and tier under a name."""
    if not name.strip():
        raise InvalidInput("A baseline needs a name.", "For example: main.")
    return lab.store.promote(run_id, name.strip(), why.strip())


def _case_names(run: RecordedRun, mode: Mode | None) -> dict[str, str]:
    """Golden → its first finished case in the mode of a generation run; nothing for a retrieval run, which has none."""
    from ragtui.analysis.modes import cases_of_mode

    if mode is None:
        return {}
    found = cases_of_mode(run, mode)
    return {golden: case.id for golden, case, _ in reversed(found)}


def _key(row: RunRow) -> tuple[str, tuple[str, ...], str]:
    return row.corpus_id, tuple(sorted(set(row.suites))), row.tier


def _rank_in(hit: Hit, other: tuple[Hit, ...], same_chunks: bool) -> int | None:
    """Where the other list has the chunk, or its document where the chunks are not the same."""
    if same_chunks:
        return next((found.rank for found in other if found.name == hit.name), None)
    return next((found.rank for found in other if found.doc == hit.doc), None)


def _moved(hit: Hit, base: tuple[Hit, ...], same_chunks: bool) -> Hit:
    rank = _rank_in(hit, base, same_chunks)
    if rank is None:
        note = " new"
    else:
        note = "   =" if rank == hit.rank else f"▲{rank - hit.rank:>3}" if rank > hit.rank else f"▼{hit.rank - rank:>3}"
    return msgspec.structs.replace(hit, note=note)


def _gone(hit: Hit, new: tuple[Hit, ...], same_chunks: bool) -> Hit:
    return msgspec.structs.replace(hit, note="    " if _rank_in(hit, new, same_chunks) else "gone")
