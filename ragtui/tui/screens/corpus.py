"""The corpus screen: the frozen inputs, what is wrong with them, and what is built from them."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static
from textual.worker import get_current_worker

from ragtui.errors import Interrupted, RagtuiError
from ragtui.lab import Lab
from ragtui.tui.data import corpus as data
from ragtui.tui.messages import Failed, Loaded, Told
from ragtui.tui.screens import corpus_text
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.corpus_lists import corpus_lists
from ragtui.tui.widgets.frame import StatusLine
from ragtui.tui.widgets.pane import pane
from ragtui.tui.widgets.rows import RowList

_ORDERS = {"name": "by name", "goldens": "by goldens", "unfound": "never retrieved first", "size": "by size"}


class CorpusScreen(RagtuiScreen):
    """Documents, suites, artifacts, problems."""

    MODE = "corpus"
    TITLE_WORDS = "Corpus"
    CSS_PATH = "corpus.tcss"
    HELP = """The corpus frozen into a snapshot, the goldens that are asked of it, and the artifacts that are built from
    both. Every problem names its file and line. Artifacts are found by content: a changed text makes new ones and never
    a wrong answer; old ones stay until they are reset or pruned."""
    BINDINGS: ClassVar[list[Any]] = [
        Binding("c", "check", "Check", id="corpus.check", tooltip="Read and validate corpus and goldens again."),
        Binding("i", "ingest", "Ingest", id="corpus.ingest", tooltip="Build chunks, BM25 index and vectors now."),
        Binding(
            "escape", "stop", "Stop building", id="corpus.stop", tooltip="Stop building; what is finished is kept."
        ),
        Binding(
            "o",
            "order",
            "Order",
            id="corpus.order",
            tooltip="Order documents by name, goldens, size, or never retrieved first.",
        ),
        Binding(
            "h",
            "health",
            "Health",
            id="corpus.health",
            tooltip="What the recorded runs say of the questions themselves.",
        ),
        Binding(
            "R",
            "reset",
            "Reset",
            id="corpus.reset",
            tooltip="Delete every artifact; asks first. Runs, corpus and goldens stay.",
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.inputs: data.Inputs | None = None
        self.artifacts: tuple[data.ArtifactLine, ...] = ()
        self.retrieved: tuple[str, frozenset[str]] | None = None
        # Whether the record of runs could not be read.
        self.unread = False
        self.building = ""
        self.order = "name"

    # -- layout -------------------------------------------------------------------------------------------------------

    def compose_body(self) -> ComposeResult:
        """Problems if there are any; documents beside snapshot and suites; artifacts."""
        problems, documents, suites, artifacts = corpus_lists()
        yield pane("✗ Problems", problems, id="problems-pane")
        with Horizontal(id="upper"):
            yield pane("Documents", documents, id="documents-pane")
            with Vertical(id="side"):
                yield pane("Snapshot", Static("Reading the corpus…", id="snapshot", markup=False), id="snapshot-pane")
                yield pane("Suites and tags", suites, id="suites-pane")
        yield pane("Artifacts", artifacts, id="artifacts-pane")

    def on_mount(self) -> None:
        """Read."""
        order = self.ragtui.memory.get("corpus.order", "name")
        self.order = order if order in _ORDERS else "name"
        self.refresh_data()
        self.query_one("#documents").focus()

    def on_resize(self) -> None:
        """At the smallest size the snapshot is said on the line of state only."""
        self.set_class(self.size.height < 24, "-cramped")

    # -- data ---------------------------------------------------------------------------------------------------------

    def refresh_data(self) -> None:
        """Read inputs, artifacts, and what the last run found; the corpus is frozen anew."""
        lab = self.ragtui.renew_lab()
        self.fetch("inputs", lambda: data.inputs(lab))
        self.fetch("artifacts", lambda: data.artifacts(lab))
        self.fetch("retrieved", lambda: data.retrieved_documents(lab))

    def store_changed(self) -> None:
        """Only what depends on runs."""
        lab = self.ragtui.lab
        self.fetch("retrieved", lambda: data.retrieved_documents(lab))
        self.fetch("artifacts", lambda: data.artifacts(lab))

    def on_loaded(self, message: Loaded) -> None:
        """Keep and show."""
        topic, value = message.topic, message.value
        if topic == "inputs":
            self.inputs = value
            self._show_inputs(value)
        elif topic == "artifacts":
            self.artifacts = value
            self._show_artifacts()
        elif topic == "retrieved":
            self.retrieved, self.unread = value, False
        elif topic in ("ingest", "reset"):
            self.building = ""
            self.toast(value)
            self.refresh_data()
        elif topic == "preview":
            from ragtui.tui.screens.corpus_dialogs import PreviewDialog

            self.app.push_screen(PreviewDialog(value))
        elif topic == "health":
            from ragtui.tui.screens.corpus_dialogs import HealthDialog

            self.query_one(StatusLine).clear()
            self.app.push_screen(HealthDialog(value))
        if topic in ("inputs", "retrieved"):
            self._show_documents()
        self._show_state()

    def failed(self, message: Failed) -> None:
        """A store that cannot be read leaves one column empty; the rest is told."""
        if message.topic == "retrieved":
            self.retrieved, self.unread = None, True
            self._show_documents()
            self.toast(f"The last run cannot be read: {message.error.message}", "warning")
            return
        self.building = ""
        if isinstance(message.error, Interrupted):
            self.toast(message.error.message, "warning")
            self.refresh_data()
        else:
            self.ragtui.show_error(message.error)
        self._show_state()

    def on_told(self, message: Told) -> None:
        """Progress of building."""
        self.building = message.text
        self._show_state()

    def _show_inputs(self, found: data.Inputs) -> None:
        self.query_one("#snapshot", Static).update(corpus_text.snapshot(found.report))
        self.query_one("#suites", RowList).set_rows(corpus_text.suite_rows(found.report))
        problems = (*found.report.problems, *found.report.warnings)
        pane = self.query_one("#problems-pane")
        pane.display = bool(problems)
        pane.border_title = corpus_text.problems_title(found.report)
        self.query_one("#problems", RowList).set_rows(*corpus_text.problem_rows(found.report))

    def _show_documents(self) -> None:
        if self.inputs is None:
            return
        documents = self.query_one("#documents", RowList)
        documents.empty = (
            "The corpus has to be mended first." if self.inputs.report.problems else "There is no document."
        )
        rows = corpus_text.marked(self.inputs.documents, self.retrieved)
        documents.set_rows(*corpus_text.document_rows(rows, self.order))
        pane = self.query_one("#documents-pane")
        pane.border_title = f"Documents · {len(rows):,} {_ORDERS[self.order]}"
        pane.border_subtitle = (
            "the record of runs cannot be read" if self.unread else corpus_text.retrieved_note(rows, self.retrieved)
        )

    def _show_artifacts(self) -> None:
        made = self.query_one("#artifacts", RowList)
        made.empty = "None is built yet: i builds chunks, index and vectors."
        made.set_rows(corpus_text.artifact_rows(self.artifacts))

    def _show_state(self) -> None:
        self.state_line(corpus_text.state(self.inputs, self.artifacts, self.building))
        self.refresh_bindings()

    # -- actions ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Stop only while building; build and reset only while not."""
        if action == "stop":
            return bool(self.building)
        if action in ("ingest", "reset"):
            return not self.building and self.inputs is not None and self.inputs.report.corpus_id is not None
        return True

    def action_check(self) -> None:
        """Validate again."""
        self.toast("Checking…", seconds=1)
        self.refresh_data()

    def action_ingest(self) -> None:
        """Build in a thread, with progress on the line of state."""
        lab = self.ragtui.lab
        self.building = "starting…"
        self._show_state()

        def make() -> str:
            worker = get_current_worker()
            return data.ingest(
                lab, lambda text: self.tell("ingest", text), lambda: worker.is_cancelled or self._stopping
            )

        self._stopping = False
        self.fetch("ingest", make)

    _stopping = False

    def action_stop(self) -> None:
        """Stop building at the next step."""
        self._stopping = True
        self.toast("Stopping at the next step…")

    def action_reset(self) -> None:
        """Ask, then delete."""
        from ragtui.tui.dialogs import Question

        folder = self.ragtui.workspace.artifacts
        count, size = corpus_text.on_disk(self.artifacts)
        if not count:
            self.toast("There is no artifact to delete.")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.building = "deleting…"
                self.fetch("reset", lambda: data.reset(folder))

        text = f"This deletes {count} ({size}). Runs, corpus and goldens stay; the next run builds anew what it needs."
        self.app.push_screen(Question("Delete every artifact?", text, "Delete"), answered)

    def action_order(self) -> None:
        """The next order of documents."""
        names = list(_ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.ragtui.memory.set("corpus.order", self.order)
        self._show_documents()

    def action_health(self) -> None:
        """Ask for suite health; it reads whole runs, so it is made when wanted."""
        from ragtui.tui.data.health import health

        lab: Lab = self.ragtui.lab
        self.toast("Reading the newest runs…")
        self.fetch("health", lambda: health(lab))

    @on(RowList.Chosen, "#documents")
    def _open_document(self, message: RowList.Chosen) -> None:
        lab = self.ragtui.lab
        self.fetch("preview", lambda: data.document_preview(lab, message.key))

    @on(RowList.Chosen, "#problems")
    def _open_problem(self, message: RowList.Chosen) -> None:
        if self.inputs is not None:
            problems = (*self.inputs.report.problems, *self.inputs.report.warnings)
            problem = problems[int(message.key)]
            self.ragtui.show_error(RagtuiError(str(problem.message), f"{problem.file}:{problem.line}\n{problem.hint}"))
