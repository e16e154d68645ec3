"""Server-sent events: streams that a reader may leave, or stop reading.

Nothing is queued for a reader. The stream asks for what is new when the last piece has
gone out; one that reads slowly gets fewer pieces, and one that does not read at all is
cut off by the socket's own time limit.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

KEEP_ALIVE_S = 5.0
"""Silence after which a comment is sent: it finds out whether the reader is there."""


class Bell:
    """Rung from any thread, heard by one coroutine."""

    def __init__(self) -> None:
        """Bind to the running loop."""
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the coroutine; before it listens, it will not have to wait."""
        with suppress(RuntimeError):  # its loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._rung.set)

    async def heard(self, within_s: float) -> bool:
        """Wait for the next ring; return whether there was one in time."""
        try:
            async with asyncio.timeout(within_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True

    async def quiet(self, for_s: float) -> None:
        """Let rings pass for a while; what they tell will be told all the same."""
        await asyncio.sleep(for_s)
        self._rung.clear()


def as_event(name: str, data: str, number: int | None = None) -> str:
    """Return one event as it is sent; the data is one line of JSON."""
    mark = "" if number is None else f"id: {number}\n"
    return f"{mark}event: {name}\ndata: {data}\n\n"


class EventStream(Response):
    """An answer that sends pieces until the reader leaves or the server ends."""

    def __init__(
        self, pieces: AsyncIterator[str], on_end: Callable[[], None] | None = None
    ) -> None:
        """Prepare a stream.

        Args:
            pieces: events as text.
            on_end: called once when the stream has ended, however it did.
        """
        super().__init__()
        self._pieces = pieces
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until somebody ends it."""
        del scope
        sender = asyncio.create_task(self._send_all(send))
        watcher = asyncio.create_task(_wait_for_leaving(receive))
        try:
            await asyncio.wait({sender, watcher}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sender, watcher):
                task.cancel()
            ends = await asyncio.gather(sender, watcher, return_exceptions=True)
            if self._on_end is not None:
                self._on_end()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _send_all(self, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in self._pieces:
            await send(
                {
                    "type": "http.response.body",
                    "body": piece.encode(),
                    "more_body": True,
                }
            )
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_leaving(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
