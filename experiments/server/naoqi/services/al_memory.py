"""Service ALMemory: data and events."""

import time
import weakref
from typing import Any

import qi

from nao_testbed.experiments.server.naoqi.arguments import Names, Value, pairs, text
from nao_testbed.experiments.server.naoqi.memory.store import KeyKind
from nao_testbed.experiments.server.naoqi.naoqi_client import Counted
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput

EVENT_TIMEOUT_S = 0.2
"""Time limit in s for sending an event; then the next one is sent, possibly out of
order."""

GAP_S = 0.002
"""Pause in s between values of a subscriber; without it 1 of 1000 pairs was swapped."""


class Subscriber:
    """Object that `subscriber` returns: a signal with the values of an event.

    `qi` dispatches each value to a thread pool, in which values can overtake each
    other, here and in the client. Therefore one value is sent before the next is passed
    to `qi`, and the client has `GAP_S` to process it.
    """

    def __init__(self, sent: Counted) -> None:
        """Create a signal without connections.

        Args:
            sent: counter of the events sent to this client.
        """
        self.signal = qi.Signal("(m)", self._connected)
        self._sent = sent
        self._is_connected = False
        self._last_s = 0.0

    def _connected(self, is_connected: bool) -> None:
        self._is_connected = is_connected

    def _emit(self, value: Any) -> None:
        """Send a value and wait until it has been sent."""
        time.sleep(max(self._last_s + GAP_S - time.monotonic(), 0.0))
        before = self._sent.n
        self.signal(value)
        if self._is_connected:
            self._sent.wait(before + 1, EVENT_TIMEOUT_S)
        self._last_s = time.monotonic()


class ALMemory(ALService):
    """Data and events that programs and the robot share."""

    NAME = "ALMemory"

    def getData(self, key: str, deprecated: int = 0) -> Any:
        """Return the value of a key."""
        del deprecated
        return self._parts.memory.get(key)

    def getListData(self, keys: Names) -> list[Any]:
        """Return a value for each key, None for a key without one."""
        return [self._or_none(key) for key in keys]

    def getDataListName(self) -> list[str]:
        """Return all keys."""
        return self._parts.memory.names()

    def getDataList(self, filter: str) -> list[str]:  # as published
        """Return the keys that contain a text."""
        return [name for name in self._parts.memory.names() if filter in name]

    def insertData(self, key: str, value: Value) -> None:
        """Store a value; no event is raised."""
        self._parts.memory.insert(key, value)

    def insertListData(self, list: Value) -> None:
        """Store several values."""
        for key, value in pairs("list", list):
            self._parts.memory.insert(key, value)

    def removeData(self, key: str) -> None:
        """Remove a key."""
        self._parts.memory.remove(key)

    def raiseEvent(self, name: str, value: Value) -> None:
        """Store a value and notify all listeners."""
        self._parts.memory.raise_event(name, value)

    def raiseMicroEvent(self, name: str, value: Value) -> None:
        """Notify all listeners of a micro-event."""
        self._parts.memory.raise_event(name, value, KeyKind.MICRO_EVENT)

    def declareEvent(self, name: str, extractorName: str = "") -> None:
        """Register an event."""
        del extractorName
        self._parts.memory.declare(name)

    def subscriber(self, eventName: str) -> Any:
        """Return an object whose `signal` has the values of an event."""
        return self._client_subscribers(eventName)

    def subscribeToEvent(
        self, name: str, callbackModule: str, *messageAndMethod: Value
    ) -> None:
        """Subscribe a method of a client's service: (key, value, message).

        The message may be left out.
        """
        if not 1 <= len(messageAndMethod) <= 2:
            raise BadInput("give event, service and method, or a message before it.")
        *message, method = map(text, messageAndMethod)
        find = self._client.find_service
        if find is None:
            raise BadInput("this connection has not registered any service.")

        def listener(key: str, value: Any) -> None:
            service = find(callbackModule)
            getattr(service, method)(key, value, "".join(message))

        memory = self._parts.memory
        subscriber = self._listener_name(callbackModule)
        memory.unlisten(name, subscriber)
        memory.listen(name, subscriber, listener)

    def unsubscribeToEvent(self, name: str, callbackModule: str) -> None:
        """Remove the subscription of a service."""
        subscriber = self._listener_name(callbackModule)
        if not self._parts.memory.unlisten(name, subscriber):
            raise BadInput(f"{callbackModule} does not listen to {name}.")

    def getEventList(self) -> list[str]:
        """Return all events."""
        return self._parts.memory.of_kind(KeyKind.EVENT)

    def getMicroEventList(self) -> list[str]:
        """Return all micro-events."""
        return self._parts.memory.of_kind(KeyKind.MICRO_EVENT)

    def getSubscribers(self, name: str) -> list[str]:
        """Return the names of an event's listeners."""
        return self._parts.memory.listeners(name)

    def getTimestamp(self, key: str) -> list[Any]:
        """Return the value of a key, and its seconds and microseconds."""
        memory = self._parts.memory
        return [memory.get(key), *_stamp(memory.time_of(key))]

    def getEventHistory(self, key: str) -> list[list[Any]]:
        """Return past values of an event with their times."""
        return [[v, *_stamp(t)] for v, t in self._parts.memory.history(key)]

    def getType(self, key: str) -> str:
        """Return Data, Event or MicroEvent."""
        kind = self._parts.memory.kind(key)
        if kind is None:
            self._parts.memory.get(key)  # raises for an unknown key
            raise BadInput(f"there is no key {key}.")
        return kind.value

    def getDescriptionList(self, keys: Names) -> list[list[str]]:
        """Return the key, type and description of each key."""
        memory = self._parts.memory
        return [[key, self.getType(key), memory.description(key)] for key in keys]

    def setDescription(self, name: str, description: str) -> None:
        """Store a description of a key."""
        self._parts.memory.describe(name, description)

    # -- internals ---------------------------------------------------------------------

    def _or_none(self, key: str) -> Any:
        return self._parts.memory.find(key)

    def _listener_name(self, module: str) -> str:
        return f"{self._client.name}/{module}"

    def _client_subscribers(self, name: str) -> Subscriber:
        """Return a new object for an event.

        Each connection of a client has a separate object, because `qi` sends to two
        connections of one object in no fixed order. The client's reference keeps the
        object alive.
        """
        memory, subscriber = self._parts.memory, self._listener_name("subscriber")
        one = Subscriber(self._client.sent)
        found = weakref.ref(one, lambda _: memory.unlisten_one(name, listener))

        def listener(key: str, value: Any) -> None:
            del key
            if (subscriber := found()) is not None:
                subscriber._emit(value)  # private, since `qi` exports public names

        memory.listen(name, subscriber, listener)
        return one


def _stamp(time_s: float) -> tuple[int, int]:
    micro = round(time_s * 1e6)
    return micro // 1_000_000, micro % 1_000_000
