"""HTTP server: the page, viser's client and its messages, behind the same checks.

    browser ── door (Host, Origin, key) ── guard ── page, API, client
                                      └── websocket ── viser (rejects other clients)

viser does not authenticate clients. It listens on a port of the loopback interface and
answers only requests with a secret of this process, which the door adds. The door
admits a browser with the key of the printed address, stored in a cookie. The page's
content policy blocks external requests.
"""

import asyncio
import contextlib
import functools
import http
import io
import secrets
import socket
import threading
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from nao_testbed.experiments.live.page import MAX_CONNECTIONS, Address
from nao_testbed.experiments.live.page.page_api import PageApi
from nao_testbed.experiments.server.service.connections import (
    LOOPBACK_NAMES,
    PunctualConnection,
    RequestFilter,
    error_response,
    is_same_origin,
)

if TYPE_CHECKING:
    from viser import ViserServer

SECRET_HEADER = "x-nao-testbed-live"
LARGEST_MESSAGE = 256 * 1024
"""Maximum size of a browser's message, in bytes."""
MAX_REQUEST_BYTES = 4096
"""Maximum body of a request, in bytes."""
SCRIPTS = (
    "common.js",
    *("steer.js", "sensors.js", "schemas.js", "who.js", "forecast.js", "panels.js"),
    "replay.js",
    "page.js",
)
"""Shared script, a script for each tab, the recording, and the main script."""
VIEW_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'unsafe-inline'; img-src 'self' data: blob:; font-src data:; "
    "connect-src 'self' data: blob:; worker-src blob:; media-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@contextlib.contextmanager
def closed_viser(secret: str) -> "Iterator[ViserServer]":
    """Yield a viser server on a free loopback port that requires a secret.

    Args:
        secret: required value of the request header `SECRET_HEADER`.
    """
    import websockets.asyncio.server as ours  # noqa: PLC0415  # heavy, and an extra
    from viser import ViserServer  # noqa: PLC0415

    serve = ours.serve

    def serve_with_key(*args: Any, **kwargs: Any) -> Any:
        answer = kwargs.pop("process_request")

        def check(connection: Any, request: Any) -> Any:
            given = request.headers.get(SECRET_HEADER, "")
            if not secrets.compare_digest(given.encode(), secret.encode()):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "not found\n")
            return answer(connection, request)

        return serve(*args, process_request=check, **kwargs)

    ours.serve = serve_with_key  # type: ignore[assignment,misc]
    try:  # viser prints its address on stdout, which is for data
        with contextlib.redirect_stdout(io.StringIO()):
            server = ViserServer(host="127.0.0.1", port=0, verbose=False)
    finally:
        ours.serve = serve  # type: ignore[misc]
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


_FORBIDDEN = error_response(
    403,
    "only a page of this server may do that; open the printed address.",
)


