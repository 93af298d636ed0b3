"""The one HTTP client: what every server of a profile is asked through.

    client = ProviderClient(profile, "nomic")
    answer = client.post_json("/api/embed", {...})                  # from a thread
    answer = await client.post("/api/embed", {...})                 # in an event loop
    async for line in client.stream_lines("/v1/chat/completions", {...}): ...

Every failure is a ProviderUnavailable that names the profile, never an address or the key: messages end up in traces.
"""

from __future__ import annotations

import asyncio
import random
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from ragtui.errors import ProviderUnavailable
from ragtui.inputs.text import printable
from ragtui.providers.address import REDACTED, base_url, is_loopback, is_secret, key_of, same_server
from ragtui.providers.answers import AnswerReader
from ragtui.providers.background import in_background
from ragtui.providers.faults import (
    KEY_REFUSED,
    Advice,
    RequestRefused,
    connection_reason,
    deed,
    refusal_detail,
    server_fault,
)
from ragtui.providers.patience import CONNECT_RETRIES, back_off, is_temporary, retry_after
from ragtui.providers.retries import Retry, tell_retry
from ragtui.settings import Profile

ANSWER_LIMIT = 64 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_REDIRECTS = 3


class _Temporary(Exception):
    """The request may be tried again after `wait` seconds (None: as the back-off says)."""

    def __init__(self, failure: ProviderUnavailable, wait: float | None = None, connecting: bool = False) -> None:
        super().__init__()
        self.failure, self.wait, self.connecting = failure, wait, connecting


