"""The options that several commands share, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ragtui.cli.output import Display
from ragtui.errors import InvalidInput
from ragtui.inputs.text import is_unsafe


def _folder(value: Path | None) -> Path | None:
    if value is not None and str(value) == "-":
        raise InvalidInput("--report writes several files, which stdout cannot hold.", "Name a folder, or use --json.")
    return value


def _one_line(value: str | None) -> str | None:
    if value is not None and any(map(is_unsafe, value)):
        raise InvalidInput("--name holds a line break or a control character.", "Write a name of one line.")
    return value


PlanArgument = Annotated[
    str, typer.Argument(help="A preset (bm25, vector, hybrid, hybrid-weighted), or a plan in .toml, .json or .py.")
]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="Suites, separated by commas (default: core).")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only goldens with any of these tags.")]
LimitOption = Annotated[int | None, typer.Option("--limit", help="At most this many cases, stratified by tag.")]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="Edit a field, e.g. chunking.size=400.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="List every miss with what was retrieved instead.")]
MinOption = Annotated[list[str] | None, typer.Option("--min", help="Fail below this, e.g. nDCG@10=0.6.")]
DisplayOption = Annotated[Display, typer.Option("--display", help="full, rich, plain or none (default: by terminal).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
AgainstOption = Annotated[
    str | None, typer.Option("--against", help="Compare with this run; `baseline` is the promoted one.")
]
ToleranceOption = Annotated[float, typer.Option("--tolerance", help="The greatest loss that does not matter.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 6 where the verdict is INCONCLUSIVE.")]
AblateOption = Annotated[bool, typer.Option("--ablate", help="Run each leave-one-out too: what does each stage earn?")]
SweepOption = Annotated[
    list[str] | None, typer.Option("--sweep", help="Run a grid, e.g. retrieval.fusion.rank_constant=10,20,60.")
]
HoldoutOption = Annotated[
    str | None, typer.Option("--holdout", help="A tag or a fraction of the questions to report a sweep's choice on.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", help="A folder for JSON, Markdown, JUnit and HTML reports.", callback=_folder),
]
NameOption = Annotated[str | None, typer.Option("--name", help="A name for the run.", callback=_one_line)]
NoteOption = Annotated[str, typer.Option("--note", help="Why this run.")]
ModeOption = Annotated[
    Literal["verdict", "threshold"], typer.Option("--mode", help="threshold: no statistics, the plain rule.")
]
SubsetOption = Annotated[bool, typer.Option("--subset", help="Runs that share only some cases may PASS.")]
AllowErrorsOption = Annotated[bool, typer.Option("--allow-errors", help="Cases without a score may PASS.")]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, any unique prefix of it, latest, or baseline.")
]

# What an attempt of the generation tier may spend.
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask everything anew; replay no answer of an earlier run.")]
CallsOption = Annotated[int | None, typer.Option("--max-calls", min=0, help="Stop before more calls than this.")]
CostOption = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before it costs more than this.")]
