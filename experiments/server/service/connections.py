"""Layer between a server's socket and its routes: access control and time limits.

`RequestFilter` checks Host, Origin, shared secret and headers. It is a plain ASGI
layer: streams pass unchanged, and a refused request reaches no route.

`PunctualConnection` closes a connection with an incomplete request: silent or half-open
connections could otherwise block others forever. When the server is full, new
connections are rejected and existing ones continue: an owner's renewals use an existing
connection.

`EventStream` sends server-sent events to a reader that may disconnect or stop reading.
It has no queue: the stream requests new data once the last piece is sent, so a slow
reader gets fewer pieces. A reader that reads nothing is disconnected by its connection
and, on Linux, by the socket's time limit.
"""

import asyncio
import base64
import binascii
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nao_testbed.experiments.server.service.address import EPOCH_HEADER
from nao_testbed.models.values import printable

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class RequestFilter:
    """Filter that rejects unauthorised calls, and marks every answer with the epoch."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        epoch: int,
        secret: str | None,
        hosts: Iterable[str] | None,
        max_body: int,
    ) -> None:
        """Wrap an application.

        Args:
            app: application.
            epoch: epoch of the manager, sent in a header of every answer.
            secret: shared secret of callers; None: no secret required.
            hosts: accepted names in the Host header, without port; None: any. A foreign
                page whose name resolves to this machine (DNS rebinding) has another
                name.
            max_body: maximum body in bytes; a body with a larger declared size is
                rejected unread, others at the limit.
        """
        self._app = app
        self._epoch = str(epoch)
        self._secret = secret
        self._max_body = max_body
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a call, or reject it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[EPOCH_HEADER] = self._epoch
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refuse(Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_marked)

    def _refuse(self, headers: Headers) -> JSONResponse | None:
        host = _without_port(headers.get("host", ""))
        if self._hosts is not None and host not in self._hosts:
            return error_response(
                421,
                f"Host is {host[:100]!r}; this server answers to "
                f"{', '.join(sorted(self._hosts))}. Use one of these addresses.",
            )
        if "origin" in headers and not is_same_origin(headers):
            return error_response(
                403,
                f"Origin is {headers['origin'][:100]!r}; only a page of this server, "
                f"http://{headers.get('host', '')[:100]}, or a program other than a "
                "browser may send requests. Open the page of this server.",
            )
        if self._secret is not None and not self._is_authenticated(headers):
            refusal = error_response(
                401,
                "the shared secret is missing or wrong; give it with --secret-file, as "
                "a Bearer token, or as the password of a browser's log-in (any name).",
            )
            refusal.headers["www-authenticate"] = (
                'Basic realm="reservations", charset="UTF-8"'
            )
            return refusal
        size = headers.get("content-length", "0")
        digits = size.lstrip("0") or "0"
        is_short = size.isdecimal() and len(digits) <= len(str(self._max_body))
        if not is_short or int(digits) > self._max_body:
            return error_response(
                413, f"the body is too large; the limit is {self._max_body} bytes."
            )
        return None

    def _is_authenticated(self, headers: Headers) -> bool:
        """Return True if the caller has the secret; compares in constant time."""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        given = value.strip().encode("latin-1")  # encoding of headers
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        return secrets.compare_digest(given, (self._secret or "").encode())


def is_same_origin(headers: Headers) -> bool:
    """Return True if the browser reports a page of this server as the origin.

    The scheme may be https, since a proxy with TLS may precede the server.
    """
    scheme, _, place = headers.get("origin", "").lower().partition("://")
    return scheme in {"http", "https"} and place == headers.get("host", "").lower()


def error_response(status: int, text: str) -> JSONResponse:
    """Return an error in the form of this server: `{"error": "..."}`.

    Its lines can be printed safely even if they quote the request.
    """
    lines = "\n".join(map(printable, text.split("\n")))
    return JSONResponse({"error": lines}, status_code=status)


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


WHOLE_S = 10.0
"""Maximum time in s from connecting, or the first byte of a request, to its last."""


class PunctualConnection(H11Protocol):
    """Connection with time limits for receiving requests and sending answers."""

    silent_s = 10.0
    """Time in s after which a reader that reads nothing is disconnected."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._limit: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._unsent = 0

    def connection_made(  # type: ignore[override]  # as the parent's
        self, transport: asyncio.Transport
    ) -> None:
        """Accept the connection, or answer that the server is full."""
        super().connection_made(transport)
        if self._most is not None and len(self.connections) > self._most:
            self.connections.discard(self)
            transport.write(_full(self._most))
            transport.close()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Read, and check whether the request is complete."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limits."""
        super().connection_lost(exc)
        self._cancel_limit()
        self._resume()

    def pause_writing(self) -> None:
        """Wait for the reader, with a time limit."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """Cancel the time limit: the reader has read the data."""
        super().resume_writing()
        self._resume()

    def _await_reader(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self.silent_s, self._end_silent)

    def _end_silent(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:  # slow reader
            self._await_reader()
        else:
            self.transport.abort()

    def _resume(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _watch(self) -> None:
        if not self._is_waiting_for_more():
            self._cancel_limit()
        elif self._limit is None:
            self._limit = self.loop.call_later(WHOLE_S, self._end)

    def _is_waiting_for_more(self) -> bool:
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _cancel_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _end(self) -> None:
        self._limit = None
        if self._is_waiting_for_more() and not self.transport.is_closing():
            self.transport.abort()


def _full(most: int) -> bytes:
    """Return the answer to a connection above the maximum."""
    text = f"this server has its maximum of {most} connections; try again soon."
    body = json.dumps({"error": text}).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


class WakeSignal:
    """Signal set from any thread, awaited by one coroutine."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_set = asyncio.Event()

    def set(self) -> None:
        """Wake the coroutine; if set before the wait, the wait returns at once."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._is_set.set)

    async def wait(self, within_s: float) -> bool:
        """Wait until the signal is set; return False on timeout."""
        try:
            async with asyncio.timeout(within_s):
                await self._is_set.wait()
        except TimeoutError:
            return False
        self._is_set.clear()
        return True

    async def settle(self, for_s: float) -> None:
        """Merge further signals for some time; none is lost."""
        await asyncio.sleep(for_s)
        self._is_set.clear()


def as_event(name: str, data: str, number: int | None = None) -> str:
    """Return the text of one event; the data is one line of JSON."""
    mark = "" if number is None else f"id: {number}\n"
    return f"{mark}event: {name}\ndata: {data}\n\n"


class EventStream(StreamingResponse):
    """Response that sends pieces until the reader disconnects or the server ends."""

    media_type = "text/event-stream"

    def __init__(
        self, pieces: AsyncIterator[str], on_end: Callable[[], None] | None = None
    ) -> None:
        """Create a stream.

        Args:
            pieces: events as text.
            on_end: function called once after the end of the stream, for any reason.
        """
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(pieces, headers=headers)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader or the server ends the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._on_end is not None:
                self._on_end()
