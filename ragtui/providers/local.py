"""Embedders that run in this process from a folder of weights: model2vec and sentence-transformers, both optional.

Nothing is downloaded: a name that is no folder is looked for among the models that are on this machine already.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ragtui.errors import ProviderUnavailable
from ragtui.inputs.text import printable
from ragtui.providers.protocols import EmbedderIdentity, Role, Vectors
from ragtui.providers.vectors import unit
from ragtui.settings import Profile

_STATIC_GROUP = 1024
_SKIPPED = (".md", ".png", ".onnx", ".lock", ".gitattributes")


class LocalEmbedder:
    """Mean-pooled static vectors (model2vec) or a transformer (sentence-transformers).

    `group` is how many texts `embed` handles best at once.
    """

    def __init__(
        self, profile: Profile, name: str, *, query_prefix: str = "", document_prefix: str = "",
        dimensions: int | None = None, normalize: bool = True,
    ) -> None:  # fmt: skip
        if not profile.model:
            hint = f"Set model in [profiles.{name}] to the folder of its weights."
            raise ProviderUnavailable(f"Profile {name!r} names no model.", hint)
        self._profile, self._name = profile, name
        self._prefixes: dict[Role, str] = {"query": query_prefix, "document": document_prefix}
        self._wanted, self._normalize = dimensions, normalize
        # A transformer is slow enough for its progress to be watched; static vectors are not.
        self.group = 4 * profile.batch if profile.kind == "sentence-transformers" else _STATIC_GROUP

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The model's last folder name, and a digest of every file that can move a vector."""
        package = self._profile.kind
        return EmbedderIdentity(
            model=Path(self._profile.model).name,
            digest=folder_digest(self._folder),
            dimensions=self._probe.shape[1],
            algorithm=f"{package}-{version(package)}",
            query_prefix=self._prefixes["query"],
            document_prefix=self._prefixes["document"],
            normalize=self._normalize,
        )

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Vectors of shape (len(texts), dimensions); a blank text gives zeros."""
        vectors = np.zeros((len(texts), self._probe.shape[1]), np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if rows:
            prefix = self._prefixes[role]
            sent = [(prefix + texts[row]).encode("utf-8", "replace").decode() for row in rows]
            vectors[rows] = self._encode(sent)
        return unit(vectors) if self._normalize else vectors

    @cached_property
    def _folder(self) -> Path:
        """Where the weights are."""
        given = Path(self._profile.model).expanduser()
        if given.is_dir():
            return given
        try:
            hub: Any = importlib.import_module("huggingface_hub")
            return Path(hub.snapshot_download(self._profile.model, local_files_only=True))
        except Exception:
            raise ProviderUnavailable(
                f"The model {self._profile.model!r} of profile {self._name!r} is not on this machine.",
                f"Set model in [profiles.{self._name}] to the folder of its weights, or fetch it first.",
            ) from None

    @cached_property
    def _model(self) -> Any:
        kind = self._profile.kind
        try:
            module: Any = importlib.import_module(kind.replace("-", "_"))
        except ImportError:
            raise ProviderUnavailable(
                f"Profile {self._name!r} needs the package {kind}, which is not installed.",
                "Install it: pip install 'ragtui[local]'.",
            ) from None
        _quieten()
        try:
            if kind == "model2vec":
                return module.StaticModel.from_pretrained(str(self._folder))
            return module.SentenceTransformer(str(self._folder), local_files_only=True)
        except Exception as error:
            reason = printable(f"{type(error).__name__}: {error}")[:200].replace(str(self._folder), "…")
            raise ProviderUnavailable(
                f"The model of profile {self._name!r} cannot be loaded: {reason}.", "Check the folder's files."
            ) from None

    @cached_property
    def _probe(self) -> Vectors:
        """One vector of the model: its shape tells the dimensions."""
        probe = self._encode(["probe"])
        if self._wanted not in (None, probe.shape[1]):
            raise ProviderUnavailable(
                f"The model of profile {self._name!r} has {probe.shape[1]} dimensions, the plan wants {self._wanted}.",
                "Correct embedding.dimensions, or leave it out.",
            )
        return probe

    def _encode(self, texts: list[str]) -> Vectors:
        options: dict[str, Any] = {"show_progress_bar": False}
        if self._profile.kind == "model2vec":
            options |= {"use_multiprocessing": False}
        else:
            options |= {"batch_size": self._profile.batch, "normalize_embeddings": False}
        return np.asarray(self._model.encode(texts, **options), np.float32)


def _quieten() -> None:
    """Keep the libraries' bars and remarks about loading off a display that is not theirs."""
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if "transformers" in sys.modules:
        theirs: Any = importlib.import_module("transformers.utils.logging")
        theirs.set_verbosity_error()
        theirs.disable_progress_bar()


def folder_digest(folder: Path) -> str:
    """`sha256:` over the names and contents of a model's files, in the order of their names; notes are left out."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.suffix not in _SKIPPED and not name.startswith("."):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(name.encode() + b"\0" + content)
    return "sha256:" + digest.hexdigest()
