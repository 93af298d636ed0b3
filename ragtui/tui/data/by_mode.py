"""A run of the generation tier in all its modes, as analysis sees it: the retriever or the model?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ragtui.tui.data.trace import Label, store_named

if TYPE_CHECKING:
    from ragtui.analysis.decomposition import Decomposition
    from ragtui.analysis.judge import JudgeSection
    from ragtui.analysis.modes import GoldenPasses
    from ragtui.analysis.usage import ModeUsage
    from ragtui.lab import Lab
    from ragtui.metrics.aggregate import Summary


class ByMode(msgspec.Struct, frozen=True, kw_only=True):
    """What `ragtui show` tells of a run of the generation tier, from the same functions.

    `decomposition` is None where one of the three modes is missing, `judged` where nobody judges. `unstable` are the
    goldens whose pass flips between repeats.
    """

    run_id: str
    name: str
    model: str
    repeats: int
    summaries: dict[str, Summary]
    decomposition: Decomposition | None
    judged: JudgeSection | None
    unstable: tuple[GoldenPasses, ...]
    usage: dict[str, ModeUsage]


def by_mode(lab: Lab, run_id: str, label: Label) -> ByMode:
    """Read the run and take it apart. InvalidInput or StoreUnavailable as the store says."""
    from ragtui.analysis.decomposition import decompose
    from ragtui.analysis.judge import judge_section
    from ragtui.analysis.modes import mode_summaries, modes_of, passes
    from ragtui.analysis.stored import outlined_run
    from ragtui.analysis.usage import usage_by_mode

    run = outlined_run(store_named(lab, label), run_id)
    recipe, identity = run.specification.plan.generation, run.specification.generator
    return ByMode(
        run_id=run_id,
        name=run.provenance.name,
        model=str(identity) if identity is not None else "none",
        repeats=recipe.repeats if recipe is not None else 1,
        summaries={str(mode): found for mode, found in mode_summaries(run).items()},
        decomposition=decompose(run),
        judged=judge_section(run),
        unstable=tuple(row for mode in modes_of(run) for row in passes(run, mode) if row.unstable),
        usage=usage_by_mode(run),
    )
