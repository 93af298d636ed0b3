"""Three themes and which one a terminal gets; and what stands for a picture where there is no Unicode."""

from __future__ import annotations

import os
import sys
import unicodedata
from functools import lru_cache

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES, Theme

DARK, LIGHT, SIXTEEN = "ragtui-dark", "ragtui-light", "ragtui-16"

THEMES = (
    Theme(
        name=DARK,
        dark=True,
        primary="#7aa2c8",
        secondary="#9aa7b4",
        accent="#c8a96a",
        foreground="#d5dae0",
        background="#12161b",
        surface="#171c22",
        panel="#1f262e",
        success="#7fb285",
        warning="#d2a356",
        error="#d9776c",
        variables={
            "block-cursor-background": "#2f4a63",
            "block-cursor-foreground": "#f2f5f8",
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": "#26313c",
            "block-cursor-blurred-foreground": "#d5dae0",
            "border": "#4d6b86",
            "border-blurred": "#313b46",
            "footer-background": "#1f262e",
        },
    ),
    Theme(
        name=LIGHT,
        dark=False,
        primary="#2f6391",
        secondary="#5a6672",
        accent="#8a5f10",
        foreground="#22272d",
        background="#f8f8f5",
        surface="#f1f1ec",
        panel="#e6e6df",
        success="#2f6f3a",
        warning="#8f5d00",
        error="#a8322a",
        variables={
            "block-cursor-background": "#c9dcec",
            "block-cursor-foreground": "#10151a",
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": "#dfe5e9",
            "block-cursor-blurred-foreground": "#22272d",
            "border": "#6d93b3",
            "border-blurred": "#c4c8c4",
            "footer-background": "#e6e6df",
        },
    ),
    Theme(
        name=SIXTEEN,
        ansi=True,
        dark=True,
        primary="ansi_blue",
        secondary="ansi_cyan",
        warning="ansi_yellow",
        error="ansi_red",
        success="ansi_green",
        accent="ansi_cyan",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables=dict(BUILTIN_THEMES["ansi-dark"].variables)
        | {"border": "ansi_cyan", "border-blurred": "ansi_bright_black"},
    ),
)


def fitting_theme() -> str:
    """The theme for this terminal: 16 colours where it has no more, light where it says so, else dark."""
    term, colors = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    if not colors and "256" not in term and term not in ("xterm-kitty", "alacritty", "foot"):
        return SIXTEEN
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in ("7", "15") else DARK


def needs_ascii() -> bool:
    """Whether the terminal has no Unicode: asked for by RAGTUI_ASCII, or said by the locale."""
    wanted = os.environ.get("RAGTUI_ASCII")
    if wanted is not None:
        return wanted not in ("", "0")
    encoding = (getattr(sys.__stdout__, "encoding", None) or "utf-8").lower().replace("-", "")
    return not encoding.startswith("utf")


_PICTURES = str.maketrans(
    {
        "…": "~",
        "–": "-",
        "—": "-",
        "·": ".",
        "×": "x",
        "−": "-",
        "±": "~",
        "≤": "<",
        "≥": ">",
        "°": "o",
        "●": "*",
        "○": "o",
        "◐": "%",
        "◆": "*",
        "◇": "o",
        "✓": "v",
        "✗": "x",
        "▶": ">",
        "‖": "=",
        "■": "#",
        "□": ".",
        "▲": "^",
        "▼": "v",
        "△": "^",
        "▽": "v",
        "▸": ">",
        "▾": "v",
        "◂": "<",
        "›": ">",
        "‹": "<",
        "→": ">",
        "←": "<",
        "↑": "^",
        "↓": "v",
        "⚠": "!",
        "ⓘ": "i",
        "»": "=",
        "«": "=",
        "★": "*",
        "⟦": "[",
        "⟧": "]",
        "◌": "o",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "⏎": "<",
        "⇥": ">",
        "▁": "_",
        "▂": "_",
        "▃": "-",
        "▄": "-",
        "▅": "=",
        "▆": "=",
        "▇": "#",
        "█": "#",
        "▔": "-",
        "▏": "|",
        "▎": "|",
        "▍": "|",
        "▌": "|",
        "▋": "|",
        "▊": "#",
        "▉": "#",
        "▐": "|",
        "▕": "|",
        "▀": "-",
        "░": ".",
        "▒": ":",
        "▓": "#",
        "━": "=",
        "─": "-",
        "│": "|",
        "┃": "|",
        "═": "=",
        "║": "|",
        "╸": "=",
        "╺": "=",
        "╾": "=",
        "╼": "=",
    }
)


@lru_cache(4096)
def ascii_text(text: str) -> str:
    """The text in ASCII, with the same width in cells; what has no picture becomes `?`."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _fallback(char) for char in text.translate(_PICTURES))


def _fallback(char: str) -> str:
    if 0x2500 <= ord(char) <= 0x257F:
        return "+"
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return ""
    plain = unicodedata.normalize("NFKD", char)[0]
    if plain.isascii() and plain.isprintable():
        return plain
    return "??" if unicodedata.east_asian_width(char) in "WF" else "?"


class AsciiFilter(LineFilter):
    """Draws every line in ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with their text in ASCII."""
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]
