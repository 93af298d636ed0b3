"""The only thing that executes a specification.

`run_experiment` is an async generator of events. It prepares artifacts, takes cases through the stages, scores them,
writes the events to the journal, and only then yields them. Both tiers go this way.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from ragtui.errors import ProviderUnavailable, RagtuiError, RunFailed, is_panic
from ragtui.events import RunEvent, RunFinished, RunStarted, RunStatus
from ragtui.execution.dependencies import Attempt, Dependencies, EventSink, environment_record, utc_now
from ragtui.execution.generation import GenerationExecution
from ragtui.execution.preparation import Preparation
from ragtui.execution.retrieval import GROUP, RetrievalExecution
from ragtui.experiment.cases import answers_evaluation_id, expand
from ragtui.experiment.generation import MOCK
from ragtui.experiment.specification import Specification
from ragtui.experiment.validate import measure_names

__all__ = ["GROUP", "Attempt", "Dependencies", "EventSink", "environment_record", "run_experiment", "utc_now"]


async def run_experiment(
    specification: Specification, dependencies: Dependencies, attempt: Attempt
) -> AsyncGenerator[RunEvent, None]:
    """Execute a specification and yield what happens.

    Every event is in the journal before it is yielded. The last event is RunFinished, also when the run fails; the
    error that made it fail is raised after it. Raises ProviderUnavailable before anything is written when the embedder
    is not the one that the specification names.
    """
    _check_bound(specification, dependencies)
    clock = time.perf_counter()
    journal = dependencies.journal
    plan = specification.plan
    goldens = dependencies.evaluation.cases
    cases = goldens if plan.generation is None else expand(goldens, plan.generation)
    pending = tuple(range(len(cases))) if attempt.pending is None else attempt.pending
    started = RunStarted(
        run_id=attempt.run_id,
        attempt=attempt.number,
        spec_id=specification.spec_id,
        specification=specification,
        provenance=attempt.provenance,
        tier="retrieval" if plan.generation is None else "generation",
        measures=measure_names(plan),
        cases=cases,
        pending=pending,
        environment=environment_record(attempt.fresh),
        started_at=utc_now(),
    )
    journal.write([started])
    yield started

    status: RunStatus = "failed"
    failure: BaseException | None = None
    reason = ""
    try:
        prepared = Preparation(specification, dependencies, attempt.chunks)
        async for event in prepared.events():
            journal.write([event])
            yield event
        execution = (
            RetrievalExecution(specification, dependencies, attempt, prepared)
            if plan.generation is None
            else GenerationExecution(specification, cases, dependencies, attempt, prepared)
        )
        async with aclosing(execution.events(pending)) as groups:
            async for events in groups:
                journal.write(events)
                for event in events:
                    yield event
        status, reason = execution.stopped or "completed", execution.reason
    except RagtuiError as error:
        failure, reason = error, error.message
    except BaseException as error:
        # Leaving at once: what was yielded is in the journal, and an unfinished journal is an interrupted run.
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        failure, reason = error, f"{type(error).__name__}: {error}"
    finished = RunFinished(
        attempt=attempt.number,
        status=status,
        at=utc_now(),
        elapsed_s=round(time.perf_counter() - clock, 6),
        reason=reason,
    )
    # A journal that cannot be written any more is often the failure itself.
    with suppress(RunFailed):
        journal.write([finished])
    yield finished
    if failure is not None:
        raise failure


def _check_bound(specification: Specification, dependencies: Dependencies) -> None:
    """Refuse dependencies that are not what the specification names."""
    if dependencies.corpus.corpus_id != specification.corpus_id:
        raise RunFailed("The corpus is not the one that the specification names.", "Bind the plan to this corpus anew.")
    cases = dependencies.evaluation.cases
    retrieval = specification.plan.generation is None
    evaluation_id = dependencies.evaluation.evaluation_id if retrieval else answers_evaluation_id(cases)
    if evaluation_id != specification.evaluation_id:
        raise RunFailed(
            "The goldens are not those that the specification names.", "Bind the plan to these goldens anew."
        )
    expected = specification.embedder
    if expected is not None:
        given = dependencies.embedder.identity if dependencies.embedder is not None else None
        if given != expected:
            raise ProviderUnavailable(
                f"The embedding set was made by {expected}, but the embedder given is {given or 'none'}.",
                "Give the embedder of that identity, or bind the plan to this one.",
            )
    if specification.generator is not None and specification.generator.model != MOCK:
        model = dependencies.generator.identity if dependencies.generator is not None else None
        if model != specification.generator:
            raise ProviderUnavailable(
                f"The specification names the model {specification.generator}, but the one given is {model or 'none'}.",
                "Give the model of that identity, or bind the plan to this one.",
            )
    for name, channel in specification.plan.retrieval.channels.items():
        if channel.representation != "raw":
            raise RunFailed(
                f"Channel {name!r} reads the representation {channel.representation!r}, which is not materialised.",
                "Use the representation raw.",
            )
        if channel.source is not None and channel.source not in dependencies.sources:
            raise ProviderUnavailable(
                f"Channel {name!r} needs the retriever {channel.source!r}, which is not registered.",
                f"Give the callable by its name: ragtui.open(…, retrievers={{{channel.source!r}: …}}).",
            )
