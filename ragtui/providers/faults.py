"""What went wrong with a profile's server, in words that hold neither an address nor a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.inputs.text import fold_space, printable
from ragtui.providers.address import redacted, variable_of
from ragtui.settings import Profile

Advice = Literal["up", "url", "key", "model", "batch", "slow", "kind", "again", "request", "dimensions"]
KEY_REFUSED = "refuses the key"
_DETAIL_LENGTH = 200
NAMES = 12
NAME_LENGTH = 80

_CONNECTION_REASONS = {
    "refused": "nothing listens there",
    "name or service": "its host name is unknown",
    "nodename": "its host name is unknown",
    "resolution": "its host name is unknown",
    "gaierror": "its host name is unknown",
    "certificate": "its certificate is not trusted",
    "ssl": "it does not speak TLS as expected",
    "unreachable": "the network does not lead there",
}


class RequestRefused(ProviderUnavailable):
    """The server finds this request at fault or too large; a smaller one may pass. `detail` is what it says."""

    def __init__(self, message: str, hint: str, detail: str = "") -> None:
        super().__init__(message, hint)
        self.detail = detail


_SUBJECT = "The server of profile {!r}"


def server_fault(profile: Profile, name: str, what: str, advice: Advice) -> ProviderUnavailable:
    """`The server of profile 'x' <what>.`, with what to do about it."""
    place = f"[profiles.{name}]"
    right_key = f"Set the right key in {_holder(profile, name)}." if profile.key_env else f"Set key_env in {place}."
    hints: dict[Advice, str] = {
        "up": f"Start the server, or correct url in {place}.",
        "url": f"Set url in {place} to the address that answers.",
        "key": right_key,
        "model": f"Correct model or url in {place}, or give the model to the server.",
        "batch": f"Lower batch or batch_characters in {place}.",
        "slow": f"Raise timeout and deadline in {place}, or lower batch and concurrency.",
        "kind": f"Check kind and url in {place}: `ragtui doctor` asks the server.",
        "again": "Try again later; what was answered is kept.",
        "dimensions": "Correct embedding.dimensions, or leave it out: not every model can shorten its vectors.",
        "request": f"Check model and kind in {place}: `ragtui doctor` asks the server.",
    }
    return ProviderUnavailable(f"{_SUBJECT.format(name)} {what}.", hints[advice])


def _holder(profile: Profile, name: str) -> str:
    variable = variable_of(profile, name)
    return variable if variable == profile.key_env else f"the variable {variable}"


def listed(names: Iterable[str]) -> str:
    """The first names that a server tells, inert and cut, with a count of the others; `none` where there are none."""
    known = sorted(names)
    shown = [printable(name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}…") for name in known[:NAMES]]
    more = f" and {len(known) - NAMES:,} more" if len(known) > NAMES else ""
    return (", ".join(shown) or "none") + more


def deed(error: ProviderUnavailable, name: str) -> str:
    """What the server of this profile did, by a `server_fault`: `answers with HTTP 429`."""
    return error.message.removeprefix(_SUBJECT.format(name)).strip(" .")


def connection_reason(error: BaseException) -> str:
    """Why a connection failed, without the address that the system's message may hold."""
    text = " ".join(_messages(error)).lower()
    found = (meaning for sign, meaning in _CONNECTION_REASONS.items() if sign in text)
    return next(found, "the connection failed")


def _messages(error: BaseException) -> Iterator[str]:
    """The name and message of an error, of what it came from, and of every attempt in a group."""
    yield f"{type(error).__name__} {error}"
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for cause in (*inner, error.__cause__ or error.__context__):
        if cause is not None:
            yield from _messages(cause)


def refusal_detail(body: bytes, key: str) -> str:
    """What a server says of its refusal: inert, without the key, on one short line."""
    # The key goes before the text is folded or cut: half a key is still a secret.
    text = redacted(body.decode("utf-8", "replace"), key)
    try:
        said = msgspec.json.decode(text)
        said = said.get("error", said.get("message", said)) if isinstance(said, dict) else said
        text = str(said.get("message", said) if isinstance(said, dict) else said)
    except (msgspec.MsgspecError, RecursionError):
        pass
    # An escape in JSON can spell the key anew.
    text = printable(fold_space(redacted(text, key)))
    return text if len(text) <= _DETAIL_LENGTH else text[:_DETAIL_LENGTH] + "…"
