"""What the trace screen shows, as immutable values: pure functions from a store to lists of runs and cases.

Everything here blocks on the store's file; the screen calls it in threads and receives the values in messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragtui.store.cases import CaseFilter
from ragtui.store.rows import Baseline, CaseRow, RunRecord, RunRow
from ragtui.tui.data.case import CaseView, case_view

if TYPE_CHECKING:
    from ragtui.lab import Lab
    from ragtui.store.store import Store

Label = Literal["working", "reference"]
Kind = Literal["all", "missed", "nothing", "error", "pending", "changed"]
KINDS: tuple[Kind, ...] = ("all", "missed", "nothing", "error", "pending", "changed")
KIND_WORDS: dict[Kind, str] = {
    "all": "all cases", "missed": "missed", "nothing": "found nothing", "error": "errors", "pending": "not executed",
    "changed": "changed against baseline",
}  # fmt: skip
_SAME = 1e-12


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list; `store` says which file it is in, `baseline` the name under which it is promoted.

    `done` counts the cases that were executed.
    """

    row: RunRow
    store: Label
    baseline: str = ""
    done: int


class CaseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases are listed and in which order; `sort` is a measure or `index`."""

    text: str = ""
    tag: str | None = None
    kind: Kind = "all"
    sort: str = "index"
    descending: bool = False


class CaseOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The cases that a query leaves, as indexes into the run, and how they were found.

    `near` is true where no case held the words as typed and mistyped ones were taken too. `note` says in a sentence
    why a list is empty that needs more than its words to be understood.
    """

    indexes: NDArray[np.int64]
    near: bool = False
    note: str = ""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """One run, opened: its record, the measure that decides, its tags with their counts, and its baseline if any."""

    record: RunRecord
    store: Label
    decisive: str
    tags: tuple[tuple[str, int], ...]
    baseline: Baseline | None


def run_lines(lab: Lab, limit: int = 10_000) -> tuple[RunLine, ...]:
    """Every recorded run, newest first, the working store's before the reference's, baselines named."""
    lines: list[RunLine] = []
    seen: set[str] = set()
    for label, store in _stores(lab):
        with store.session():
            promoted = {item.run_id: item.name for item in reversed(store.baselines())}
            for row in store.runs(limit=limit):
                if row.run_id not in seen:
                    seen.add(row.run_id)
                    name, done = promoted.get(row.run_id, ""), _done(store, row)
                    lines.append(RunLine(row=row, store=label, baseline=name, done=done))
    return tuple(lines)


def _done(store: Store, row: RunRow) -> int:
    """How many cases were executed; asked of the store only where some may not have been."""
    whole = row.status == "completed" or row.scored + row.errors == row.cases
    return row.cases if whole else len(store.finished_indexes(row.run_id))


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its list as first shown: the query as far as the run can answer it, and the list's first rows."""

    view: RunView
    query: CaseQuery
    order: CaseOrder
    page: tuple[CaseRow, ...]
    case: CaseView | None


def enter_run(
    lab: Lab, run_id: str, label: Label | None, query: CaseQuery, case_id: str | None = None, rows: int = 64
) -> Opened:
    """Open a run by its id in the store `label`, or by any name that `lab.resolve` takes, in one opening."""
    store = store_named(lab, label) if label is not None else None
    if store is None:
        store, run_id = lab.resolve(run_id)
    with store.session():
        view = open_run(lab, run_id, "working" if store is lab.store else "reference")
        wanted = fitting(view, query)
        # Another run is read for this, maybe of another store: it waits until this one is closed.
        order = case_order(lab, view, wanted) if wanted.kind != "changed" else None
        page = case_page(lab, view, order.indexes[:rows].tolist()) if order is not None else []
        case = case_view(store, view.record, case_id) if case_id is not None else None
    if order is None:
        order = case_order(lab, view, wanted)
    return Opened(view=view, query=wanted, order=order, page=tuple(page), case=case)


def open_run(lab: Lab, run_id: str, label: Label) -> RunView:
    """One run with what its list needs."""
    store = store_named(lab, label)
    record = store.run(run_id)
    return RunView(
        record=record,
        store=label,
        decisive=decisive(record.measure_names, record.specification.plan.metrics.primary),
        tags=tuple(store.tags_of(run_id).items()),
        baseline=baseline_of(lab, record),
    )