class ProviderClient:
    """Talks JSON with one profile's server.

    At most `profile.concurrency` requests are under way in one event loop; time spent waiting for a place does not
    count towards the deadline. When the server asks for patience, every request of this client waits. `sleep`, `draw`
    (in [0, 1)) and `transport` are seams for tests. Whoever listens is told of each retry, see `retries`.
    """

    def __init__(
        self,
        profile: Profile,
        name: str = "",
        *,
        answer_limit: int = ANSWER_LIMIT,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.name = name or profile.kind
        self.profile = profile
        self.requests = 0
        self._base = base_url(profile, self.name)
        self._key = key_of(profile, self.name)
        self._reader = AnswerReader(answer_limit, self._fault, self._key)
        self._transport, self._sleep, self._draw = transport, sleep, draw
        self._not_before = 0.0
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Open] = weakref.WeakKeyDictionary()

    # -- asking -------------------------------------------------------------------------------------------------------

    def post_json(self, path: str, body: Any, answer: Any = Any, *, deadline: float | None = None) -> Any:
        """`post` for callers outside an event loop; ctrl-c cancels the request."""
        return in_background(self.post(path, body, answer, deadline=deadline))

    def get_json(self, path: str, answer: Any = Any, *, deadline: float | None = None) -> Any:
        """`get` for callers outside an event loop."""
        return in_background(self.get(path, answer, deadline=deadline))

    async def post(self, path: str, body: Any, answer: Any = Any, *, deadline: float | None = None) -> Any:
        """Send `body` as JSON to `path` (below the profile's url) and decode the answer strictly as type `answer`.

        `deadline` is seconds for the request with all its retries (default: the profile's).
        """
        return await self._json("POST", path, body, answer, deadline)

    async def get(self, path: str, answer: Any = Any, *, deadline: float | None = None) -> Any:
        """`post` without a body."""
        return await self._json("GET", path, None, answer, deadline)

    async def stream_lines(self, path: str, body: Any, *, deadline: float | None = None) -> AsyncIterator[str]:
        """Send `body` and yield the answer's lines (server-sent events, NDJSON) without their ends, as they arrive.

        Nothing is tried again once a line was yielded.
        """
        async with self._place(deadline) as until:
            attempt = 0
            while True:
                yielded = False
                try:
                    async with self._answered("POST", path, body, until) as response:
                        async for line in self._reader.lines(response, until):
                            yielded = True
                            yield line
                    return
                except _Temporary as problem:
                    if yielded:
                        raise problem.failure from None
                    await self._wait(problem, attempt, until)
                    attempt += 1

    def is_there(self) -> int:
        """The HTTP status that the profile's url itself answers with, whatever it is; raises if nothing answers."""
        return in_background(self._status())

    async def _status(self) -> int:
        async with self._place(None) as until:
            try:
                async with self._answered("GET", "", None, until, any_status=True) as response:
                    return response.status_code
            except _Temporary as problem:
                raise problem.failure from None

    def without_key(self, text: str) -> str:
        """Text put together from an answer's pieces, without the key that they may spell together."""
        return text.replace(self._key, REDACTED) if is_secret(self._key) else text

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        held = self._open.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.client.aclose()

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _json(self, method: str, path: str, body: Any, answer: Any, deadline: float | None) -> Any:
        async with self._place(deadline) as until:
            attempt = 0
            while True:
                try:
                    async with self._answered(method, path, body, until) as response:
                        data = await self._reader.whole(response, until)
                    return self._decoded(data, answer)
                except _Temporary as problem:
                    await self._wait(problem, attempt, until)
                    attempt += 1

    @asynccontextmanager
    async def _place(self, deadline: float | None) -> AsyncIterator[float]:
        """A place among the requests under way; gives the moment by which all must be done."""
        async with self._opened().places:
            yield time.monotonic() + (self.profile.deadline if deadline is None else deadline)

    @asynccontextmanager
    async def _answered(
        self, method: str, path: str, body: Any, until: float, any_status: bool = False
    ) -> AsyncIterator[httpx.Response]:
        """The response's head with a good status; its body is unread. Network failures inside become messages."""
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                response = await self._sent(method, self._base + path, body)
            try:
                if not (response.is_success or any_status):
                    raise await self._refusal(response, until)
                yield response
            finally:
                await response.aclose()
        except TimeoutError:
            raise self._late() from None
        except httpx.ConnectTimeout:
            raise _Temporary(self._fault("cannot be reached: it does not answer", "up"), connecting=True) from None
        except httpx.TimeoutException:
            raise _Temporary(self._fault(f"sent nothing for {self.profile.timeout:g} s", "slow")) from None
        except httpx.ConnectError as error:
            reason = connection_reason(error)
            raise _Temporary(self._fault(f"cannot be reached: {reason}", "up"), connecting=True) from None
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError) as error:
            if "location header" in str(error):
                raise self._fault("redirects to what is not an address", "url") from None
            raise _Temporary(self._fault("closed the connection before its answer was complete", "again")) from None
        except httpx.HTTPError as error:
            raise self._fault(f"cannot be asked: {type(error).__name__}", "up") from None

    async def _sent(self, method: str, url: str, body: Any) -> httpx.Response:
        client = self._opened().client
        content = None if body is None else msgspec.json.encode(body)
        for _ in range(_REDIRECTS + 1):
            self.requests += 1
            request = client.build_request(method, url, content=content, headers=self._headers())
            response = await client.send(request, stream=True)
            if not response.is_redirect:
                return response
            await response.aclose()
            url = self._redirected(url, response)
        raise self._fault("redirects in a circle", "url")

    def _headers(self) -> dict[str, str]:
        # Compressed answers are not asked for: a small one could unpack to more than any limit.
        headers = {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "ragtui"}
        return headers | ({"authorization": f"Bearer {self._key}"} if self._key else {})

    def _redirected(self, url: str, response: httpx.Response) -> str:
        """Where a redirect leads, if the request may follow: to the same server, with its method and body."""
        try:
            target: str = urljoin(url, response.headers.get("location", ""))
            allowed = same_server(url, target)
        except ValueError:
            raise self._fault("redirects to what is not an address", "url") from None
        if not allowed:
            raise self._fault("redirects to another server, which is given neither key nor texts", "url")
        if response.status_code not in (307, 308) and response.request.method != "GET":
            raise self._fault("redirects in a way that loses the request", "url")
        return target

    async def _refusal(self, response: httpx.Response, until: float) -> BaseException:
        status = response.status_code
        detail = refusal_detail(await self._reader.beginning(response, until), self._key)
        said = f" ({detail})" if detail else ""
        if status in (401, 403):
            return self._fault(f"{KEY_REFUSED}: HTTP {status}{said}", "key")
        if status == 404:
            return self._fault(f"does not know the model {self.profile.model!r} or the path: HTTP 404{said}", "model")
        if status in (400, 413, 422):
            fault = self._fault(f"finds the request at fault or too large: HTTP {status}{said}", "batch")
            return RequestRefused(fault.message, fault.hint, detail)
        if not is_temporary(status):
            return self._fault(f"answers with HTTP {status}{said}", "request")
        failure = self._fault(f"answers with HTTP {status}{said}", "again")
        return _Temporary(failure, retry_after(response.headers.get("retry-after")))

    def _decoded(self, data: bytes, answer: Any) -> Any:
        try:
            return msgspec.json.decode(data, type=answer)
        except msgspec.ValidationError as error:
            raise self._fault(f"answers with JSON of another shape: {printable(str(error))}", "kind") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._fault("answers with something that is not JSON", "kind") from None

    async def _wait(self, problem: _Temporary, attempt: int, until: float) -> None:
        """Sleep until the request may be tried again, or raise its failure where that is too often or too late."""
        allowed = min(self.profile.retries, CONNECT_RETRIES) if problem.connecting else self.profile.retries
        if attempt >= allowed:
            tries = f" (asked {attempt + 1} times)" if attempt else ""
            raise ProviderUnavailable(problem.failure.message.rstrip(".") + f"{tries}.", problem.failure.hint) from None
        pause = back_off(attempt, self._draw) if problem.wait is None else problem.wait
        now = time.monotonic()
        if problem.wait is not None:
            self._not_before = max(self._not_before, now + pause)
        pause = max(pause, self._not_before - now)
        if now + pause >= until:
            raise self._late() from problem.failure
        reason = deed(problem.failure, self.name)
        tell_retry(Retry(provider=self.name, attempt=attempt + 2, reason=reason, wait_s=pause))
        await self._sleep(pause)

    def _late(self) -> ProviderUnavailable:
        return self._fault("did not answer before the deadline", "slow")

    def _fault(self, what: str, advice: Advice) -> ProviderUnavailable:
        return server_fault(self.profile, self.name, what, advice)

    def _opened(self) -> _Open:
        """This event loop's connections; one pool cannot serve two loops."""
        loop = asyncio.get_running_loop()
        held = self._open.get(loop)
        if held is None:
            seconds = self.profile.timeout
            client = httpx.AsyncClient(
                timeout=httpx.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds), pool=None),
                limits=httpx.Limits(max_connections=self.profile.concurrency),
                follow_redirects=False,
                # A proxy from the environment has no business between this machine and itself.
                trust_env=not is_loopback(urlsplit(self._base).hostname or ""),
                transport=self._transport,
            )
            held = self._open[loop] = _Open(client, asyncio.Semaphore(self.profile.concurrency))
        return held


class _Open(msgspec.Struct, frozen=True):
    client: httpx.AsyncClient
    places: asyncio.Semaphore
