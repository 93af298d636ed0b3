"""The corpus's status as rows and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from ragtui.artifacts.cache import ArtifactCache
from ragtui.cli.render import heading, pairs, safe, table
from ragtui.ids import short

if TYPE_CHECKING:
    from ragtui.analysis.inputs_report import InputsReport


def artifact_rows(folder: Path) -> list[dict[str, Any]]:
    """Each artifact with kind, id, size in bytes, when it was built, in how many seconds, and its damage if any."""
    rows = []
    for stored in ArtifactCache(folder).stored():
        record = stored.record
        rows.append(
            {
                "kind": record.kind if record else stored.folder.name.partition("-")[0],
                "id": record.id if record else None,
                "folder": stored.folder.name,
                "size": record.size if record else 0,
                "built_at": record.built_at if record else None,
                "seconds": record.seconds if record else None,
                "damage": stored.damage or None,
            }
        )
    return rows


def status_report(inputs: InputsReport, artifacts: Sequence[dict[str, Any]]) -> RenderableType:
    """What `corpus status` prints."""
    parts: list[RenderableType] = [
        pairs(
            {
                "corpus": inputs.corpus_id or "not valid",
                "documents": f"{inputs.documents} ({inputs.characters:,} characters)",
                "problems": f"{len(inputs.problems)}: ragtui corpus check" if inputs.problems else "none",
            }
        )
    ]
    suites = table("suite", "goldens", right=("goldens",))
    for name, count in inputs.suites.items():
        suites.add_row(safe(name), str(count))
    parts += [heading("Suites"), suites, heading("Artifacts")]
    if not artifacts:
        return Group(*parts, "none yet; `ragtui corpus ingest` builds them")
    made = table("kind", "id", "size", "built", "seconds", "state", right=("size", "seconds"))
    for row in artifacts:
        made.add_row(
            row["kind"], short(row["id"] or row["folder"]), megabytes(row["size"]), row["built_at"] or "–",
            "–" if row["seconds"] is None else f"{row['seconds']:.2f}", safe(row["damage"] or "intact"),
        )  # fmt: skip
    return Group(*parts, made)


def megabytes(size: int) -> str:
    """`1.4 MB`; small sizes in kB."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
