"""The live screen: every run in progress in this workspace, whoever started it."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static
from textual.worker import get_current_worker

from ragtui.errors import RagtuiError
from ragtui.store.journal import journal_path, request_cancel
from ragtui.tui.data.live import ALIKE, LiveTally, LiveView
from ragtui.tui.follow import follow_run
from ragtui.tui.messages import Failed, LiveChanged, LiveMoved, Loaded, RunEnded
from ragtui.tui.screens import live_text
from ragtui.tui.screens.base import RagtuiScreen
from ragtui.tui.screens.live_keys import LIVE_KEYS
from ragtui.tui.screens.live_lists import live_lists
from ragtui.tui.widgets.pane import pane
from ragtui.tui.widgets.rows import RowList

_FOLLOWED = 8


class LiveScreen(RagtuiScreen):
    """Follows journals and shows one of the runs."""

    MODE = "live"
    TITLE_WORDS = "Live"
    CSS_PATH = "live.tcss"
    HELP = """Every run in progress in this workspace, whoever started it, as its journal tells it. Closing the app or
    leaving this screen never touches a run. The line under the name counts cases: scored ones have a value, missed
    ones did not find everything, errored ones have no result. Values are means so far with their 95 % interval; in a
    run that asks a model they are of one mode, and a line more tells tokens a second, what was replayed and cost. The
    queue counts calls in flight and cases that wait; retries are requests sent again because the server was busy."""
    BINDINGS: ClassVar[list[Any]] = LIVE_KEYS

    def __init__(self) -> None:
        super().__init__()
        self.views: dict[str, LiveView] = {}
        self.followed: set[str] = set()
        self.detached: set[str] = set()
        self.cancelling: set[str] = set()
        self.shown = ""
        self.repaints = 0
        self.last: Any = live_text.UNKNOWN

    # -- layout -------------------------------------------------------------------------------------------------------

    def compose_body(self) -> ComposeResult:
        """Head, measures, tags, latencies, feed; or what to do when nothing runs."""
        yield Static(id="nothing", classes="empty", markup=False)
        yield Static(id="others", markup=False)
        yield Static(id="head", markup=False)
        yield Static(id="banner", markup=False)
        measures, tags, latency, feed = live_lists()
        with Horizontal(id="top"):
            yield pane("Measures so far", measures, id="measures-pane")
            with Vertical(id="side"):
                yield pane("By tag", tags, id="tags-pane")
                yield pane("Time a case, ms", latency, id="latency-pane")
        yield pane("Misses and errors", feed, id="feed-pane")

    def on_mount(self) -> None:
        """Begin with the runs that are live now."""
        self.set_interval(1.0, self._tick)
        self._follow_new(self.ragtui.live)
        self._show()
        self.refresh_data()

    def on_resize(self) -> None:
        """More room, longer lines."""
        self.call_after_refresh(self._show)

    # -- what comes in ------------------------------------------------------------------------------------------------

    def on_live_changed(self, message: LiveChanged) -> None:
        """New runs are followed; one that is over stays until another takes its place."""
        self._follow_new(message.run_ids)
        self._show()

    def _follow_new(self, run_ids: tuple[str, ...]) -> None:
        for run_id in run_ids:
            running = sum(not view.over for view in self.views.values())
            if run_id in self.followed or run_id in self.detached or running >= _FOLLOWED:
                continue
            self.followed.add(run_id)
            self._follow(run_id)

    def _follow(self, run_id: str) -> None:
        path = journal_path(self.ragtui.workspace.journals, run_id)

        def work() -> None:
            worker = get_current_worker()
            try:
                follow_run(path, lambda view: self._tell(run_id, view), lambda: worker.is_cancelled, LiveTally())
            except RagtuiError as error:
                self.post_message(Failed(f"follow {run_id}", error))

        self.run_worker(work, name=f"follow {run_id}", group=f"follow {run_id}", exclusive=True, thread=True)

    def _tell(self, run_id: str, view: LiveView) -> None:
        self.post_message(LiveMoved(run_id, view))

    def on_live_moved(self, message: LiveMoved) -> None:
        """Keep the newest snapshot; redraw if it is the run that is shown."""
        view: LiveView = message.view
        if message.run_id not in self.followed:
            return
        fresh = message.run_id not in self.views
        before = self.views.get(message.run_id)
        self.views[message.run_id] = view
        if view.over:
            self.followed.discard(message.run_id)
            self.cancelling.discard(message.run_id)
        if fresh and not view.over and (not self.shown or self._view_over()):
            self.shown = message.run_id
        self.shown = self.shown or message.run_id
        if view.over and (before is None or not before.over):
            self.toast(live_text.end_words(view), "information" if view.status == "completed" else "warning", 12)
        if message.run_id == self.shown or fresh:
            self._show()

    def _view_over(self) -> bool:
        view = self.views.get(self.shown)
        return view is None or view.over

    def failed(self, message: Failed) -> None:
        """A journal that cannot be read, or a last run that cannot be found."""
        if message.topic.startswith("follow "):
            self.followed.discard(message.topic.removeprefix("follow "))
        if message.topic == "last":
            self.last = message.error
            self._show()
        else:
            self.ragtui.show_error(message.error)

    def refresh_data(self) -> None:
        """Which run was the last one."""
        from ragtui.tui.data.runs import last_run

        lab = self.ragtui.lab
        self.fetch("last", lambda: last_run(lab))

    def on_loaded(self, message: Loaded) -> None:
        """The last recorded run, for an empty screen."""
        if message.topic == "last":
            self.last = message.value
            if not self.views:
                self._show()

    def on_run_ended(self, message: RunEnded) -> None:
        """A run started here that was over before it could be followed."""
        self.refresh_data()
        self._show()

    # -- drawing ------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        view = self.views.get(self.shown)
        if view is not None and not view.over and self.is_current:
            self._head(view)

    def _show(self) -> None:
        view = self.views.get(self.shown)
        self.set_class(view is None, "-nothing")
        others = self.query_one("#others", Static)
        others.display = len(self.views) > 1
        others.update(live_text.others(self.views, self.shown))
        self.refresh_bindings()
        if view is None:
            self.query_one("#nothing", Static).update(live_text.nothing(self.last, self.ragtui.watch_over.starting))
            self.state_line("")
            return
        self.repaints += 1
        self._head(view)
        banner = self.query_one("#banner", Static)
        banner.display = view.alike >= ALIKE and not view.over
        banner.update(live_text.banner(view))
        measures = self.query_one("#measures", RowList)
        measures.set_rows(live_text.measure_rows(view, 16 if measures.is_wide else 8))
        self.query_one("#tags", RowList).set_rows(live_text.tag_rows(view))
        self.query_one("#tags-pane").border_title = f"By tag · {view.decisive}"
        self.query_one("#latency", RowList).set_rows(live_text.latency_rows(view))
        feed = self.query_one("#feed", RowList)
        feed.empty = "Nothing was missed." if view.over and view.status == "completed" else "None so far."
        feed.set_rows(*live_text.feed_rows(view), follow=True)
        self.query_one("#feed-pane").border_subtitle = f"missed below {view.decisive} 1"
        self.state_line(live_text.state(view, view.run_id in self.cancelling))

    def _head(self, view: LiveView) -> None:
        head = self.query_one("#head", Static)
        head.update(live_text.head(view, head.content_size.width or self.size.width - 2))

    # -- actions ------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what makes sense for the run that is shown."""
        view = self.views.get(self.shown)
        if action in ("cancel", "detach"):
            return view is not None and not view.over
        if action == "resume":
            return view is not None and view.status in ("interrupted", "cancelled", "failed")
        if action == "open_trace":
            return (view is not None and view.over) or (view is None and hasattr(self.last, "run_id"))
        if action == "attach":
            return bool(self.detached)
        if action == "next_run":
            return len(self.views) > 1
        return True

    def action_open_trace(self) -> None:
        """The run, or the case under the cursor, on the trace screen."""
        view = self.views.get(self.shown)
        if view is None:
            self.ragtui.open_trace(self.last.run_id)
            return
        if journal_path(self.ragtui.workspace.journals, view.run_id).exists():
            self.toast("The run is being recorded; try again in a moment.")
            return
        feed = self.query_one("#feed", RowList)
        case = feed.key.partition(" ")[2] if feed.has_focus else ""
        self.ragtui.open_trace(view.run_id, case or None)

    def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """Enter on a case."""
        view = self.views.get(self.shown)
        if view is None:
            return
        if view.over:
            self.action_open_trace()
        else:
            self.toast("Its trace can be opened when the run has ended.")

    def action_cancel(self) -> None:
        """Ask first, then ask the run."""
        from ragtui.tui.dialogs import Question

        view = self.views[self.shown]

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            try:
                request_cancel(self.ragtui.workspace.journals, view.run_id)
            except RagtuiError as error:
                self.ragtui.show_error(error)
                return
            self.cancelling.add(view.run_id)
            self._show()

        done, total = live_text.of_all(view)
        text = (
            f"Run {view.run_id} ({view.name or 'unnamed'}) has done {done} of {total} cases.\n\n"
            f"It finishes what is in flight and keeps everything; continue it later with\n  ragtui resume {view.run_id}"
        )
        self.app.push_screen(Question("Cancel this run?", text, "Cancel it"), answered)

    def action_detach(self) -> None:
        """Stop watching; the run goes on."""
        run_id = self.shown
        self.workers.cancel_group(self, f"follow {run_id}")
        self.followed.discard(run_id)
        self.detached.add(run_id)
        self.views.pop(run_id, None)
        self.shown = next(iter(self.views), "")
        self._show()
        self.toast(f"Run {run_id} goes on unwatched. a watches it again.")

    def action_attach(self) -> None:
        """Watch everything again."""
        self.detached.clear()
        self._follow_new(self.ragtui.live)

    def action_resume(self) -> None:
        """Continue the run in a process of its own."""
        self.ragtui.start_process(["resume", self.views[self.shown].run_id])

    def action_matrix(self) -> None:
        """The matrix, under way or the newest."""
        from ragtui.tui.screens.matrix import open_matrix

        open_matrix(self)

    def action_next_run(self, by: int) -> None:
        """Another of the followed runs."""
        ids = list(self.views)
        self.shown = ids[(ids.index(self.shown) + by) % len(ids)] if self.shown in ids else ids[0]
        self._show()
