"""The launch screen."""

from __future__ import annotations

from ragtui.tui.screens.base import RagtuiScreen


class LaunchScreen(RagtuiScreen):
    """The launch screen."""

    MODE = "launch"
    TITLE_WORDS = "Launch"
