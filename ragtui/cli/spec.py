"""`spec save | show | diff | validate | schema`: intent, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ragtui.cli.context import running_lab
from ragtui.cli.options import JsonOption, LimitOption, PlanArgument, SetOption, SuiteOption, TagOption
from ragtui.cli.output import console, print_data, print_json, tell, write_file
from ragtui.errors import EXIT_GATE_FAILED, InvalidInput

if TYPE_CHECKING:
    from ragtui.experiment.plan import Plan
    from ragtui.experiment.specification import Specification

LoadOption = Annotated[
    bool, typer.Option("--load", help="Execute the code that the plan's python channels name, to learn its identity.")
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(name="spec", help="Write, read, compare and check specifications.", no_args_is_help=True)
    group.command("save")(save)
    group.command("show")(show)
    group.command("diff")(diff)
    group.command("validate")(validate)
    group.command("schema")(schema)
    app.add_typer(group)


def save(
    context: typer.Context,
    plan: PlanArgument = "hybrid",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file (default: stdout).")] = None,
    suite: SuiteOption = None,
    tag: TagOption = None,
    limit: LimitOption = None,
    settings: SetOption = None,
    load: LoadOption = False,
) -> None:
    """Bind a plan to this corpus and these goldens and write the specification; runs nothing.

    Example: ragtui spec save hybrid -o hybrid.json
    """
    from ragtui.cli.plans import chosen_plan
    from ragtui.experiment.specification import encode

    recipe, provenance = chosen_plan(plan, suite, tag or [], limit, settings or [])
    specification = _bound(context, recipe, load)
    data = msgspec.json.format(encode(specification, provenance), indent=2) + b"\n"
    if output is None:
        print_data(data, is_json=True)
        return
    write_file(output, data)
    tell(f"{specification.spec_id}  {output}")


def show(
    context: typer.Context, what: PlanArgument = "hybrid", load: LoadOption = False, as_json: JsonOption = False
) -> None:
    """Show a specification: a saved file, a run's, or what a preset or plan is bound to here.

    Example: ragtui spec show hybrid
    """
    found = _canonical(context, what, load)
    if as_json:
        print_json(found)
        return
    from ragtui.cli.render import pairs

    console().print(pairs(dict(_leaves(found))))


def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="A preset, a plan, a saved specification, or a run.")],
    new: Annotated[str, typer.Argument(help="The other one.")],
    load: LoadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the fields in which two specifications differ; exit 1 where they do.

    Example: ragtui spec diff bm25 hybrid
    """
    from ragtui.cli.render import safe, table
    from ragtui.experiment.specification import differences

    found = differences(_canonical(context, old, load), _canonical(context, new, load))
    if as_json:
        print_json({"differences": [{"field": path, "old": a, "new": b} for path, a, b in found]})
    elif not found:
        tell("equal")
    else:
        made = table("field", "old", "new", flexible=("old", "new"))
        for path, a, b in found:
            made.add_row(safe(path), safe(_value(a)), safe(_value(b)))
        console().print(made)
    raise typer.Exit(EXIT_GATE_FAILED if found else 0)


def validate(
    context: typer.Context,
    plan: PlanArgument = "hybrid",
    settings: SetOption = None,
    load: LoadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a plan, and that it binds to this corpus and these goldens; every fault at once.

    Example: ragtui spec validate plan.toml
    """
    from ragtui.cli.plans import chosen_plan
    from ragtui.lab import named_code

    recipe, _ = chosen_plan(plan, settings=settings or [])
    specification = running_lab(context, recipe, load).bind(recipe)
    unknown = not load and bool(named_code(recipe))
    if as_json:
        print_json({"spec_id": None if unknown else specification.spec_id, "valid": True})
    else:
        told = f"without {', '.join(named_code(recipe))}, which --load would execute to tell the id"
        tell(f"valid  {told if unknown else specification.spec_id}")


def schema(
    name: Annotated[str, typer.Argument(help="golden, plan, specification, run, comparison, matrix or export.")],
) -> None:
    """Print the JSON Schema of a file that ragtui reads or writes, for editors and other programs.

    Example: ragtui spec schema golden
    """
    from ragtui.reports.schemas import json_schema

    print_json(json_schema(name))


def _bound(context: typer.Context, recipe: Plan, load: bool) -> Specification:
    """The plan bound here. What it names as code is executed only if that is asked for."""
    from ragtui.lab import named_code

    if not load and (named := named_code(recipe)):
        raise InvalidInput(
            f"The plan names code whose identity only loading it tells: {', '.join(named)}.",
            "Say --load to execute it; `ragtui spec validate` checks the plan without.",
        )
    return running_lab(context, recipe).bind(recipe)


def _canonical(context: typer.Context, what: str, load: bool) -> dict[str, Any]:
    """The canonical form, with its fingerprint, of whatever the argument names."""
    from ragtui.artifacts.recipes import canonical
    from ragtui.cli.context import reading_lab
    from ragtui.cli.plans import PLAN_SUFFIXES, chosen_plan
    from ragtui.experiment.presets import PRESETS
    from ragtui.experiment.specification import decode

    path = Path(what)
    if path.suffix == ".json" and path.is_file() and b'"specification"' in path.read_bytes():
        specification = decode(path.read_bytes(), what).specification
    elif what in PRESETS or path.suffix in PLAN_SUFFIXES:
        recipe, _ = chosen_plan(what)
        specification = _bound(context, recipe, load)
    else:
        try:
            store, run_id = reading_lab(context).resolve(what)
        except InvalidInput as error:
            hint = f"Presets: {', '.join(PRESETS)}; plans end in {', '.join(PLAN_SUFFIXES)}."
            raise InvalidInput(f"{what!r} is no preset, file or run.", hint) from error
        specification = store.run(run_id).specification
    return {"spec_id": specification.spec_id} | canonical(specification)


def _leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves(item, f"{path}.{key}" if path else str(key))]
    return [(path, _value(value))]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
