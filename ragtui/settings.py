"""The workspace and its profiles: the only reader of the environment and of TOML files, strict about fields."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ragtui.errors import InvalidFiles, InvalidInput, Problem

CONFIG_NAME = "ragtui.toml"
STATE_FOLDER = ".ragtui"
DEEPEST = 50
FAULTS_SHOWN = 20
# Reading a dotted key takes the square of its parts.
_ENDLESS_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}""", re.ASCII
)
NO_VARIABLE = "key_env in [profiles.{}] is not a variable's name"
NAME_THE_VARIABLE = "Write the NAME of the environment variable that holds the key, never the key."


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to reach a provider. Never part of a specification; nothing here can move a measured number.

    `key_env` is the name of an environment variable; the key itself is never stored. `model` is the server's name for
    the model, or for a local kind a folder. Times are seconds: `timeout` for one wait on the network, `deadline` for
    one request with all its retries. `batch` and `batch_characters` bound the texts of one request. `revision` tells
    models apart that a server serves under one name without a digest.

    `input_price` and `output_price` are for a million tokens of prompt and of answer, in whatever currency. `warm_up`
    says whether a first answer of one token is thrown away; None leaves it to the kind of server.
    """

    kind: Literal["ollama", "openai", "model2vec", "sentence-transformers", "retriever"]
    model: str = ""
    revision: str = ""
    url: str = ""
    key_env: str = ""
    insecure: bool = False
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=256)] = 4
    batch: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64
    batch_characters: Annotated[int, msgspec.Meta(ge=1)] = 100_000
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    deadline: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 4
    input_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    output_price: Annotated[float, msgspec.Meta(ge=0)] | None = None
    warm_up: bool | None = None


class SuiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the workspace says of a suite: the only tier that may run it, if any."""

    tier: Literal["retrieval", "generation"] | None = None


class _Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    corpus: str = "corpus"
    goldens: str = "goldens"
    store: str = "runs.duckdb"
    reference: str | None = None
    profiles: dict[str, Profile] = {}
    suites: dict[str, SuiteSettings] = {}


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are. `reference` is a second, read-only store; `state` holds artifacts and journals."""

    root: Path
    corpus: Path
    goldens: Path
    store: Path
    reference: Path | None
    state: Path
    profiles: dict[str, Profile] = {}
    suites: dict[str, SuiteSettings] = {}

    @property
    def artifacts(self) -> Path:
        """The folder of content-addressed artifacts."""
        return self.state / "artifacts"

    @property
    def embeddings(self) -> Path:
        """The folder of vectors that servers were asked for."""
        return self.state / "embeddings"

    @property
    def journals(self) -> Path:
        """The folder of live and interrupted runs' journals."""
        return self.state / "journal"


def expanded(path: Path) -> Path:
    """The path from the root of the file system, `~` and `~name` replaced; InvalidInput for a user without a home."""
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(f"{path}: there is no such user's home.", "Write the path out.") from error


def open_workspace(root: Path | None = None, store: Path | None = None) -> Workspace:
    """The workspace in `root` (the current folder by default), as its `ragtui.toml` says, or by the conventions.

    `store` overrides the working store. Nothing is created or required to exist.
    """
    root = expanded(root or Path.cwd())
    if not root.is_dir():
        raise InvalidInput(f"{root} is not a folder.", "Give the folder of the workspace after -w.")
    config = _read_config(root / CONFIG_NAME)
    return Workspace(
        root=root,
        corpus=root / config.corpus,
        goldens=root / config.goldens,
        store=expanded(store) if store else root / config.store,
        reference=root / config.reference if config.reference else None,
        state=root / STATE_FOLDER,
        profiles=config.profiles,
        suites=config.suites,
    )


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """The TOML document; InvalidInput names the line."""
    if endless := _ENDLESS_KEY.search(text):
        line_number = text.count("\n", 0, endless.start()) + 1
        raise InvalidInput(f"{source}:{line_number}: a key has more than {DEEPEST} parts.", "Mend the line.")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{source}:{line.group(1)}" if line else source
        raise InvalidInput(f"{place}: is not TOML: {error}.", "Mend the line.") from error
    except ValueError as error:
        # Python reads no integer of more than some thousand digits.
        raise InvalidInput(f"{source}: holds a number that is too large.", "Write a smaller one.") from error


def listed_faults(faults: Sequence[str]) -> str:
    """What is wrong as one sentence's words: the first faults, each cut, and how many more there are."""
    shown = [fault if len(fault) <= 300 else f"{fault[:300]}…" for fault in faults[:FAULTS_SHOWN]]
    more = len(faults) - FAULTS_SHOWN
    return "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")


