"""What the launch form means: its plan bound here, the manifest, its faults, and what running it takes."""

from __future__ import annotations

import subprocess

import msgspec

from ragtui.artifacts.recipes import canonical
from ragtui.errors import InvalidInput, RagtuiError
from ragtui.experiment.editing import edit
from ragtui.experiment.generation import MOCK
from ragtui.experiment.plan import Plan, tier_of, uses
from ragtui.experiment.specification import Specification, decode
from ragtui.experiment.validate import plan_faults
from ragtui.lab import Lab, plan_embedder
from ragtui.settings import Workspace
from ragtui.store.rows import RunRow
from ragtui.tui.data.form import Form, base_plan, settings_of
from ragtui.tui.data.launch_answers import (
    GENERATION,
    MATRIX,
    MATRIX_LIMIT,
    RETRIEVAL,
    answering,
    answering_arguments,
    as_settings,
    calls_of,
    models_of,
    plans_of,
    spending_arguments,
    spending_faults,
)
from ragtui.tui.data.launch_record import against_baseline, leaves, time_of
from ragtui.tui.data.program import program

_BIND_SECONDS = 20


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a form means here. `faults` are (path of the field or empty, sentence); without any the run can start.

    `leaves` are the canonical manifest's fields in order; `changes` the fields that differ from the baseline's
    specification as (field, baseline's, this one's). `arguments` follow `ragtui` on a command line, `binding` follow
    `ragtui spec save` for the same specification. A matrix is `rows` runs, has no one specification (`spec_id` and
    `binding` are empty), and `leaves` are its first row's plan. `asks` is whether any model is asked.
    """

    form: Form
    faults: tuple[tuple[str, str], ...] = ()
    spec_id: str = ""
    leaves: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    binding: tuple[str, ...] = ()
    cases: int = 0
    work: str = ""
    builds: tuple[str, ...] = ()
    seconds: float | None = None
    seconds_from: str = ""
    runs: int = 0
    last: RunRow | None = None
    baseline: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()
    store_fault: str = ""
    rows: int = 0
    asks: bool = False


def preview(lab: Lab, form: Form) -> Preview:
    """Everything that can be said of a form without running it. Never raises for what the user wrote."""
    faults: list[tuple[str, str]] = []
    try:
        plan, name = base_plan(form.plan)
    except RagtuiError as error:
        return Preview(form=form, faults=(("plan", _sentence(error)),))
    own = plan
    if form.tier != RETRIEVAL:
        plan = answering(plan, form, lab.workspace, faults)
        faults += spending_faults(form, lab.workspace)
    plan, sets = _edited(plan, own, form, faults)
    selection = plan.evaluation
    if suites := _parts(form.suites):
        selection = msgspec.structs.replace(selection, suites=tuple(suites))
    if tags := _parts(form.tags):
        selection = msgspec.structs.replace(selection, tags=tuple(tags))
    if form.limit.strip():
        try:
            selection = msgspec.structs.replace(selection, limit=int(form.limit))
        except ValueError:
            faults.append(("limit", f"{form.limit.strip()!r} is not a whole number."))
    elif form.tier == MATRIX:
        selection = msgspec.structs.replace(selection, limit=MATRIX_LIMIT)
    plan = msgspec.structs.replace(plan, evaluation=selection)
    faults += [(_field_of(fault), fault) for fault in plan_faults(plan)]
    arguments = _arguments(form, sets, suites, tags, name)
    if faults:
        faults += _selection_faults(lab, plan, form)
        return Preview(form=form, faults=tuple(dict.fromkeys(faults)), arguments=arguments)
    if form.tier == MATRIX:
        return _matrix(lab, form, plan, arguments)
    try:
        binding = _binding(plan, form, arguments)
        specification = _bound(lab, plan, binding)
        goldens = len(lab.evaluation(plan.evaluation, tier_of(plan)).cases)
        cases, asked = calls_of(plan, goldens)
    except RagtuiError as error:
        return Preview(form=form, faults=((_place(error, form), _sentence(error)),), arguments=arguments)
    return _recorded(
        lab,
        specification,
        Preview(
            form=form,
            spec_id=specification.spec_id,
            leaves=tuple(leaves(canonical(specification))),
            arguments=arguments,
            binding=binding,
            cases=cases,
            work=f"{asked}; {_work(plan, goldens)}" if asked else _work(plan, cases),
            builds=_builds(lab, specification),
            asks=_asks(plan),
        ),
    )


def _selection_faults(lab: Lab, plan: Plan, form: Form) -> list[tuple[str, str]]:
    """What is wrong with suites or tags, beside faults for which the plan cannot be bound."""
    if not (form.suites.strip() or form.tags.strip()):
        return []
    try:
        lab.evaluation(msgspec.structs.replace(plan.evaluation, limit=None), tier_of(plan))
    except RagtuiError as error:
        place = _place(error, form)
        return [(place, _sentence(error))] if place else []
    return []


def _matrix(lab: Lab, form: Form, plan: Plan, arguments: tuple[str, ...]) -> Preview:
    """What a matrix means: as many runs as there are models and plans. Each is bound by its own process."""
    rows = len(models_of(form)) * len(plans_of(form))
    try:
        goldens = len(lab.evaluation(plan.evaluation, "generation").cases)
        outside = plan.embedding.model != "builtin" or any(c.source for c in plan.retrieval.channels.values())
        builds = () if outside else _builds(lab, _bound_here(lab, _echoing(plan)))
    except RagtuiError as error:
        return Preview(form=form, faults=((_place(error, form), _sentence(error)),), arguments=arguments)
    cases, asked = calls_of(plan, goldens)
    return Preview(
        form=form, leaves=tuple(leaves(canonical(plan))), arguments=arguments, cases=cases * rows, rows=rows,
        work=f"{asked}, {len(models_of(form))} × {len(plans_of(form))} runs", builds=builds,
        asks=any(model != MOCK for model in models_of(form)),
    )  # fmt: skip


def _echoing(plan: Plan) -> Plan:
    """The plan with the echo in the place of its model: it has the same artifacts and needs no server."""
    recipe = plan.generation
    return plan if recipe is None else msgspec.structs.replace(
        plan, generation=msgspec.structs.replace(recipe, model=MOCK, judge=None)
    )  # fmt: skip


def _asks(plan: Plan) -> bool:
    """Whether a model on a server is asked."""
    recipe = plan.generation
    return recipe is not None and (recipe.model != MOCK or recipe.judge is not None)


def _edited(plan: Plan, own: Plan, form: Form, faults: list[tuple[str, str]]) -> tuple[Plan, list[str]]:
    """The plan with every change that can be applied, and those changes; the others become faults.

    The form's fields change the plan as its file has it, `own`.
    """
    wanted = settings_of(own, form.fields)
    wanted += [("extra", part.strip()) for part in form.extra.split(";") if part.strip()]
    applied = []
    for path, setting in wanted:
        try:
            plan = edit(plan, [setting])
        except InvalidInput as error:
            faults.append((path, error.message.removeprefix("--set: ")))
        else:
            applied.append(setting)
    return plan, applied


def _binding(plan: Plan, form: Form, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What `ragtui spec save` takes for the same specification; a name changes none, and it knows no model options."""
    kept = [word for place, word in enumerate(arguments[1:], 1) if "--name" not in (word, arguments[place - 1])]
    if form.tier == GENERATION:
        own = (*answering_arguments(form), *spending_arguments(form))
        start = next(place for place in range(len(kept)) if tuple(kept[place : place + len(own)]) == own)
        kept[start : start + len(own)] = as_settings(plan)
    return tuple(kept)


