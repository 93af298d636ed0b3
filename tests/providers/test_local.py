from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtui.errors import ProviderUnavailable
from ragtui.providers.local import LocalEmbedder, folder_digest
from ragtui.settings import Profile


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model2vec model of four words, written by model2vec itself."""
    model2vec: Any = pytest.importorskip("model2vec")
    tokenizers: Any = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "tea": 1, "kettle": 2, "snow": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.asarray([[0, 0, 0.1], [3, 0, 0], [0, 4, 0], [0, 0, 5]], np.float32)
    folder = tmp_path_factory.mktemp("models") / "four-words"
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(folder)
    return folder


def local(folder: Path, **options: Any) -> LocalEmbedder:
    return LocalEmbedder(Profile(kind="model2vec", model=str(folder)), "mine", **options)


def test_model2vec_embeds_from_a_folder(model_folder: Path) -> None:
    vectors = local(model_folder).embed(["tea", "", "kettle tea"], "document")
    np.testing.assert_allclose(vectors[0], [1, 0, 0], atol=1e-6)
    assert not vectors[1].any()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1.0)
    assert np.linalg.norm(local(model_folder, normalize=False).embed(["tea"], "query")) == pytest.approx(3.0)


def test_identity_is_the_files_not_the_place(model_folder: Path, tmp_path: Path) -> None:
    identity = local(model_folder).identity
    assert (identity.model, identity.dimensions) == ("four-words", 3)
    assert str(model_folder) not in repr(identity)
    before = folder_digest(model_folder)
    (model_folder / "README.md").write_text("another note")
    assert folder_digest(model_folder) == before
    (model_folder / "extra.json").write_text("{}")
    assert folder_digest(model_folder) != before


def test_a_name_means_a_model_that_was_fetched_before(model_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    kept = tmp_path / "hub" / "models--someone--four-words"
    shutil.copytree(model_folder, kept / "snapshots" / "0a1b")
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0a1b")
    # The library reads its folder from the environment when it is loaded.
    script = (
        "from ragtui.providers.local import LocalEmbedder; from ragtui.settings import Profile; "
        "made = LocalEmbedder(Profile(kind='model2vec', model='someone/four-words'), 'mine'); "
        "print(made.identity.model, made.identity.digest, made.embed(['tea'], 'query').tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub")},
    )  # fmt: skip
    assert done.stdout.split()[:2] == ["four-words", folder_digest(model_folder)]
    assert "[[1.0, 0.0, 0.0]]" in done.stdout


def test_what_cannot_be_used_is_said(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="3 dimensions, the plan wants 2"):
        local(model_folder, dimensions=2).embed(["tea"], "query")
    with pytest.raises(ProviderUnavailable, match="is not on this machine"):
        local(tmp_path / "nowhere").embed(["tea"], "query")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProviderUnavailable, match="cannot be loaded") as caught:
        local(tmp_path / "empty").embed(["tea"], "query")
    assert str(tmp_path) not in caught.value.message


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    made = LocalEmbedder(Profile(kind="sentence-transformers", model=str(tmp_path)), "mine")
    with pytest.raises(ProviderUnavailable, match="needs the package sentence-transformers"):
        made.embed(["tea"], "query")
