"""Replies that earlier runs paid for, found by their key.

The keys of all runs with the same model are read once; the replies themselves a page at a time, when they are wanted:
cases ask in the order in which an earlier run recorded them, so a page serves many.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from ragtui.providers.protocols import GeneratorIdentity
from ragtui.store.gate import Gate
from ragtui.trace import CaseTrace, PaidReply

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PAGE = 200
_PAGES_KEPT = 4
_Place = tuple[int, int, int]
_KEYS = """
    SELECT run, idx, attempt,
    json_extract_string(trace, '$.answer.key'), json_extract_string(trace, '$.answer.rewrite.key'),
    json_extract_string(trace, '$.answer.judge.key')
    FROM traces WHERE run IN (
        SELECT run FROM runs WHERE tier = 'generation'
        AND ((json_extract_string(specification, '$.generator.model') = $model
        AND json_extract_string(specification, '$.generator.digest') = $digest)
        OR (json_extract_string(specification, '$.judge.model') = $model
        AND json_extract_string(specification, '$.judge.digest') = $digest))
    ) ORDER BY run DESC, idx, attempt
"""


class PaidAnswers:
    """The replies of one model in one store. Safe to ask from several threads."""

    def __init__(self, gate: Gate, identity: GeneratorIdentity) -> None:
        self._gate, self._identity = gate, identity
        self._lock = threading.Lock()
        self._places: dict[str, _Place] | None = None
        self._pages: OrderedDict[_Place, dict[str, PaidReply]] = OrderedDict()

    def get(self, key: str) -> PaidReply | None:
        """The newest reply under this key that was an answer; None where there is none."""
        with self._lock:
            if self._places is None:
                self._places = self._read_places()
            place = self._places.get(key)
            if place is None:
                return None
            for page in reversed(self._pages.values()):
                if key in page:
                    return page[key]
            page = self._read_page(place)
            self._pages[place] = page
            if len(self._pages) > _PAGES_KEPT:
                self._pages.popitem(last=False)
            return page.get(key)

    def _read_places(self) -> dict[str, _Place]:
        places: dict[str, _Place] = {}
        wanted = {"model": self._identity.model, "digest": self._identity.digest}
        with self._gate.read() as connection:
            for run, index, attempt, *keys in connection.execute(_KEYS, wanted).fetchall():
                for key in keys:
                    if key:
                        places.setdefault(key, (run, index, attempt))
        return places

    def _read_page(self, place: _Place) -> dict[str, PaidReply]:
        run, index, _ = place
        with self._gate.read() as connection:
            texts = _traces(connection, run, index)
        found: dict[str, PaidReply] = {}
        for text in texts:
            answer = msgspec.json.decode(text, type=CaseTrace).answered
            if answer is None:
                continue
            rewrite = answer.rewrite
            if rewrite is not None and rewrite.key:
                found.setdefault(rewrite.key, PaidReply(text=rewrite.question, usage=rewrite.usage))
            judge = answer.judge
            if judge is not None and judge.key:
                found.setdefault(judge.key, PaidReply(text=judge.raw, usage=judge.usage))
            # A failed case has no key, so what was no answer is asked again.
            if answer.key:
                reply = PaidReply(text=answer.text, thinking=answer.thinking, finish=answer.finish, usage=answer.usage)
                found.setdefault(answer.key, reply)
        return found


def _traces(connection: DuckDBPyConnection, run: int, index: int) -> list[str]:
    rows = connection.execute(
        "SELECT trace FROM traces WHERE run = $run AND idx >= $index ORDER BY idx, attempt DESC LIMIT $page",
        {"run": run, "index": index, "page": _PAGE},
    ).fetchall()
    return [row[0] for row in rows]
