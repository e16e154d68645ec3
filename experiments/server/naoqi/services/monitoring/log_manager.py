"""LogManager: the log of the server, and messages of programs, for listeners.

The log has the events of the robot that a person reads, its warnings among them, and
the records of Python's `logging`. The layout of a message is that of NAOqi [libqicore].
"""

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

import qi

from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput

FIELDS = (
    *("source", "level", "category", "location", "message", "id", "date"),
    "systemDate",
)
"""Fields of a message; level from 1 (fatal) to 6 (debug), dates in ns."""
MESSAGE = f"(sisssILL)<LogMessage,{','.join(FIELDS)}>"
ERROR, WARNING, INFO, DEBUG = 2, 3, 4, 6
LEVEL_OF_EVENT = {"warning": WARNING, "failed": ERROR}
KEPT = 500
"""Number of past messages for a new listener."""
_Message = dict[str, Any]


class LogListener:
    """Object that `createListener` returns: signals with new messages."""

    def __init__(self, log: "ServerLog") -> None:
        """Create a listener for the levels up to information."""
        self.logLevel = qi.Property("i")
        self.logLevel.setValue(INFO)
        self.onLogMessage = qi.Signal(f"({MESSAGE})")
        self.onLogMessages = qi.Signal(f"([{MESSAGE}])")
        self.onLogMessagesWithBacklog = qi.Signal(f"([{MESSAGE}])", self._connected)
        self._log, self._filters = log, dict[str, int]()

    def setLevel(self, level: int) -> None:
        """Set the highest level of messages."""
        self.logLevel.setValue(level)

    def addFilter(self, category: str, level: int) -> None:
        """Set the highest level of a category, which may contain `*`."""
        self._filters[category] = level

    def clearFilters(self) -> None:
        """Remove all filters."""
        self._filters.clear()

    def _connected(self, is_connected: bool) -> None:
        if is_connected:  # the connection is complete once this function has returned
            backlog = list(self._log.past)
            later = threading.Timer(
                0.1, self._send, (self.onLogMessagesWithBacklog, backlog)
            )
            later.start()

    def _send(self, signal: Any, messages: list[_Message]) -> None:
        if passed := [one for one in messages if self._accepts(one)]:
            signal(passed)

    def _take(self, message: _Message) -> None:
        if self._accepts(message):
            self.onLogMessage(message)
            self.onLogMessages([message])
            self.onLogMessagesWithBacklog([message])

    def _accepts(self, message: _Message) -> bool:
        level = self.logLevel.value()
        for category, most in self._filters.items():
            if fnmatchcase(message["category"], category):
                level = most
        return bool(message["level"] <= level)


class ServerLog(logging.Handler):
    """Past messages, and the listeners of all clients."""

    def __init__(self, parts: Parts) -> None:
        """Start collecting messages."""
        super().__init__()
        self.past: deque[_Message] = deque(maxlen=KEPT)
        self.listeners: list[tuple[str, LogListener]] = []
        """Client and listener."""
        self.numbers = itertools.count(1)
        served, logger = parts.served, logging.getLogger("nao_testbed")
        served.on_event.append(self._note_event)
        served.on_close.append(lambda: logger.removeHandler(self))
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record of `logging`."""
        where = f"{record.filename}:{record.funcName}:{record.lineno}"
        level = ERROR if record.levelno >= logging.ERROR else INFO
        level = WARNING if record.levelno == logging.WARNING else level
        self.add(record.name, record.getMessage(), level, where)

    def add(
        self, category: str, message: str, level: int, source: str = "server::0"
    ) -> None:
        """Send a message to all listeners."""
        found = dict(
            zip(
                FIELDS,
                (
                    *(source, level, category, "nao-testbed:0", message),
                    *(next(self.numbers), time.monotonic_ns(), time.time_ns()),
                ),
                strict=True,
            )
        )
        self.past.append(found)
        for _, listener in list(self.listeners):
            listener._take(found)

    def drop(self, client: str) -> None:
        """Remove the listeners of a client."""
        self.listeners = [one for one in self.listeners if one[0] != client]

    def _note_event(self, kind: str, data: Mapping[str, object]) -> None:
        if "said" in data:
            level = LEVEL_OF_EVENT.get(kind, INFO)
            self.add(f"robot.{kind}", str(data["said"]), level)


class LogManager(ALService):
    """Log of robot and programs."""

    NAME = "LogManager"

    def createListener(self) -> Any:
        """Return an object whose signals have the messages."""
        log, client = self._parts.get(ServerLog), self._client
        listener = LogListener(log)
        if client.name not in (name for name, _ in log.listeners):
            client.on_leave.append(lambda: log.drop(client.name))
        log.listeners.append((client.name, listener))
        return listener

    def log(self, messages: Value) -> None:
        """Send messages of a program to all listeners."""
        for one in messages if isinstance(messages, list) else [messages]:
            fields = (
                dict(zip(FIELDS, one, strict=False)) if isinstance(one, list) else one
            )
            try:
                level, category = int(fields["level"]), str(fields["category"])
                message, source = str(fields["message"]), str(fields["source"])
            except (KeyError, TypeError, ValueError):
                raise BadInput(
                    f"{one!r} is not a message; give source, level, category, location "
                    "and message."
                ) from None
            self._parts.get(ServerLog).add(category, message, level, source)

    def addProvider(self, provider: Annotated[Any, repr]) -> int:
        """Return a number: a program sends its messages with `log`."""
        del provider
        return self._client.next_number()
