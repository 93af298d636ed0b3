"""What is kept of runs: the journal of a live one and the DuckDB file of those that ended.

    journal      write, lock and cancel a live run's journal       lines       read journals: decode, follow, cut
    store        `Store`, the face of everything below             rows        the structures that queries return
    gate         opens the file briefly, one at a time             faults      DuckDB's failures in the user's words
    schema       numbered migrations                               load        a journal into the store
    batch        a journal's lines as rows                         inserts     a batch into the tables
    runs         queries over runs                                 cases       queries over one run's cases
    columns      scores and rankings of many cases at once
    baselines    promoted runs                                     upkeep      copy, prune, Parquet
    locks        the one system call that differs by platform      live        runs that are going on, by their journals

DuckDB is loaded when a store file is first opened, never by an import.
"""

from ragtui.store.lines import DamagedJournal
from ragtui.store.rows import AttemptRow, Baseline, CaseRow, RunRecord, RunRow
from ragtui.store.store import Store

__all__ = ["AttemptRow", "Baseline", "CaseRow", "DamagedJournal", "RunRecord", "RunRow", "Store"]