def decisive(measures: Sequence[str], primary: str) -> str:
    """`decisive_measure`, or nothing for a run without measures."""
    from ragtui.analysis.summary import decisive_measure

    return decisive_measure(measures, primary) if measures else ""


def baseline_of(lab: Lab, record: RunRow) -> Baseline | None:
    """The newest promotion for a run's corpus, suites and tier, in the working store first."""
    suites = tuple(sorted(set(record.suites)))
    for _, store in _stores(lab):
        for item in store.baselines():
            if (item.corpus_id, item.suites, item.tier) == (record.corpus_id, suites, record.tier):
                return item
    return None


def case_order(lab: Lab, view: RunView, query: CaseQuery) -> CaseOrder:
    """The cases that the query leaves. Where words as typed find nothing, mistyped ones are looked for."""
    store, run_id = store_named(lab, view.store), view.record.run_id
    wanted = _filter(view, query)
    options = {"sort": query.sort, "descending": query.descending}
    indexes, near = store.case_order(run_id, wanted, **options), False  # type: ignore[arg-type]
    if not len(indexes) and query.text.strip():
        fuzzy = msgspec.structs.replace(wanted, fuzzy=True)
        indexes = store.case_order(run_id, fuzzy, **options)  # type: ignore[arg-type]
        near = bool(len(indexes))
    if query.kind != "changed":
        return CaseOrder(indexes=indexes, near=near)
    if view.baseline is None:
        return CaseOrder(indexes=indexes[:0], note="No baseline is promoted for this run's corpus and suites.")
    if view.baseline.run_id == run_id:
        return CaseOrder(indexes=indexes[:0], note="This run is the baseline.")
    changed = changed_indexes(store, run_id, *lab.resolve(view.baseline.run_id))
    return CaseOrder(indexes=indexes[np.isin(indexes, changed)], near=near)


def fitting(view: RunView, query: CaseQuery) -> CaseQuery:
    """The query as far as the run can answer it: a remembered measure or tag that it lacks is left out."""
    sort = query.sort if query.sort == "index" or query.sort in view.record.measure_names else "index"
    tag = query.tag if query.tag in dict(view.tags) else None
    unscored = query.kind in ("missed", "nothing") and not view.decisive
    return msgspec.structs.replace(query, sort=sort, tag=tag, kind="all" if unscored else query.kind)


def changed_indexes(store: Store, run_id: str, base_store: Store, base_id: str) -> NDArray[np.int64]:
    """The indexes of executed cases of a run for which a measure that both runs report has another value."""
    names, rows, present = store.score_columns(run_id)
    base_names, base_rows, old = base_store.score_columns(base_id)
    shared = [name for name in names if name in base_names]
    cases = [case for case in rows if case in base_rows]
    left = present[np.ix_([rows[case] for case in cases], [names.index(name) for name in shared])]
    right = old[np.ix_([base_rows[case] for case in cases], [base_names.index(name) for name in shared])]
    differs = ~((np.abs(left - right) <= _SAME) | (np.isnan(left) & np.isnan(right)))
    changed = {cases[row] for row in np.flatnonzero(differs.any(axis=1))}
    executed = sorted(store.finished_indexes(run_id))
    return np.asarray([index for index, case in zip(executed, rows, strict=True) if case in changed], np.int64)


def case_page(lab: Lab, view: RunView, indexes: Sequence[int]) -> list[CaseRow]:
    """The rows under these indexes."""
    return store_named(lab, view.store).cases_at(view.record.run_id, indexes)


def open_case(lab: Lab, view: RunView, case_id: str) -> CaseView:
    """One case of an opened run."""
    return case_view(store_named(lab, view.store), view.record, case_id)


def store_named(lab: Lab, label: Label) -> Store:
    """The working or the reference store."""
    return lab.reference if label == "reference" and lab.reference is not None else lab.store


def _stores(lab: Lab) -> list[tuple[Label, Store]]:
    stores: list[tuple[Label, Store]] = [("working", lab.store)]
    if lab.reference is not None:
        stores.append(("reference", lab.reference))
    return stores


def _filter(view: RunView, query: CaseQuery) -> CaseFilter:
    return CaseFilter(
        text=query.text,
        tag=query.tag,
        status=query.kind if query.kind in ("error", "pending") else None,
        missed_by=view.decisive if query.kind == "nothing" else None,
        imperfect_by=view.decisive if query.kind == "missed" else None,
    )
