"""A real HTTP server on 127.0.0.1 that answers as a test tells it to, well or badly.

    with ScriptedServer(lambda request: Reply.json({"embeddings": [[1.0, 0.0]]})) as server:
        ...  # server.url, server.requests

A script may also be a list: one reply a request, the last one for all that follow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Request:
    """What arrived; `headers` have lower-case names, `body` is decoded JSON or None."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What is sent back: the parts one after the other, `pause` seconds before each.

    `length` is the announced length; None announces none and closes the connection at the end. `wait` is seconds
    before the status line.
    """

    parts: Iterable[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    wait: float = 0.0
    pause: float = 0.0
    silent_close: bool = False

    @classmethod
    def json(cls, value: Any, status: int = 200, wait: float = 0.0, **headers: str) -> Reply:
        """A well-formed answer; header names with underscores get hyphens."""
        return cls.text(json.dumps(value), status, wait, **headers)

    @classmethod
    def text(cls, text: str, status: int = 200, wait: float = 0.0, **headers: str) -> Reply:
        """Any text with its right length."""
        data = text.encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls([data], status, named, len(data), wait)

    @classmethod
    def lines(cls, lines: Iterable[str], pause: float = 0.0) -> Reply:
        """A stream of lines (server-sent events, NDJSON) that ends when the connection closes."""
        return cls((line.encode() + b"\n" for line in lines), pause=pause)

    @classmethod
    def cut_short(cls, text: str) -> Reply:
        """Half of what is announced, then the connection closes."""
        data = text.encode()
        return cls([data[: len(data) // 2]], length=len(data))

    @classmethod
    def endless(cls, part: bytes = b"[" + b"0.25," * 4096, pause: float = 0.0) -> Reply:
        """Goes on until the client leaves."""
        return cls(repeat(part), pause=pause)

    @classmethod
    def closed(cls) -> Reply:
        """The connection closes without a status line."""
        return cls([], silent_close=True)


Script = Callable[[Request], Reply] | Sequence[Reply]


class ScriptedServer:
    """Serves from a thread while it is entered. `most_at_once` is the greatest number of requests under way."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._under_way = 0
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def posts(self) -> list[Request]:
        """The requests with a body."""
        return [request for request in self.requests if request.method == "POST"]

    def _answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            count = len(self.requests)
        if callable(self._script):
            return self._script(request)
        return self._script[min(count, len(self._script)) - 1]

    def _enter(self, change: int) -> None:
        with self._lock:
            self._under_way += change
            self.most_at_once = max(self.most_at_once, self._under_way)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                data = self.rfile.read(size)
                headers = {name.lower(): value for name, value in self.headers.items()}
                server._enter(1)
                try:
                    body = json.loads(data) if data else None
                    self._send(server._answer(Request(self.command, self.path, headers, body)))
                except OSError:
                    self.close_connection = True
                finally:
                    server._enter(-1)

            do_GET = do_POST = _serve

            def _send(self, reply: Reply) -> None:
                time.sleep(reply.wait)
                if reply.silent_close:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.length is None:
                    self.send_header("connection", "close")
                else:
                    self.send_header("content-length", str(reply.length))
                self.end_headers()
                sent = 0
                for part in reply.parts:
                    if reply.pause:
                        time.sleep(reply.pause)
                    self.wfile.write(part)
                    self.wfile.flush()
                    sent += len(part)
                if reply.length is None or sent < reply.length:
                    self.close_connection = True

            def log_message(self, format: str, *values: Any) -> None:
                """Stay quiet."""

        return Handler


def toy_vector(text: str, dimensions: int = 8) -> list[float]:
    """A vector of length 1 that depends on the text's characters only."""
    weights = [1.0 + sum((ord(char) * (axis + 3)) % 17 for char in text) for axis in range(dimensions)]
    length = sum(weight * weight for weight in weights) ** 0.5
    return [weight / length for weight in weights]


def embedding_service(model: str = "toy", digest: str = "0123456789abcdef", dimensions: int = 8) -> Script:
    """Ollama's and OpenAI's embedding calls as a good server answers them."""

    def answer(request: Request) -> Reply:
        if request.path == "/api/tags":
            return Reply.json({"models": [{"name": f"{model}:latest", "model": f"{model}:latest", "digest": digest}]})
        if request.path.endswith("/models"):
            return Reply.json({"object": "list", "data": [{"id": model, "object": "model"}]})
        if request.body.get("model") != model:
            return Reply.json({"error": f"model {request.body.get('model')!r} not found"}, 404)
        size = request.body.get("dimensions") or dimensions
        vectors = [toy_vector(text, size) for text in request.body["input"]]
        if request.path == "/api/embed":
            return Reply.json({"model": model, "embeddings": vectors, "prompt_eval_count": 3 * len(vectors)})
        if request.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(vectors)]
            used = {"prompt_tokens": 3 * len(data), "total_tokens": 3 * len(data)}
            return Reply.json({"object": "list", "data": data, "model": model, "usage": used})
        return Reply.json({"error": "no such path"}, 404)

    return answer


def then(first: Sequence[Reply], rest: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    """The replies of `first` to the first POST requests, then `rest`; GET requests always get `rest`."""
    waiting: Iterator[Reply] = iter(first)
    lock = threading.Lock()

    def answer(request: Request) -> Reply:
        if request.method != "POST":
            return rest(request)
        with lock:
            reply = next(waiting, None)
        return rest(request) if reply is None else reply

    return answer
