"""What workers tell screens, and screens tell the app. Payloads are immutable; nothing bubbles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

from ragtui.errors import RagtuiError

if TYPE_CHECKING:
    from ragtui.tui.data.workspace import WorkspaceState


class Loaded(Message, bubble=False):
    """A worker's result. `topic` names what was asked for, `value` is an immutable snapshot."""

    def __init__(self, topic: str, value: Any) -> None:
        self.topic, self.value = topic, value
        super().__init__()


class Failed(Message, bubble=False):
    """A worker could not do what `topic` names."""

    def __init__(self, topic: str, error: RagtuiError) -> None:
        self.topic, self.error = topic, error
        super().__init__()


class Told(Message, bubble=False):
    """A sentence about work under way, e.g. that an artifact is being built."""

    def __init__(self, topic: str, text: str) -> None:
        self.topic, self.text = topic, text
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """Only the newest sentence of a topic matters."""
        return isinstance(message, Told) and message.topic == self.topic


class Opened(Message, bubble=False):
    """What the first screen needs is loaded."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        super().__init__()


class Looked(Message, bubble=False):
    """The workspace was looked at; `state` says what is live and how the stores stand."""

    def __init__(self, state: WorkspaceState) -> None:
        self.state = state
        super().__init__()


class LiveChanged(Message, bubble=False):
    """The ids of the runs that are going on now, newest first."""

    def __init__(self, run_ids: tuple[str, ...]) -> None:
        self.run_ids = run_ids
        super().__init__()


class LiveMoved(Message, bubble=False):
    """A followed run stands differently: `view` is its newest snapshot."""

    def __init__(self, run_id: str, view: Any) -> None:
        self.run_id, self.view = run_id, view
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """A newer snapshot of the same run makes an older one needless."""
        return isinstance(message, LiveMoved) and message.run_id == self.run_id


class RunEnded(Message, bubble=False):
    """A process that this app started has ended. `run_id` is empty where it made no run; `log` is its stderr."""

    def __init__(self, code: int, run_id: str, log: str) -> None:
        self.code, self.run_id, self.log = code, run_id, log
        super().__init__()


class StoreChanged(Message, bubble=False):
    """Runs were added, removed or promoted; lists should be read anew. Posted to every open screen."""


class ShowRun(Message, bubble=False):
    """Posted to the trace screen: show this run and, if named, this case."""

    def __init__(self, run_id: str, case_id: str | None = None) -> None:
        self.run_id, self.case_id = run_id, case_id
        super().__init__()


class ShowTier(Message, bubble=False):
    """Posted to the launch screen: choose this tier."""

    def __init__(self, tier: str) -> None:
        self.tier = tier
        super().__init__()


class ShowDiff(Message, bubble=False):
    """Posted to the diff screen: compare `base` (None: the run's baseline) with `new`."""

    def __init__(self, base: str | None, new: str) -> None:
        self.base, self.new = base, new
        super().__init__()
