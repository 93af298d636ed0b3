"""Against a real embedding server, where one is named.

RAGTUI_TEST_URL=http://127.0.0.1:8080 RAGTUI_TEST_MODEL=nomic-embed-text RAGTUI_TEST_KIND=openai pytest …
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtui.providers.embeddings import ServerEmbedder
from ragtui.settings import Profile

URL = os.environ.get("RAGTUI_TEST_URL", "")


@pytest.mark.skipif(not URL, reason="no embedding server is named in RAGTUI_TEST_URL")
def test_a_real_server_embeds_by_meaning(tmp_path: Path) -> None:
    kind: Any = os.environ.get("RAGTUI_TEST_KIND", "openai")
    profile = Profile(kind=kind, model=os.environ.get("RAGTUI_TEST_MODEL", "default"), url=URL)
    made = ServerEmbedder(profile, "real", tmp_path)
    texts = ["Boil water for three minutes at altitude.", "Stocks fell on Monday.", "How long must water boil up high?"]
    vectors = made.embed(texts * 50, "document")
    assert vectors.shape == (150, made.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[2] @ vectors[0] > vectors[2] @ vectors[1]
    again = ServerEmbedder(profile, "real", tmp_path)
    assert again.identity == made.identity
    assert np.array_equal(again.embed(texts, "document"), vectors[:3])
