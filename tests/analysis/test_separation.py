"""Which hits of a run the separation table takes for relevant and for irrelevant."""

from __future__ import annotations

import msgspec

from ragtui.analysis.separation import separation_rows
from ragtui.trace import CaseError
from tests.analysis.factory import PLAN, make_case, make_chunks, make_run


def test_what_nobody_judged_and_what_failed_is_neither_relevant_nor_irrelevant() -> None:
    unjudged = msgspec.structs.replace(make_case("unjudged"), expect_refusal=False)
    cases = [make_case("judged", {"a": 1}), unjudged, make_case("refusal"), make_case("failed", {"b": 1})]
    hits = {"bm25": [(0, 3.0), (1, 2.0)], "vector": []}
    run = make_run(cases, [hits] * 4, make_chunks({"a": 1, "b": 1}), plan=PLAN)
    failed = msgspec.structs.replace(run.traces[3], status="error", error=CaseError("timeout", "slow"))
    row = separation_rows(msgspec.structs.replace(run, traces=(*run.traces[:3], failed)))[0]
    assert (row.relevant.count, row.irrelevant.count, row.refusals.count) == (1, 1, 1)
    assert (row.relevant.p50, row.irrelevant.p50, row.refusals.p50) == (3.0, 2.0, 3.0)