def field_faults(data: Mapping[str, Any], struct: type[msgspec.Struct], path: str = "") -> list[str]:
    """What keeps plain data from being a `struct`: each unknown field with the nearest known name, each wrong type, and
    each missing field, all with their paths."""
    known = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    faults: list[str] = []
    for key, value in data.items():
        place = f"{path}{key}"
        if key not in known:
            likely = len(faults) < FAULTS_SHOWN and len(str(key)) <= 100
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5) if likely else []
            faults.append(f"unknown field {place}" + (f" (did you mean {path}{near[0]}?)" if near else ""))
            continue
        annotation = known[key].type
        inner = _struct_in(annotation)
        if inner is not None and isinstance(value, list) and typing.get_origin(annotation) is tuple:
            faults += _item_faults({f"[{at}]": item for at, item in enumerate(value)}, inner, place)
        elif inner is None or not isinstance(value, Mapping):
            faults += _mistyped(value, annotation, place)
        elif typing.get_origin(annotation) is dict:
            faults += _item_faults({f".{name}": item for name, item in value.items()}, inner, place)
        else:
            faults += field_faults(value, inner, f"{place}.")
    missing = [name for name, field in known.items() if field.required and name not in data]
    return faults + [f"Object missing required field `{path}{name}`" for name in missing]


def _item_faults(items: Mapping[str, Any], struct: type[msgspec.Struct], path: str) -> list[str]:
    return [
        fault
        for name, item in items.items()
        for fault in (
            field_faults(item, struct, f"{path}{name}.")
            if isinstance(item, Mapping)
            else _mistyped(item, struct, f"{path}{name}")
        )
    ]


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The struct in a field's type: itself, an optional one, or one in a list or a table by name."""
    options = (annotation, *typing.get_args(annotation))
    return next((option for option in options if isinstance(option, type) and issubclass(option, msgspec.Struct)), None)


def _mistyped(value: Any, annotation: Any, place: str) -> list[str]:
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        reason, _, inside = str(error).partition(" - at `$")
        return [f"{reason} at `{place}{inside.rstrip('`').replace('[...]', '')}`"]
    return []


def _read_config(path: Path) -> _Config:
    if not os.path.lexists(path):
        return _Config()
    try:
        # A link that leads nowhere means settings that are missing, and a pipe would wait for its other end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file.", "Move it away, or write the settings there.")
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8.", "Save the file as UTF-8.") from error
    data = parse_toml(text, path.name)
    faults = field_faults(data, _Config)
    told = [Problem(path.name, _line_of(fault, text), f"{fault}.") for fault in faults]
    told += [Problem(path.name, 0, "a path holds a zero byte.") for _ in range(not faults and _with_zero(data))]
    told += [] if faults else list(_misnamed_variables(msgspec.convert(data, _Config), path.name, text))
    if told:
        hint = "`ragtui init` writes a commented example; `ragtui help profiles` names the fields."
        raise InvalidFiles(told, hint, path.name)
    return msgspec.convert(data, _Config)


def _with_zero(data: Mapping[str, Any]) -> bool:
    return any("\0" in str(data.get(name, "")) for name in ("corpus", "goldens", "store", "reference"))


def _misnamed_variables(config: _Config, file: str, text: str) -> Iterator[Problem]:
    """Profiles with what cannot be a variable's name: it may be the key itself, so it is not shown."""
    for name, profile in config.profiles.items():
        if profile.key_env and not is_variable(profile.key_env):
            line = _line_of(f"unknown field profiles.{name}.key_env", text)
            yield Problem(file, line, NO_VARIABLE.format(name) + ".", NAME_THE_VARIABLE)


def is_variable(name: str) -> bool:
    """Whether an environment variable may have the name."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def _line_of(fault: str, text: str) -> int:
    """The line of the TOML text that a fault is about; 0 where the text does not show it."""
    found = re.search(r"unknown field (\S+)|(?:at|required field) `([^`]+)`", fault)
    wanted = (found[1] or found[2]) if found else ""
    table, best = "", (0, 0)
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
            here = table = header[1].replace('"', "")
        elif key := re.match(r"\s*([\w.\"-]+)\s*=", line):
            here = ".".join(filter(None, (table, key[1].replace('"', ""))))
        else:
            continue
        if wanted == here or wanted.startswith((f"{here}.", f"{here}[")):
            best = max(best, (len(here), number))
    return best[1]


def environment(name: str) -> str | None:
    """The value of an environment variable that a profile names."""
    return os.environ.get(name)


def in_ci() -> bool:
    """Whether a continuous-integration system runs this process."""
    return environment("CI") not in (None, "", "false", "0")