def _bound(lab: Lab, plan: Plan, binding: tuple[str, ...]) -> Specification:
    """The plan bound. A plan that names callables or servers is bound by a process: user code never runs in the app."""
    outside = any(channel.source for channel in plan.retrieval.channels.values()) or plan.embedding.model != "builtin"
    return _bound_outside(lab.workspace, binding) if outside or _asks(plan) else _bound_here(lab, plan)


def _bound_here(lab: Lab, plan: Plan) -> Specification:
    bound = Lab(lab.workspace, "read_only", plan_embedder(plan, lab.workspace))
    bound.snapshot = lab.snapshot
    return bound.bind(plan)


def _bound_outside(workspace: Workspace, binding: tuple[str, ...]) -> Specification:
    command = [*program(workspace), "spec", "save", "--load", *binding]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_BIND_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"The plan cannot be bound: {type(error).__name__}.", "Try `ragtui spec save`.") from error
    if done.returncode:
        raise InvalidInput(done.stderr.decode("utf-8", "replace").removeprefix("ragtui: ").strip(), "")
    return decode(done.stdout, "the bound plan").specification


def _recorded(lab: Lab, specification: Specification, made: Preview) -> Preview:
    """The preview with what the stores know; a store that cannot be read is told, and stops nothing."""
    try:
        same = lab.store.spec_runs(specification.spec_id)
        spent, source = time_of(lab, specification, same, made.cases)
        baseline, changes = against_baseline(lab, specification)
    except RagtuiError as error:
        return msgspec.structs.replace(made, store_fault=_sentence(error))
    return msgspec.structs.replace(
        made,
        runs=len(same),
        last=same[0] if same else None,
        seconds=spent,
        seconds_from=source,
        baseline=baseline,
        changes=changes,
    )


