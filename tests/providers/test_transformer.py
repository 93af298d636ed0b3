"""A transformer of random weights, made here and saved to a folder: sentence-transformers itself loads and runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtui.__main__ import main
from ragtui.errors import ProviderUnavailable
from ragtui.providers.local import LocalEmbedder
from ragtui.settings import Profile

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "kettle", "snow", "ice", "boil", "water", "note", ":"]
DIMENSIONS = 16


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer with a dozen words, always the same."""
    transformers: Any = pytest.importorskip("transformers")
    torch: Any = pytest.importorskip("torch")
    st: Any = pytest.importorskip("sentence_transformers")
    bare = tmp_path_factory.mktemp("bare")
    (bare / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=DIMENSIONS, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(bare)
    transformers.BertTokenizerFast(vocab={word: place for place, word in enumerate(WORDS)}).save_pretrained(bare)
    folder = tmp_path_factory.mktemp("models") / "toy-bert"
    # From a bare transformer it makes an embedder by pooling the mean of the tokens.
    st.SentenceTransformer(str(bare), device="cpu", local_files_only=True).save(str(folder))
    return folder


def local(folder: Path, **options: Any) -> LocalEmbedder:
    return LocalEmbedder(Profile(kind="sentence-transformers", model=str(folder)), "mine", **options)


def test_it_embeds_from_a_folder(model_folder: Path) -> None:
    texts = ["tea kettle", "", "snow ice", "tea kettle", "tea \ud800 kettle"]
    vectors = local(model_folder).embed(texts, "document")
    assert vectors.shape == (5, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert not vectors[1].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[[0, 2, 3, 4]], axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(vectors[0], vectors[3], atol=1e-6)
    assert float(vectors[0] @ vectors[2]) < 0.999
    raw = local(model_folder, normalize=False).embed(["tea kettle"], "document")[0]
    np.testing.assert_allclose(raw / np.linalg.norm(raw), vectors[0], atol=1e-5)


def test_prefixes_go_before_the_text(model_folder: Path) -> None:
    plain, prefixed = local(model_folder), local(model_folder, query_prefix="note : ")
    np.testing.assert_allclose(prefixed.embed(["tea"], "query"), plain.embed(["note : tea"], "document"), atol=1e-6)
    np.testing.assert_allclose(prefixed.embed(["tea"], "document"), plain.embed(["tea"], "document"), atol=1e-6)
    assert prefixed.identity != plain.identity


def test_identity_covers_the_weights(model_folder: Path) -> None:
    identity = local(model_folder).identity
    assert (identity.model, identity.dimensions) == ("toy-bert", DIMENSIONS)
    assert identity.algorithm.startswith("sentence-transformers-")
    assert str(model_folder) not in repr(identity)
    assert identity == local(model_folder).identity


def test_other_dimensions_are_refused(model_folder: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="16 dimensions, the plan wants 8"):
        local(model_folder, dimensions=8).embed(["tea"], "query")


def test_two_processes_make_the_same_run(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "goldens").mkdir()
    for name, text in {"a": "boil water", "b": "snow ice", "c": "tea kettle"}.items():
        (tmp_path / "corpus" / f"{name}.md").write_text(f"{text}\n")
    golden = {"id": "q", "query": "kettle tea", "relevantDocIds": ["c"]}
    (tmp_path / "goldens" / "core.jsonl").write_text(json.dumps(golden) + "\n")
    (tmp_path / "ragtui.toml").write_text(
        f'[profiles.bert]\nkind = "sentence-transformers"\nmodel = "{model_folder}"\n'
    )
    command = ["-w", str(tmp_path), "run", "vector", "--set", "embedding.model=bert", "--json"]
    assert main(["-w", str(tmp_path), "doctor"]) == 0
    assert "toy-bert (16 dimensions" in capsys.readouterr().out
    first = subprocess.run(
        [sys.executable, "-m", "ragtui", *command], capture_output=True, check=True, text=True, env=dict(os.environ)
    )
    assert main(command) == 0
    assert "Loading" not in first.stderr
    runs = [json.loads(first.stdout), json.loads(capsys.readouterr().out)]
    assert runs[0]["spec_id"] == runs[1]["spec_id"]
    assert runs[0]["measures"] == runs[1]["measures"]
    assert main(["-w", str(tmp_path), "verify", "latest"]) == 0
