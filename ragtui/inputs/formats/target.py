"""What the target of an import has already: files, documents, and the ids of its other suites."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ragtui.errors import InvalidInput
from ragtui.inputs.formats.source import Source
from ragtui.inputs.goldens import read_suites, suite_files
from ragtui.inputs.text import plural

DOCUMENTS_NAME = "documents.jsonl"


class Taken:
    """The ids that the target's other suites have, and which of them the source brings again."""

    def __init__(self, goldens: Path, written: Iterable[str]) -> None:
        others = sorted(suite_files(goldens).keys() - set(written))
        # What is wrong with those suites is told by `corpus check`.
        self._suites = {item.golden.id: item.suite for item in read_suites(goldens, others)[0]}
        self._met: list[str] = []

    def __contains__(self, golden_id: str) -> bool:
        return golden_id in self._suites

    def meet(self, golden_id: str) -> None:
        """An id that is going to be written."""
        if golden_id in self:
            self._met.append(golden_id)

    def refuse(self) -> None:
        """Raise InvalidInput if any was met."""
        if not self._met:
            return
        suites = sorted({self._suites[golden_id] for golden_id in self._met})
        raise InvalidInput(
            f"{plural(len(self._met), 'question')} of the source {'has' if len(self._met) == 1 else 'have'} an id that "
            f"the suite {suites[0]} has, e.g. {self._met[0]!r}; ids are unique across suites.",
            "Give the questions ids of their own, or write elsewhere with --into FOLDER.",
        )


def refuse_existing(targets: list[Path], corpus: Path, source: Source, force: bool) -> None:
    """Raise InvalidInput where files would be replaced, or a corpus be added to, without `force`."""
    there = [path for path in targets if path.exists()]
    if there and not force:
        shown = ", ".join(path.name for path in there)
        raise InvalidInput(f"{shown} exists already.", "Say --force to replace it, or write elsewhere with --into.")
    if source.documents is not None and corpus.is_dir():
        others = [path for path in corpus.iterdir() if not path.name.startswith(".") and path.name != DOCUMENTS_NAME]
        if others and not force:
            raise InvalidInput(
                f"The corpus already holds {plural(len(others), 'file')}, e.g. {min(others).name}.",
                "Write elsewhere with --into FOLDER, or say --force to add to it.",
            )
