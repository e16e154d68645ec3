"""Connections of a server: one that does not finish what it says is ended.

Who opens connections and says nothing, or half of a request, could otherwise keep
others out for ever. And who comes when the server is full is sent away, while those who
are there go on: an owner's signs of life travel on a connection that it has.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

WHOLE_S = 10.0
"""Longest time from the first byte of a request, or from connecting, to its last."""


class PunctualConnection(H11Protocol):
    """One connection, with a time limit for what arrives on it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the limit of connections from the protocol: it would hit all."""
        super().__init__(*args, **kwargs)
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]  # as the parent's
        self, transport: asyncio.Transport
    ) -> None:
        """Begin, or say that the server is full."""
        super().connection_made(transport)
        if self._most is not None and len(self.connections) > self._most:
            self.connections.discard(self)
            transport.write(_full(self._most))
            transport.close()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """Read, and see whether more of the same request is to come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the limit."""
        super().connection_lost(exc)
        self._let_off()

    def _watch(self) -> None:
        if not self._is_waiting_for_more():
            self._let_off()
        elif self._limit is None:
            self._limit = self.loop.call_later(WHOLE_S, self._end)

    def _is_waiting_for_more(self) -> bool:
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _let_off(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _end(self) -> None:
        self._limit = None
        if self._is_waiting_for_more() and not self.transport.is_closing():
            self.transport.abort()


def _full(most: int) -> bytes:
    """Return the answer to one connection too many."""
    text = f"this server keeps {most} connections, and has them; try again soon."
    body = json.dumps({"error": text}).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
