"""Where a profile's server is, and the key it is given: checked before anything is sent."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from ragtui.errors import ProviderUnavailable
from ragtui.settings import NAME_THE_VARIABLE, NO_VARIABLE, Profile, environment, is_variable

_DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434"}
_DEFAULT_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"/v\d+[a-z0-9]*$")
_PATH = re.compile(r"[/~.\\]|[A-Za-z]:\\")
REDACTED = "[key]"
_SECRET_LENGTH = 8
_ESCAPE = re.compile(rb"\\(?:u(00[0-7][0-9a-fA-F])|.)", re.DOTALL)


def base_url(profile: Profile, name: str) -> str:
    """The profile's address without a slash at the end; Ollama has a default.

    Raises ProviderUnavailable unless it is `https`, or plain `http` to a loopback address or under `insecure = true`.
    """
    url = (profile.url or _DEFAULT_URLS.get(profile.kind, "")).strip().rstrip("/")
    place = f"url in [profiles.{name}]"
    if not url:
        raise ProviderUnavailable(f"Profile {name!r} names no server.", f"Set {place}.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ProviderUnavailable(f"The url of profile {name!r} is not an address.", f"Correct {place}.") from None
    if parts.scheme not in _DEFAULT_PORTS or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise ProviderUnavailable(
            f"The url of profile {name!r} is not an address.", f"Write {place} as https://host/…."
        )
    if parts.username is not None or parts.password is not None:
        raise ProviderUnavailable(
            f"The url of profile {name!r} holds a user or a password.", "Name the key's variable in key_env instead."
        )
    if parts.query or parts.fragment:
        raise ProviderUnavailable(f"The url of profile {name!r} holds a query.", f"End {place} with the path.")
    if parts.scheme == "http" and not profile.insecure and not is_loopback(host):
        raise ProviderUnavailable(
            f"Profile {name!r} would send texts and keys over plain http to another machine.",
            f"Use https, or set insecure = true in [profiles.{name}] for a network that you trust.",
        )
    return url


def openai_path(profile: Profile, path: str) -> str:
    """`/v1` and the path, or the path alone where the profile's url already ends in a version."""
    return path if _VERSION.search(profile.url.rstrip("/")) else f"/v1{path}"


def placeless(model: str) -> str:
    """A model's name, of a path only its last part: llama.cpp calls a model by the path of its file.

    A place on somebody's disk is no identity.
    """
    return re.split(r"[/\\]", model)[-1] if _PATH.match(model) else model


def is_loopback(host: str) -> bool:
    """Whether a host can only be this machine. A name below `localhost` is whatever the network's servers say."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_server(left: str, right: str) -> bool:
    """Whether two addresses have the same scheme, host and port."""
    return _server(urlsplit(left)) == _server(urlsplit(right))


def _server(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def key_of(profile: Profile, name: str) -> str:
    """The key from the environment variable that the profile names; empty where it names none.

    Raises ProviderUnavailable where the variable is not set, or holds what no header can carry.
    """
    if not profile.key_env:
        return ""
    if not is_variable(profile.key_env):
        raise ProviderUnavailable(f"{NO_VARIABLE.format(name)}.", NAME_THE_VARIABLE)
    variable = variable_of(profile, name)
    key = (environment(profile.key_env) or "").strip()
    if not key:
        raise ProviderUnavailable(
            f"Profile {name!r} needs a key, but the variable {variable} is not set.", f"Set {variable}."
        )
    if not (key.isascii() and key.isprintable()):
        raise ProviderUnavailable(
            f"The variable {variable} holds a character that no key can have.", "Copy the key again."
        )
    return key


def variable_of(profile: Profile, name: str) -> str:
    """How messages call the variable: by its name where that is written as such names are, else it may be the key."""
    return profile.key_env if profile.key_env.isupper() else f"that key_env in [profiles.{name}] names"


def redacted(text: str, key: str) -> str:
    """The text with every occurrence of the key replaced."""
    return text.replace(key, REDACTED) if key else text


def is_secret(key: str) -> bool:
    """Whether a key is one: what people write for servers without keys (`none`, `ollama`) may stand in any answer.

    Nor can a number or a word be told from what an answer holds.
    """
    letters = {char for char in key if char.isalpha()} - {"e", "E"}
    return len(key) >= _SECRET_LENGTH and bool(letters) and not key.isalpha()


def unkeyed(data: bytes, key: str) -> bytes:
    """An answer, JSON or not, with every occurrence of a secret key replaced, also where JSON escapes spell it."""
    if not is_secret(key):
        return data
    if b"\\" in data:
        data = _ESCAPE.sub(_plain, data)
    spelt = key.replace("\\", "\\\\").replace('"', '\\"')
    return data.replace(key.encode(), REDACTED.encode()).replace(spelt.encode(), REDACTED.encode())


def _plain(escape: re.Match[bytes]) -> bytes:
    """The ASCII character that a JSON escape stands for; the escape itself where JSON needs one."""
    char = b"/" if escape[0] == b"\\/" else chr(int(escape[1], 16)).encode() if escape[1] else b""
    return char if len(char) == 1 and char.decode().isprintable() and char not in b'\\"' else escape[0]
