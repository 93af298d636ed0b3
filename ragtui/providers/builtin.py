"""The embedder that needs no network: static word vectors that the `wordllama` wheel carries.

Only the wheel's two files are read. Its own loader looks for the tokenizer elsewhere and may download; its own pooling
pads a batch, so that a vector's last bits depend on the batch's other texts. Here each text is pooled by itself:
the same text gives the same bytes in every batch.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ragtui.errors import ProviderUnavailable
from ragtui.ids import bytes_id
from ragtui.providers.protocols import EmbedderIdentity, Role, Vectors

MODEL = "wordllama-l2-supercat-256"
_ALGORITHM = "mean-of-tokens-v1"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TOKENS_AT_ONCE = 65_536


class BuiltinEmbedder:
    """Mean of the tokens' vectors, normalised to length 1."""

    def __init__(self, query_prefix: str = "", document_prefix: str = "", normalize: bool = True) -> None:
        self._prefixes: dict[Role, str] = {"query": query_prefix, "document": document_prefix}
        self._normalize = normalize

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Covers both files of the model."""
        folder = _package_folder()
        digest = bytes_id((folder / _WEIGHTS).read_bytes() + (folder / _TOKENIZER).read_bytes())
        return EmbedderIdentity(
            model=MODEL,
            digest=digest,
            dimensions=256,
            algorithm=_ALGORITHM,
            query_prefix=self._prefixes["query"],
            document_prefix=self._prefixes["document"],
            normalize=self._normalize,
        )

    @cached_property
    def _model(self) -> tuple[Any, Vectors]:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = _package_folder()
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer, load_file(str(folder / _WEIGHTS))["embedding.weight"]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of shape (len(texts), 256)."""
        tokenizer, table = self._model
        prefix = self._prefixes[role]
        # A lone surrogate cannot be encoded; a tokenizer would refuse the whole batch for it.
        clean = [(prefix + text).encode("utf-8", "replace").decode() for text in texts]
        encoded = tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        vectors = np.zeros((len(texts), table.shape[1]), np.float32)
        rows: list[int] = []
        tokens: list[list[int]] = []
        waiting = 0
        for row, encoding in enumerate(encoded):
            ids = encoding.ids
            if ids:
                rows.append(row)
                tokens.append(ids)
                waiting += len(ids)
            if waiting >= _TOKENS_AT_ONCE:
                vectors[rows] = _pool(table, tokens)
                rows, tokens, waiting = [], [], 0
        if rows:
            vectors[rows] = _pool(table, tokens)
        if self._normalize:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


def _pool(table: Vectors, tokens: list[list[int]]) -> Vectors:
    """The mean of each text's token vectors; shape (len(tokens), dimensions)."""
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    ids = np.fromiter((token for text in tokens for token in text), np.int64, int(lengths.sum()))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    sums = np.add.reduceat(table[ids].astype(np.float32), starts, axis=0)
    return np.asarray(sums / lengths[:, None].astype(np.float32), np.float32)


def _package_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(
            "The built-in embedder's package `wordllama` is not installed.", "Install it: pip install wordllama."
        )
    return Path(next(iter(spec.submodule_search_locations)))
