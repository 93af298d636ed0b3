"""The start screen: what a newcomer presses next, whatever the folder holds."""

from __future__ import annotations

from ragtui.tui.screens.base import RagtuiScreen


class StartScreen(RagtuiScreen):
    """What to do next."""

    MODE = "start"
    TITLE_WORDS = "Start"
