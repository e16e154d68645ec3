"""Store of ALMemory: data, events with their listeners, and live values.

Numbers are stored as 4-byte floats and ints, as on the robot [naoqi-api]. A live key
has no stored value: it is read from the robot on request. The listeners of a client are
called in order in a separate thread, so that they delay neither the robot nor the
events of another client.
"""

import logging
import queue
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.models import BadInput
from nao_testbed.models.values import short

KEPT = 50
"""Number of stored past values of an event."""
MAX_KEYS = 20_000
"""Maximum number of keys that clients may store."""
MAX_TOLD = 10_000
"""Maximum number of pending listener calls; more are dropped and counted."""
KEY_ADDED, KEY_REMOVED = "ALMemory/KeyAdded", "ALMemory/KeyRemoved"
"""Events with the name of a key that a program has stored first, or removed."""
LISTED = "getDataListName returns all keys."

Listener = Callable[[str, Any], None]
"""Callback with the name and the value of an event."""
Live = Callable[[], Any]
_Queue = queue.Queue[tuple[Listener, str, Any] | None]
_LOG = logging.getLogger(__name__)


class KeyKind(StrEnum):
    """Kind of a key."""

    DATA = "Data"
    EVENT = "Event"
    MICRO_EVENT = "MicroEvent"


@dataclass
class _Entry:
    kind: KeyKind
    value: Any = None
    time_s: float = 0.0
    has_value: bool = False
    text: str = ""


