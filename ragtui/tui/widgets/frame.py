"""What frames every screen: the modes above, one line for what happened, and the keys below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.reactive import reactive
from textual.widget import Widget

from ragtui.inputs.text import fold_space, printable

if TYPE_CHECKING:
    from ragtui.tui.app import RagtuiApp

MODE_KEYS = (
    ("1", "corpus", "Corpus"),
    ("2", "launch", "Launch"),
    ("3", "live", "Live"),
    ("4", "trace", "Trace"),
    ("5", "diff", "Diff"),
)
Severity = Literal["information", "warning", "error"]
_GLYPHS: dict[str, str] = {"information": "", "warning": "⚠ ", "error": "✗ "}


class TopBar(Widget):
    """The five modes, the current one in brackets; at the right what is live and which workspace this is."""

    auto_links = False
    live = reactive(0)
    DEFAULT_CSS = """
    TopBar { height: 1; background: $panel; color: $foreground; }
    """

    def render(self) -> Text:
        """One line, as wide as the screen."""
        app: RagtuiApp = self.app  # type: ignore[assignment]
        left = Text(" ragtui ", style="bold", no_wrap=True, end="")
        for key, mode, title in MODE_KEYS:
            current = app.current_mode == mode
            label = f"[{key} {title}]" if current else f" {key} {title} "
            left.append(
                label, Style(bold=current, meta={"@click": f"app.go('{mode}')"}) + Style.parse("" if current else "dim")
            )
        right = Text(no_wrap=True, end="")
        if self.live:
            right.append(f"▶ {self.live} live  ", Style(bold=True, meta={"@click": "app.go('live')"}))
        right.append(printable(fold_space(app.workspace.root.name or "/")), style="dim")
        room = self.size.width - left.cell_len - 3
        right.truncate(max(room, 0), overflow="ellipsis")
        gap = max(self.size.width - left.cell_len - right.cell_len - 1, 0)
        return left + Text(" " * gap, end="") + right


class StatusLine(Widget):
    """The newest message, for a few seconds; otherwise the screen's own line of state."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $background; color: $foreground; }
    StatusLine.-warning { color: $warning; text-style: bold; }
    StatusLine.-error { color: $error; text-style: bold; }
    """
    state: reactive[str] = reactive("")
    toast: reactive[str] = reactive("")

    def show(self, text: str, severity: Severity, seconds: float) -> None:
        """Show a message until its time is over or the next one comes."""
        self.set_class(severity == "warning", "-warning")
        self.set_class(severity == "error", "-error")
        self.toast = _GLYPHS[severity] + printable(fold_space(text))
        shown = self.toast

        def end() -> None:
            if self.toast == shown:
                self.clear()

        self.set_timer(seconds, end)

    def clear(self) -> None:
        """Take the message away before its time is over: what it told of is done."""
        self.toast = ""
        self.remove_class("-warning", "-error")

    def render(self) -> Text:
        """The message, or the state."""
        text = self.toast or self.state
        shown = Text(text, style="" if self.toast else "dim", no_wrap=True, overflow="ellipsis", end="")
        shown.truncate(self.content_size.width or 80, overflow="ellipsis")
        return shown


class KeyBar(Widget):
    """The keys that work now, drawn in one piece: those that do not fit are left to `?`, never cut in half."""

    DEFAULT_CSS = """
    KeyBar { height: 1; background: $panel; color: $foreground; }
    """
    auto_links = False
    _ALWAYS = (("?", "help", "app.help"), ("^p", "commands", "app.command_palette"))

    def on_mount(self) -> None:
        """Redraw when what is possible changes."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def bindings_shown(self) -> list[tuple[str, str, str]]:
        """(key as shown, what it does, key) of each binding that wants to be seen, in order."""
        seen: dict[str, tuple[str, str, str]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.action not in seen:
                seen[binding.action] = (self._shown(binding), binding.description, binding.key)
        return list(seen.values())

    def render(self) -> Text:
        """As many keys as the width takes."""
        tail = Text(no_wrap=True, end="")
        for key, words, action in self._ALWAYS:
            tail.append_text(_key(key, words, action))
        line = Text(no_wrap=True, end="")
        room = self.size.width - tail.cell_len
        for shown, words, key in self.bindings_shown():
            part = _key(shown, words, f"app.simulate_key('{key}')")
            if line.cell_len + part.cell_len > room:
                break
            line.append_text(part)
        return line + Text(" " * max(room - line.cell_len, 0), end="") + tail

    def _shown(self, binding: Binding) -> str:
        return self.app.get_key_display(binding)


def _key(key: str, words: str, action: str) -> Text:
    meta = Style(meta={"@click": action})
    return Text(" ", end="").append(key, Style(bold=True) + meta).append(f" {words} ", meta)
