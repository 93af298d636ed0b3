"""The start screen: what a newcomer presses next, whatever the folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ragtui.errors import RagtuiError
from ragtui.tui.data.start import Beginning, beginning, make_workspace
from ragtui.tui.messages import Failed, Loaded
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.widgets.rows import Column, RowList
from ragtui.tui.widgets.text import block, line, plural


class _Step(NamedTuple):
    """Something to do next: its action on this screen, its key and its words."""

    action: str
    key: str
    words: str


class StartScreen(RagtuiScreen):
    """What to do next."""

    MODE = "start"
    TITLE_WORDS = "Start"
    CSS_PATH = "start.tcss"
    HELP = """ragtui measures retrieval: documents and questions in, recorded runs out, and a verdict on whether a
    change made it better. This screen says what the folder has and what is missing. 1 to 5 are the screens; ? explains
    whatever has the focus; ctrl+p finds every action by its name."""
    BINDINGS: ClassVar[list[Any]] = [
        Binding(
            "n", "new", "New workspace", id="start.new", tooltip="Make a workspace here from a folder of documents."
        ),
        Binding(
            "e",
            "example",
            "Example",
            id="start.example",
            tooltip="Put the bundled example, a handbook with its questions, into this folder.",
        ),
        Binding(
            "r", "run", "First run", id="start.run", tooltip="Run the preset hybrid over the suite core and watch it."
        ),
        Binding("escape", "leave", "Back", show=False, id="start.leave", tooltip="Leave the path."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.found: Beginning | None = None
        self.working = False

    def compose_body(self) -> ComposeResult:
        """A few words, the steps, a place for a path."""
        with Vertical(id="start-box"):
            yield Static("Looking at this folder…", id="hello", markup=False)
            yield RowList(
                (Column("", 3), Column("")),
                id="choices",
                head=False,
                help_text="What to do next; enter does it, and so does its key.",
            )
            field = Input(placeholder="a folder with .md or .txt files", id="path", select_on_focus=False)
            field.border_title = "Folder of documents · enter makes the workspace · esc leaves"
            yield field
            yield Static(id="words", markup=False)

    def on_mount(self) -> None:
        """Look."""
        self.refresh_data()
        self.query_one("#choices").focus()

    def refresh_data(self) -> None:
        """Look at the folder again."""
        lab = self.ragtui.renew_lab()
        self.fetch("beginning", lambda: beginning(lab))

    def on_loaded(self, message: Loaded) -> None:
        """Show how far the folder is, or open what was made."""
        if message.topic == "beginning":
            self.found = message.value
            self._show(message.value)
            return
        self.working = False
        self.ragtui.reopen(message.value)

    def failed(self, message: Failed) -> None:
        """What `init` said."""
        self.working = False
        self.state_line("")
        self.ragtui.show_error(message.error)

    # -- drawing ------------------------------------------------------------------------------------------------------

    def _show(self, found: Beginning) -> None:
        self.query_one("#hello", Static).update(_hello(found, self.ragtui.workspace.root))
        steps = self.steps(found)
        rows = [(Content.styled(step.key, "bold $primary"), line(step.words)) for step in steps]
        self.query_one("#choices", RowList).set_rows(rows, [step.action for step in steps])
        self.query_one("#words", Static).update(_words(found))
        self.state_line("? explains what has the focus · ctrl+p finds every action · q leaves")
        self.refresh_bindings()

    def steps(self, found: Beginning) -> list[_Step]:
        """What can be done next, the likeliest first."""
        if not found.corpus:
            return [
                _Step("new", "n", "Make a workspace here from a folder of documents"),
                _Step("example", "e", "Open the bundled example: a handbook and its questions"),
            ]
        go = [
            _Step("app.go('corpus')", "1", "Look at the documents and the questions, and check them"),
            _Step("app.go('launch')", "2", "Choose a plan, edit it, start a run"),
        ]
        if not found.runs:
            return [_Step("run", "r", "Run the preset hybrid now and watch it"), *go]
        return [
            _Step("app.go('trace')", "4", "Open a run and see where the right document was lost"),
            *go,
            _Step("app.go('live')", "3", "Watch what is running"),
            _Step("app.go('diff')", "5", "Compare a run with its baseline"),
        ]

    # -- actions ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what the folder needs."""
        found = self.found
        if action in ("new", "example"):
            return found is not None and not found.corpus and not self.working
        if action == "run":
            return found is not None and found.corpus and found.goldens and not found.runs
        return True

    @on(RowList.Chosen, "#choices")
    async def _chosen(self, message: RowList.Chosen) -> None:
        await self.run_action(message.key)

    def action_new(self) -> None:
        """Ask for the folder, with the likeliest one filled in."""
        field = self.query_one("#path", Input)
        field.display = True
        folders = self.found.folders if self.found is not None else ()
        field.value = folders[0][0] if folders else ""
        field.focus()

    def action_leave(self) -> None:
        """Hide the path."""
        self.query_one("#path").display = False
        self.query_one("#choices").focus()

    @on(Input.Submitted, "#path")
    def _make(self, message: Input.Submitted) -> None:
        path = Path(message.value.strip()).expanduser()
        if not message.value.strip() or not path.is_dir():
            self.ragtui.show_error(RagtuiError(f"{path} is not a folder.", "Give the folder that holds the documents."))
            return
        self._begin((str(path.absolute()),), f"Making a workspace from {path}…")

    def action_example(self) -> None:
        """The bundled corpus."""
        self._begin(("--example",), "Unpacking the example…")

    def _begin(self, arguments: tuple[str, ...], words: str) -> None:
        workspace = self.ragtui.workspace
        self.working = True
        self.state_line(words)
        self.refresh_bindings()
        self.fetch("init", lambda: make_workspace(workspace, arguments))

    def action_run(self) -> None:
        """The first run."""
        self.ragtui.start_process(["run", "hybrid"])


def _hello(found: Beginning, root: Path) -> Content:
    title = Content.assemble(
        ("ragtui", "bold $primary"), ("  a laboratory for retrieval-augmented generation\n\n", "$secondary")
    )
    if found.fault:
        return title + Content.assemble(("⚠ The record of runs cannot be read. ", "bold $warning"), block(found.fault))
    if not found.corpus:
        holds = found.folders[0] if found.folders else None
        words = f"{root.name or root} is no workspace yet." + (
            f" {holds[0]} holds {plural(holds[1], 'document')}." if holds else " It holds no documents either."
        )
        return title + line(words)
    parts = [
        "✓ corpus",
        "✓ goldens" if found.goldens else "○ no goldens yet",
        f"✓ {plural(found.runs, 'run')}" if found.runs else "○ no run yet",
    ]
    return title + line("This workspace:  " + " · ".join(parts))


def _words(found: Beginning) -> Content:
    if not found.corpus:
        return Content("Documents are .md, .txt or .jsonl files; nothing of them is changed or sent anywhere.")
    if not found.goldens:
        return Content(
            "Questions are missing: write goldens/core.jsonl, one question a line, then press 1 to check it."
        )
    return Content("The same from a shell: ragtui run hybrid · ragtui runs · ragtui show latest")
