"""Reads an owner's notices from a server, and comes back after a break.

The server numbers notices and keeps them for a while; the reader says the last one that
it has, so that nothing is lost in a break that is not too long.
"""

import json
import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import httpx

from experiments.controller_failed import traceback_of
from experiments.reservations.event_stream import KEEP_ALIVE_S
from experiments.reservations.link import ServerLink
from experiments.reservations.wire_views import NoticeData

LONGEST_BREAK_S = 2.0
"""Longest pause before the reader tries to connect again."""
KEPT = 10_000
"""Notices that are kept for somebody who iterates slowly; the oldest go first."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Event:
    """One server-sent event."""

    name: str
    data: str


class NoticeReader:
    """A thread that reads one owner's stream of notices."""

    def __init__(
        self,
        link: ServerLink,
        learn: Callable[[NoticeData], None],
        on_notice: Callable[[NoticeData], None] | None,
    ) -> None:
        """Prepare to read.

        Args:
            link: to the server.
            learn: called first with each notice.
            on_notice: the user's function, called next; what it raises is logged.
        """
        self._link = link
        self._learn = learn
        self._on_notice = on_notice
        self._key: str | None = None
        self._last = 0
        self.n_missed = 0
        """Notices that the server did not keep long enough for us."""
        self._queue: queue.SimpleQueue[NoticeData | None] | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def begin(self, key: str, last: int) -> None:
        """Read for a registration, from the notices after `last` on."""
        with self._changed:
            self._key, self._last = key, last
            self._hang_up()
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread, and whoever iterates."""
        with self._changed:
            self._is_stopped = True
            self._hang_up()
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        if self._queue is not None:
            self._queue.put(None)

    def all(self) -> Iterator[NoticeData]:
        """Yield notices from now on, until the reader stops."""
        if self._queue is None:
            self._queue = queue.SimpleQueue()
        waiting = self._queue
        while (notice := waiting.get()) is not None:
            yield notice

    # -- inside ------------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, pause_s)
                self._changed.wait_for(lambda: self._is_stopped or self._key)
                if self._is_stopped:
                    return
                key = self._key
            n_read = self._read_stream(key or "")
            pause_s = 0.05 if n_read else min(LONGEST_BREAK_S, 2.0 * pause_s + 0.05)

    def _read_stream(self, key: str) -> int:
        """Read until the stream ends; return how many lines came."""
        n_lines = 0
        headers = {"Owner-Key": key, "Last-Event-ID": str(self._last)}
        timeout = httpx.Timeout(KEEP_ALIVE_S, read=3.0 * KEEP_ALIVE_S)
        with (
            suppress(httpx.HTTPError),
            self._link.http.stream(
                "GET", "/owner/notices", headers=headers, timeout=timeout
            ) as answer,
        ):
            if answer.status_code != 200:
                self._forget(key, answer.status_code)
                return 0
            with self._changed:
                if self._is_stopped or self._key != key:
                    return 0
                stream = answer.extensions["network_stream"]
                self._socket = stream.get_extra_info("socket")
            try:
                for event in _events(answer.iter_lines()):
                    n_lines += 1
                    self._take(event)
            finally:
                self._socket = None
        return n_lines

    def _forget(self, key: str, status: int) -> None:
        """Wait for a new registration when the server does not know this one."""
        with self._changed:
            if status == 410 and self._key == key:
                self._key = None

    def _hang_up(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self, event: _Event) -> None:
        if event.name == "missed":
            self.n_missed += int(json.loads(event.data)["n_missed"])
        if event.name != "notice":
            return
        notice = NoticeData.model_validate_json(event.data)
        self._last = notice.number
        self._learn(notice)
        if self._queue is not None:
            if self._queue.qsize() >= KEPT:
                self._queue.get()
            self._queue.put(notice)
        if self._on_notice is not None:
            try:
                self._on_notice(notice)
            except BaseException as fault:  # noqa: BLE001  # a user's function
                said = "on_notice raised; the next notice is read all the same\n%s"
                _log.error(said, traceback_of(fault))


def _events(lines: Iterator[str]) -> Iterator[_Event]:
    """Yield the events of a stream; an event ends with an empty line."""
    name, data = "", []
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line:
            yield _Event(name=name, data="\n".join(data))
            name, data = "", []
