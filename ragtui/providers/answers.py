"""Reading a server's answer as it arrives: within a size, within a time, never unpacked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import httpx

from ragtui.errors import ProviderUnavailable
from ragtui.providers.address import unkeyed
from ragtui.providers.faults import Advice

LINE_LIMIT = 4 * 1024 * 1024
_BEGINNING_BYTES = 64 * 1024
_BEGINNING_SECONDS = 5.0


class AnswerReader:
    """Reads bodies of at most `limit` bytes. `until` is the moment (of `time.monotonic`) by which all must be there.

    A body that is too long or compressed, and text that is not UTF-8, become what `fault` makes of them; a moment that
    has passed becomes TimeoutError. A key that the server tells back is replaced in what is read.
    """

    def __init__(self, limit: int, fault: Callable[[str, Advice], ProviderUnavailable], key: str = "") -> None:
        self._limit, self._fault, self._key = limit, fault, key

    async def whole(self, response: httpx.Response, until: float) -> bytes:
        """The whole body."""
        data = bytearray()
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            async for part in self._parts(response):
                data += part
        return unkeyed(bytes(data), self._key)

    async def lines(self, response: httpx.Response, until: float) -> AsyncIterator[str]:
        """Each line without its end, as soon as it is complete."""
        waiting = bytearray()
        parts = self._parts(response)
        while True:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                part = await anext(parts, None)
            if part is None:
                break
            waiting += part
            *complete, rest = waiting.split(b"\n")
            waiting = bytearray(rest)
            if len(waiting) > LINE_LIMIT:
                raise self._fault(f"sends a line of more than {LINE_LIMIT / 1e6:.0f} MB", "request")
            for line in complete:
                yield self._text(line)
        if waiting:
            yield self._text(waiting)

    async def beginning(self, response: httpx.Response, until: float) -> bytes:
        """The first bytes of a refusal, as far as they come soon; empty where they do not."""
        data = bytearray()
        try:
            async with asyncio.timeout(min(_BEGINNING_SECONDS, max(0.0, until - time.monotonic()))):
                async for part in response.aiter_raw():
                    data += part
                    if len(data) > _BEGINNING_BYTES:
                        break
        except (httpx.HTTPError, TimeoutError):
            return b""
        return bytes(data[:_BEGINNING_BYTES])

    async def _parts(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The body's bytes, up to the limit."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise self._fault("answers compressed, which was not asked for", "request")
        size = 0
        async for part in response.aiter_raw():
            size += len(part)
            if size > self._limit:
                raise self._fault(f"answers with more than {self._limit / 1e6:.0f} MB", "batch")
            yield part

    def _text(self, line: bytearray) -> str:
        try:
            return unkeyed(bytes(line), self._key).decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise self._fault("answers with text that is not UTF-8", "request") from None
