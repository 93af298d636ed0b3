"""Foreign text for a screen: inert, on one line, never markup; and the few number forms that all screens share."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from ragtui.inputs.text import fold_space, printable
from ragtui.inputs.text import plural as plural

STATUS_GLYPHS = {"completed": "✓", "running": "▶", "interrupted": "‖", "cancelled": "■", "failed": "✗"}
SPARKS = "▁▂▃▄▅▆▇█"


def inert(text: str, style: str = "", width: int | None = None) -> Text:
    """One line of text of unknown origin; cut to `width` cells where given."""
    shown = Text(printable(fold_space(text)), style=style, no_wrap=True, overflow="ellipsis", end="")
    if width is not None:
        shown.truncate(max(width, 0), overflow="ellipsis")
    return shown


def inert_block(text: str, style: str = "") -> Text:
    """Several lines of text of unknown origin; new lines are kept."""
    return Text(printable(text).expandtabs(4), style=style)


def value(number: float | None, digits: int = 3) -> str:
    """A measure's value; a dash where there is none."""
    return "–" if number is None else f"{number:.{digits}f}"


def seconds(duration: float | None) -> str:
    """`0.4 s`, `38 s`, `4:05`, `2:03:10`; a dash where it is unknown."""
    if duration is None:
        return "–"
    if duration < 10:
        return f"{max(duration, 0):.1f} s"
    whole = round(duration)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: int) -> str:
    """`1.4 MB`; small sizes in kB."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def when(stamp: str | None) -> str:
    """`2031-04-02 10:15` of a UTC time; a dash where there is none."""
    return stamp[:16].replace("T", " ") if stamp else "–"


def spark(values: list[float] | tuple[float, ...], width: int) -> str:
    """The last `width` values, each from 0 to 1 of their own range; a flat line where they are all equal."""
    shown = values[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    if high - low < 1e-9:
        return SPARKS[3] * len(shown)
    return "".join(SPARKS[min(int((item - low) / (high - low) * len(SPARKS)), len(SPARKS) - 1)] for item in shown)


def line(text: str, style: str = "") -> Content:
    """One line of text of unknown origin for a row or a `Static`, with a style that may name a theme's colour."""
    return Content.styled(printable(fold_space(text)), style)


def block(text: str, style: str = "") -> Content:
    """`line` with new lines kept."""
    return Content.styled(printable(text).expandtabs(4), style)
