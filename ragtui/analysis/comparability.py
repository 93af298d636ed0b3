"""Whether two runs may be compared, and over which cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ragtui.analysis.recorded import RecordedRun
from ragtui.errors import ComparisonRefused
from ragtui.ids import short
from ragtui.inputs.evaluation import EvaluationCase
from ragtui.inputs.text import printable

Revisions = Mapping[str, str]


class RunsDiffer(ComparisonRefused):
    """Refused because of documents or goldens, which are all named."""

    def __init__(self, message: str, hint: str, **named: list[str]) -> None:
        super().__init__(message, hint)
        self.named = named

    def as_dict(self) -> dict[str, object]:
        """The error with its lists of names."""
        return super().as_dict() | self.named


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a comparison, by id, in the order of the new run (`only_base` in that of the base)."""

    shared: tuple[str, ...]
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both runs have the same cases."""
        return not self.only_base and not self.only_new


def pair(
    base: RecordedRun, new: RecordedRun, tag: str | None = None, documents: tuple[Revisions, Revisions] | None = None
) -> Pairing:
    """The cases to compare, those with `tag` only if one is given; ComparisonRefused where there is no sense in it.

    `documents` are both snapshots as document id → revision, where the caller has them: a refusal then names exactly
    which were added, removed and changed.
    """
    if base.tier != new.tier:
        raise ComparisonRefused(
            f"{base.run_id} is a {base.tier} run and {new.run_id} a {new.tier} run.", "Compare runs of one tier."
        )
    if base.specification.corpus_id != new.specification.corpus_id:
        raise _other_corpus(base, new, documents)
    # Tags are no part of a golden's hash: where they were edited, the new run's count.
    of_new = {case.id: case for case in new.cases}
    of_base = {case.id: case for case in base.cases}
    in_new = [name for name, case in of_new.items() if tag is None or tag in case.tags]
    in_base = [name for name, case in of_base.items() if tag is None or tag in of_new.get(name, case).tags]
    shared = tuple(name for name in in_new if name in of_base)
    if not shared:
        raise _nothing_shared(base, new, tag)
    changed = [name for name in shared if _changed(of_base[name], of_new[name], new.tier)]
    if changed:
        raise RunsDiffer(
            f"{len(changed)} golden{'' if len(changed) == 1 else 's'} with the same id differ between {base.run_id} "
            f"and {new.run_id} in what they ask or judge:\n{_listed(changed)}",
            "Run the base again over the present goldens, or give a changed golden a new id.",
            goldens=changed,
        )
    return Pairing(
        shared=shared,
        only_base=tuple(name for name in in_base if name not in of_new),
        only_new=tuple(name for name in in_new if name not in of_base),
    )


def _changed(old: EvaluationCase, new: EvaluationCase, tier: str) -> bool:
    answers_count = tier == "generation"
    return old.retrieval_hash != new.retrieval_hash or (answers_count and old.answer_hash != new.answer_hash)


def _nothing_shared(base: RecordedRun, new: RecordedRun, tag: str | None) -> ComparisonRefused:
    for run in (base, new):
        if not run.cases:
            return ComparisonRefused(f"Run {run.run_id} has no case.", "Compare runs that have cases.")
    about = "" if tag is None else f" with the tag {printable(tag)!r}"
    tags = sorted({name for case in new.cases for name in case.tags})
    hint = "Run both over the same suites." if tag is None else f"Tags in use: {printable(', '.join(tags)) or 'none'}."
    return ComparisonRefused(f"{base.run_id} and {new.run_id} share no case{about}.", hint)


def _other_corpus(
    base: RecordedRun, new: RecordedRun, documents: tuple[Revisions, Revisions] | None
) -> ComparisonRefused:
    """Name the documents that differ, as far as they are known."""
    hint = "Run the base again on the present corpus: numbers over different documents do not mean the same."
    headline = (
        f"{base.run_id} ran on the corpus {short(base.specification.corpus_id)} and {new.run_id} on "
        f"{short(new.specification.corpus_id)}"
    )
    if documents is not None:
        old, present = documents
        named = {
            "added": sorted(present.keys() - old.keys()),
            "removed": sorted(old.keys() - present.keys()),
            "changed": sorted(name for name in old.keys() & present.keys() if old[name] != present[name]),
        }
    else:
        named = {"changed": _changed_as_seen(base, new)}
    parts = [f"{what}:\n{_listed(names)}" for what, names in named.items() if names]
    if not parts:
        return RunsDiffer(f"{headline}; which documents differ is not in the two records.", hint, **named)
    seen = "" if documents is not None else " (of those that both runs retrieved)"
    return RunsDiffer(f"{headline}. Documents{seen} " + "\n".join(parts), hint, **named)


def _changed_as_seen(base: RecordedRun, new: RecordedRun) -> list[str]:
    """Documents of which both runs hold the same span with another text."""
    texts = {(chunk.doc, chunk.start, chunk.end): chunk.text for chunk in base.chunks if chunk.text}
    return sorted(
        {
            chunk.doc
            for chunk in new.chunks
            if chunk.text and texts.get((chunk.doc, chunk.start, chunk.end), chunk.text) != chunk.text
        }
    )


def _listed(names: Iterable[str]) -> str:
    return "\n".join(f"  {printable(name)}" for name in names)