class PageGuard:
    """Authentication by a key, stored in a cookie, for pages of this server."""

    def __init__(self, app: ASGIApp, key: str, port: int) -> None:
        """Create the guard in front of an application.

        Args:
            app: application behind it; it gets the key as a Bearer token.
            key: key in the printed address.
            port: port of this server.
        """
        self._app, self._key = app, key
        self._cookie = f"nao_testbed_live_{port}"
        self._hosts = {f"{name}:{port}" for name in LOOPBACK_NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or reject it."""
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":
            if self._is_allowed(headers) and self._has_key(headers):
                await self._app(scope, receive, send)
            else:
                await _FORBIDDEN(scope, receive, send)
            return
        if scope["type"] == "http":
            if scope["method"] not in {"GET", "HEAD"} and not self._is_allowed(headers):
                await _FORBIDDEN(scope, receive, send)
                return
            given = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])
            if scope["path"] == "/" and self._is_key(given[0]):
                answer = RedirectResponse("/", 303)
                answer.set_cookie(
                    self._cookie, self._key, httponly=True, samesite="strict"
                )
                await answer(scope, receive, send)
                return
            if self._has_key(headers):
                MutableHeaders(scope=scope)["authorization"] = f"Bearer {self._key}"
        await self._app(scope, receive, send)

    def _is_allowed(self, headers: Headers) -> bool:
        """Return True if a page of this server sent the request, by its headers."""
        return headers.get("host", "").lower() in self._hosts and is_same_origin(
            headers
        )

    def _has_key(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_key(cookie.value)

    def _is_key(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._key.encode())


class _Connection(PunctualConnection):
    """Connection without a time limit once it is a websocket."""

    _is_upgraded = False

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Pass the connection to the websocket protocol."""
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

    def _watch(self) -> None:
        if self._is_upgraded:
            self._cancel_limit()
        else:
            super()._watch()


class PageServer:
    """Server of the page of one viser server; a context that serves in a thread."""

    def __init__(
        self,
        viser: "ViserServer",
        secret: str,
        address: Address,
        api: PageApi,
        listener: socket.socket | None = None,
    ) -> None:
        """Bind the address.

        Args:
            viser: viser server from `closed_viser`.
            secret: secret of that server.
            address: address of the page.
            api: interface for states and requests of the page.
            listener: socket from `Address.claim`, for callers that bind first.

        Raises:
            BadInput: the port is not available.
        """
        self._viser_port, self._secret = viser.get_port(), secret
        self._api = api
        if listener is None:
            listener, address = address.claim()
        self._socket = listener
        self.address = address
        """Address with the actual port, for the next server of this page."""
        self.url = address.url
        """URL for the user's browser."""
        key = address.key
        self._page = _read_page()
        client = files("viser").joinpath("client", "build", "index.html")
        self._client = client.read_bytes()
        app = Starlette(
            routes=[
                Route("/", self._get_page),
                Route("/view/", self._get_client),
                WebSocketRoute("/view", self._carry),
                *api.routes,
            ]
        )
        guard = RequestFilter(
            app, epoch=1, secret=key, max_body=MAX_REQUEST_BYTES, hosts=LOOPBACK_NAMES
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                PageGuard(guard, key, address.port),
                http=_Connection,
                ws="websockets-sansio",
                ws_max_size=LARGEST_MESSAGE,
                ws_per_message_deflate=False,
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=functools.partial(self._server.run, sockets=[self._socket]),
            name="live-server",
        )

    def __enter__(self) -> "PageServer":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._api.is_closing = True
        self._server.should_exit = True
        self._thread.join()

    async def _get_page(self, request: Request) -> Response:
        del request
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; frame-src 'self'; connect-src 'self'; "
            f"img-src 'self' data:; style-src 'nonce-{nonce}'; "
            f"script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        return HTMLResponse(
            self._page.replace("NONCE", nonce),
            headers={"content-security-policy": policy},
        )

    async def _get_client(self, request: Request) -> Response:
        del request
        return HTMLResponse(
            self._client, headers={"content-security-policy": VIEW_POLICY}
        )

    async def _carry(self, outside: WebSocket) -> None:
        """Forward messages between a browser and viser until one of them ends."""
        from websockets.asyncio.client import connect  # noqa: PLC0415  # an extra
        from websockets.exceptions import WebSocketException  # noqa: PLC0415

        asked = outside.scope.get("subprotocols") or []
        try:
            inside = await connect(
                f"ws://127.0.0.1:{self._viser_port}/",
                additional_headers={SECRET_HEADER: self._secret},
                subprotocols=asked,
                compression=None,
                max_size=None,
            )
        except (OSError, WebSocketException):
            await outside.close(1011)
            return
        async with inside:
            await outside.accept(subprotocol=inside.subprotocol)
            self._api.viewers += 1
            try:
                await _forward(outside, inside)
            finally:
                self._api.viewers -= 1
        with contextlib.suppress(RuntimeError):  # the browser may have closed it
            await outside.close()


async def _forward(outside: WebSocket, inside: Any) -> None:
    """Forward messages in both directions until one side ends."""

    async def to_browser() -> None:
        async for message in inside:
            if isinstance(message, bytes):
                await outside.send_bytes(message)
            else:
                await outside.send_text(message)

    async def to_viser() -> None:
        while (message := await outside.receive())["type"] != "websocket.disconnect":
            data = message.get("bytes")
            await inside.send(message["text"] if data is None else data)

    tasks = [asyncio.create_task(one()) for one in (to_browser, to_viser)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _read_page() -> str:
    """Return the page with style and scripts; nonce placeholders remain."""
    folder = files("nao_testbed.experiments.live.page").joinpath("static")

    def text(name: str) -> str:
        return folder.joinpath(name).read_text("utf-8")

    scripts = "".join(text(name) for name in SCRIPTS)
    page = text("page.html").replace("STYLE", text("page.css"))
    return page.replace("SCRIPT", scripts)
