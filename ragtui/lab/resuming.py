"""What is left to do of a recorded run, and in which order its cases stand."""

from __future__ import annotations

from ragtui.engine import Attempt
from ragtui.errors import RunFailed
from ragtui.experiment.cases import parse_case
from ragtui.experiment.specification import Specification
from ragtui.inputs.evaluation import EvaluationSet, in_order
from ragtui.store.rows import RunRecord
from ragtui.store.store import Store


def begun_fresh(run: RunRecord) -> bool:
    """Whether an attempt of the run was asked to replay no answer of an earlier run."""
    return any(environment.get("fresh") is True for environment in run.environments)


def resumed(
    store: Store, run_id: str, specification: Specification, evaluation: EvaluationSet, only_errors: bool = False
) -> tuple[Attempt, EvaluationSet]:
    """The next attempt of a stored run over the cases without a result, or with `only_errors` over those that failed.

    The goldens come in the order in which the run numbers its cases, which that of their files need not be any more.
    Raises RunFailed where the run is another specification's.
    """
    row = store.run(run_id)
    if row.spec_id != specification.spec_id:
        raise RunFailed(
            f"Run {run_id} cannot be resumed: its corpus, goldens or embedder cannot be reproduced here.",
            "Start a new run with `ragtui run`.",
        )
    cases = [case.id for case in store.cases_of(run_id)]
    done = store.finished_indexes(run_id, including_errors=False)
    tried = store.finished_indexes(run_id) if only_errors else set(range(len(cases)))
    attempt = Attempt(
        run_id=run_id,
        number=row.attempts + 1,
        pending=tuple(index for index in range(len(cases)) if index not in done and index in tried),
        chunks=store.told_chunks(run_id) if specification.sources else (),
        provenance=row.provenance,
        fresh=begun_fresh(row),
    )
    goldens = cases if row.tier == "retrieval" else [parse_case(case).golden for case in cases]
    return attempt, in_order(evaluation, goldens)