def _work(plan: Plan, cases: int) -> str:
    """Calls by kind, e.g. `430 × bm25, 430 × vector; no network`."""
    calls = ", ".join(f"{cases:,} × {name}" for name in plan.retrieval.channels)
    remote = [channel.source or name for name, channel in plan.retrieval.channels.items() if channel.kind == "http"]
    if uses(plan, "vector") and plan.embedding.model != "builtin":
        remote.append(plan.embedding.model)
    if plan.generation is not None and plan.generation.model != MOCK:
        remote.append(plan.generation.model)
    return f"{calls}; " + (f"asks {', '.join(remote)}" if remote else "no server is asked")


def _builds(lab: Lab, specification: Specification) -> tuple[str, ...]:
    """The kinds of artifacts that are not there yet."""
    needed = (
        ("chunks", specification.chunk_set_id),
        ("bm25", specification.bm25_id),
        ("vectors", specification.embedding_set_id),
    )
    return tuple(kind for kind, wanted in needed if wanted is not None and not lab.cache.folder(kind, wanted).is_dir())


def _arguments(form: Form, sets: list[str], suites: list[str], tags: list[str], name: str) -> tuple[str, ...]:
    commands = {GENERATION: ["generate", form.plan], MATRIX: ["matrix"]}
    found = commands.get(form.tier, ["run", form.plan])
    if form.tier != RETRIEVAL:
        found += [*answering_arguments(form), *spending_arguments(form)]
    if suites:
        found += ["--suite", ",".join(suites)]
    for tag in tags:
        found += ["--tag", tag]
    if form.limit.strip():
        found += ["--limit", form.limit.strip()]
    for setting in sets:
        found += ["--set", setting]
    if form.name.strip() and form.name.strip() != name and form.tier != MATRIX:
        found += ["--name", form.name.strip()]
    return tuple(found)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _field_of(fault: str) -> str:
    """The form's field that a fault's path belongs to."""
    path = fault.partition(":")[0]
    names = {
        "evaluation.suites": "suites", "evaluation.limit": "limit", "generation.repeats": "repeats",
        "generation.modes": "modes", "generation.model": "model", "generation.judge.model": "judge",
    }  # fmt: skip
    return names.get(path, path)


def _place(error: RagtuiError, form: Form) -> str:
    if "has any of the tags" in error.message:
        return "tags"
    return "suites" if "suite" in error.message and "does not exist" in error.message else ""


def _sentence(error: RagtuiError) -> str:
    return f"{error.message} {error.hint}".strip()
