"""The corpus screen."""

from __future__ import annotations

from ragtui.tui.screens.base import RagtuiScreen


class CorpusScreen(RagtuiScreen):
    """The corpus screen."""

    MODE = "corpus"
    TITLE_WORDS = "Corpus"