class Memory:
    """Shared memory of all clients; its methods are thread-safe."""

    def __init__(self, served: ServedRobot) -> None:
        """Create an empty memory."""
        self._served = served
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._history: dict[str, deque[tuple[Any, float]]] = {}
        self._live: dict[str, Live] = {}
        self._listeners: dict[str, list[tuple[str, Listener]]] = {}
        self._queues: dict[str, _Queue] = {}
        """Pending listener calls by client."""
        self.n_dropped = 0
        served.on_close.append(self._close)

    # -- keys of the robot ---------------------------------------------------------

    def add_live(self, keys: Mapping[str, Live]) -> None:
        """Add keys whose values are read from the robot on request."""
        with self._lock:
            self._live.update(keys)

    # -- data ----------------------------------------------------------------------

    def get(self, key: str) -> Any:
        """Return the value of a key.

        Raises:
            BadInput: the key has no value.
        """
        if not self.has(key):
            raise BadInput(f"there is no key {short(key)}; {LISTED}")
        return self.find(key)

    def has(self, key: str) -> bool:
        """Return True if a key has a value."""
        entry = self._entries.get(key)
        return key in self._live or (entry is not None and entry.has_value)

    def find(self, key: str) -> Any:
        """Return the value of a key, None without one; fast in both cases."""
        live = self._live.get(key)
        if live is not None:
            return as_stored(live())
        with self._lock:
            entry = self._entries.get(key)
            return entry.value if entry is not None and entry.has_value else None

    def time_of(self, key: str) -> float:
        """Return the time at which a key got its value, in s of simulated time."""
        if key in self._live:
            return self._served.time_s
        self.get(key)
        return self._entries[key].time_s

    def names(self) -> list[str]:
        """Return all keys."""
        with self._lock:
            return [*self._live, *self._entries]

    def insert(self, key: str, value: Any) -> None:
        """Store a value without notifying listeners.

        Raises:
            BadInput: the key belongs to the robot, or there are too many keys.
        """
        with self._lock:
            is_new = key not in self._entries
            self._put(key, value, KeyKind.DATA)
            if is_new:
                self.raise_event(KEY_ADDED, key)

    def remove(self, key: str) -> None:
        """Remove a key.

        Raises:
            BadInput: the key does not exist.
        """
        with self._lock:
            if key not in self._entries:
                raise BadInput(f"there is no stored key {short(key)}; {LISTED}")
            del self._entries[key]
            self._history.pop(key, None)
            self.raise_event(KEY_REMOVED, key)

    # -- events --------------------------------------------------------------------

    def declare(self, name: str, kind: KeyKind = KeyKind.EVENT) -> None:
        """Register an event."""
        with self._lock:
            self._entry(name, kind).kind = kind

    def raise_event(self, name: str, value: Any, kind: KeyKind = KeyKind.EVENT) -> None:
        """Store a value and notify all listeners, even if the value is unchanged."""
        with self._lock:
            entry = self._put(name, value, kind)
            entry.kind = kind
            past = self._history.setdefault(name, deque(maxlen=KEPT))
            past.append((entry.value, entry.time_s))
            for subscriber, listener in self._listeners.get(name, ()):
                try:
                    self._queues[_client_of(subscriber)].put_nowait(
                        (listener, name, entry.value)
                    )
                except queue.Full:
                    self.n_dropped += 1

    def listen(self, name: str, subscriber: str, listener: Listener) -> None:
        """Register a listener for an event.

        Args:
            name: name of the event.
            subscriber: `client/what`; the listeners of one client are called in order.
            listener: function to call.
        """
        client = _client_of(subscriber)
        with self._lock:
            if client not in self._queues:
                self._queues[client] = calls = _Queue(MAX_TOLD)
                threading.Thread(
                    target=_call_listeners,
                    args=(calls,),
                    name=f"naoqi-events {client}",
                    daemon=True,
                ).start()
            self.declare(name, self.kind(name) or KeyKind.EVENT)
            self._listeners.setdefault(name, []).append((subscriber, listener))

    def unlisten(self, name: str, subscriber: str) -> bool:
        """Remove a subscriber from a name; return True if there was one."""
        with self._lock:
            return self._keep(name, lambda one: one[0] != subscriber)

    def unlisten_one(self, name: str, listener: Listener) -> None:
        """Remove one listener."""
        with self._lock:
            self._keep(name, lambda one: one[1] is not listener)

    def drop(self, client: str) -> None:
        """Remove all listeners of a client, and end its thread."""
        with self._lock:
            for name in list(self._listeners):
                self._keep(name, lambda one: _client_of(one[0]) != client)
            calls = self._queues.pop(client, None)
        if calls is not None:
            _end(calls)

    def listeners(self, name: str) -> list[str]:
        """Return the names of an event's listeners."""
        with self._lock:
            return [subscriber for subscriber, _ in self._listeners.get(name, ())]

    def history(self, name: str) -> list[tuple[Any, float]]:
        """Return past values of an event with their times in s."""
        with self._lock:
            return list(self._history.get(name, ()))

    def kind(self, name: str) -> KeyKind | None:
        """Return the kind of a key; None if the key is unknown."""
        if name in self._live:
            return KeyKind.DATA
        entry = self._entries.get(name)
        return None if entry is None else entry.kind

    def of_kind(self, kind: KeyKind) -> list[str]:
        """Return the names of a kind."""
        with self._lock:
            return [name for name, one in self._entries.items() if one.kind is kind]

    def describe(self, name: str, text: str) -> None:
        """Store a description of a key."""
        with self._lock:
            self._entry(name, KeyKind.DATA).text = text

    def description(self, name: str) -> str:
        """Return the description of a key."""
        entry = self._entries.get(name)
        return "" if entry is None else entry.text

    # -- internals ---------------------------------------------------------------------

    def _keep(self, name: str, is_kept: Callable[[tuple[str, Listener]], bool]) -> bool:
        """Remove an event's other listeners; return True if there were any."""
        before = self._listeners.pop(name, [])
        left = [one for one in before if is_kept(one)]
        if left:
            self._listeners[name] = left
        return len(left) < len(before)

    def _put(self, key: str, value: Any, kind: KeyKind) -> _Entry:
        if key in self._live:
            raise BadInput(f"{key} is measured by the robot; it cannot be stored.")
        if not key:
            raise BadInput("a key is empty; give a name.")
        entry = self._entry(key, kind)
        entry.value = as_stored(value)
        entry.time_s, entry.has_value = self._served.time_s, True
        return entry

    def _entry(self, key: str, kind: KeyKind) -> _Entry:
        if key not in self._entries and len(self._entries) >= MAX_KEYS:
            raise BadInput(f"there are already {MAX_KEYS} keys; remove some.")
        return self._entries.setdefault(key, _Entry(kind))

    def _close(self) -> None:
        with self._lock:
            clients = list(self._queues)
        for client in clients:
            self.drop(client)


def _client_of(subscriber: str) -> str:
    return subscriber.partition("/")[0]


def _call_listeners(calls: _Queue) -> None:
    while (item := calls.get()) is not None:
        listener, name, value = item
        try:
            listener(name, value)
        except Exception:  # noqa: BLE001  # of a client that has left
            _LOG.debug("a listener of %s raised", name, exc_info=True)


def _end(calls: _Queue) -> None:
    """End the thread of a queue; pending calls are dropped."""
    with suppress(queue.Empty):
        while True:
            calls.get_nowait()
    calls.put(None)


def as_stored(value: Any) -> Any:
    """Return a value in stored precision: 4-byte floats."""
    if isinstance(value, float):
        try:
            return float(struct.unpack("f", struct.pack("f", value))[0])
        except OverflowError:
            return value
    if isinstance(value, list | tuple):
        return [as_stored(one) for one in value]
    if isinstance(value, dict):
        return {key: as_stored(one) for key, one in value.items()}
    return value
