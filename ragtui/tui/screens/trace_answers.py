"""The half of the trace screen that shows answers: one whole, and a golden's modes side by side."""

from __future__ import annotations

from functools import partial

from ragtui.tui.data import documents
from ragtui.tui.data.answers import GoldenAnswers, golden_answers
from ragtui.tui.data.trace import Label
from ragtui.tui.screens.by_mode import open_by_mode
from ragtui.tui.screens.trace_filters import Filters
from ragtui.tui.widgets.answer_text import mode_body, mode_title, modes_head, whole_answer
from ragtui.tui.widgets.beside import BesideDialog, Side
from ragtui.tui.widgets.case_pane import CasePane
from ragtui.tui.widgets.document import DocumentDialog


class Answers(Filters):
    """What the keys of a generation run's case do."""

    def open_mode(self, case_id: str) -> None:
        """Show another case of the same golden; a screen fetches it."""

    def chosen(self) -> tuple[str, Label, str] | None:
        """Id, store and tier of the run that is looked at; the screen knows it."""
        return None

    def action_by_mode(self) -> None:
        """Show the run in its modes."""
        if (run := self.chosen()) is not None:
            open_by_mode(self, *run)

    def action_answer(self) -> None:
        """Show the answer and its prompt."""
        view = self.query_one(CasePane).view
        if view is not None:
            title, plain = f"Answer to {view.case.id}", documents.answer_text(view)
            self.app.push_screen(DocumentDialog(title, plain, whole_answer(view)))

    def action_modes(self) -> None:
        """Show the golden in every mode."""
        case = self.query_one(CasePane).view
        if self.view is not None and case is not None:
            self.fetch("modes", partial(golden_answers, self.ragtui.lab, self.view, case.case.id))

    def _got_modes(self, found: GoldenAnswers | None) -> None:
        if found is None:
            self.toast("This run asks no model: it has no modes.")
            return
        sides = [
            Side(mode.shown(found.repeat)[0], mode_title(mode), mode_body(found, mode), mode.mode == "mock")
            for mode in found.modes
        ]
        case = self.query_one(CasePane).view
        begin = case.case.id if case is not None else ""
        self.app.push_screen(
            BesideDialog(f"{found.golden} in every mode", modes_head(found), sides, begin),
            lambda key: self.open_mode(key) if key and key != begin else None,
        )
