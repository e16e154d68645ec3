"""What stands before every route of a server: Host, shared secret, headers.

A plain ASGI layer, so that streams pass through it untouched. What it refuses reaches
no route and changes nothing.
"""

import base64
import binascii
import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from experiments.reservations.wire import printable

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
EPOCH_HEADER = "reservation-epoch"


class Guard:
    """Refuses strangers, and marks every answer with the epoch."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        epoch: int,
        secret: str | None,
        hosts: Iterable[str] | None,
        max_body: int,
    ) -> None:
        """Stand before an application.

        Args:
            app: what is guarded.
            epoch: of the manager, told in a header of every answer.
            secret: what callers must know; None asks for nothing.
            hosts: names that a Host header may give, without a port; None takes any.
                A page of a stranger that points its own name at this machine (DNS
                rebinding) gives another one.
            max_body: largest body in bytes; one that says that it is larger is refused
                unread, and others when they have become too large.
        """
        self._app = app
        self._epoch = str(epoch)
        self._secret = secret
        self._max_body = max_body
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, or refuse it."""
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
        if self._secret is not None and not self._knows(headers):
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
                413, f"the body is too large; this server takes {self._max_body} bytes."
            )
        return None

    def _knows(self, headers: Headers) -> bool:
        """Compare in constant time."""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        given = value.strip().encode("latin-1")  # as the header had it
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != "bearer":
            return False
        return secrets.compare_digest(given, (self._secret or "").encode())


def error_response(status: int, text: str) -> JSONResponse:
    """Return an error in the form of this server: `{"error": "..."}`.

    Its lines can be printed as they are, whatever of the request they repeat.
    """
    lines = "\n".join(map(printable, text.split("\n")))
    return JSONResponse({"error": lines}, status_code=status)


def _without_port(host: str) -> str:
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()
