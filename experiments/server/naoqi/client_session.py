"""Session of `qi` for one client: its directory has the services of all clients.

A service acts for one client, because `qi` does not tell it the caller. So each client
has a session with its own services. They are registered when the client first asks the
directory for them. A service that another program has registered is registered here as
a proxy, in the same way, until that program leaves.

The door reads the messages of the client and calls `prepare` before it forwards one to
the directory, and `announce` afterwards.
"""

import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import qi

from nao_testbed.experiments.server.naoqi.exported import exported
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models.system import connected_queue

HEADER = struct.Struct("<4sIIHBBIII")
"""Header of a message: magic, number, size, version, kind, flags, service, object,
action."""
MAGIC = b"\x42\xde\xad\x42"
CALL = 1
"""Message kind of a call."""
DIRECTORY = 1
"""Number of the service directory of `qi`."""
FIND, LIST, REGISTER, UNREGISTER, READY = range(100, 105)
"""Actions of the directory [libqi]: service, services, registerService,
unregisterService, serviceReady."""
FOUND_MS = 2_000
"""Longest time in ms in which another program must give access to its service."""
AUTHENTICATE = HEADER.pack(MAGIC, 1, 4, 0, CALL, 0, 0, 0, 8) + bytes(4)
"""Call that a session always answers, with an empty table as its argument."""
CLOSING_S = 2.0
"""Time in s from the end of the connections to the end of a session: `qi` crashes if it
still handles the former."""
NOWHERE = "255.255.255.255"
"""Address to listen on: programs of the machine could send to a port of another one,
and nothing can connect to this one."""
_SCAN = threading.Lock()
"""Held while descriptors are duplicated to look at them."""
READY_S = 0.05
"""Time in s between a program's `serviceReady` and the next attempt to find it."""


class ClientSession:
    """Session of one client, reached only through the socket `inner`."""

    def __init__(
        self,
        client: NaoqiClient,
        services: Mapping[str, type[ALService]],
        others: Callable[[], Iterable["ClientSession"]],
    ) -> None:
        """Start the session without services.

        Args:
            client: the client that its services act for.
            services: service classes by name.
            others: function that returns the sessions of all clients.
        """
        self._client, self._services, self._others = client, services, others
        self._session = qi.Session()
        self._session.listenStandalone(f"tcp://{NOWHERE}:0")
        port = int(self._session.endpoints()[0].rpartition(":")[2])
        queue, (self.inner, self._probe) = connected_queue(2)
        with queue, _replace_listener(port, queue):
            self._settle()  # accepts both
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}
        """Numbers of the registered services by name."""
        self._from: dict[str, ClientSession] = {}
        """Sessions of the programs whose services are registered here, by name."""
        self._own: set[str] = set()
        """Names of services that the client has registered, or tried to."""
        self._missed: set[str] = set()
        """Names that the client has asked for in vain."""
        client.find_service = self.find

    def find(self, name: str) -> Any:
        """Return a service of the robot, of the client, or of another program.

        Raises:
            RuntimeError: no service has this name.
        """
        self._offer(name)
        return self._session.service(name)

    def prepare(self, action: int, data: bytes) -> None:
        """Register what a call of the directory needs, before it is forwarded.

        Args:
            action: number of the directory's method.
            data: arguments of the call, serialised.
        """
        if action == LIST:
            registered = {name for one in self._others() for name in one._own}
            for name in [*self._services, *registered]:
                self._offer(name)
        elif action in {FIND, REGISTER}:
            name = _first_text(data)
            self._offer(name)
            if action == REGISTER:
                self._own.add(name)
        elif action == UNREGISTER:
            self._withdraw()

    def announce(self, action: int) -> None:
        """Give a new service to clients that have asked for it in vain."""
        if action == READY:
            threading.Thread(target=self._give_to_waiting, daemon=True).start()

    def close(self) -> None:
        """Withdraw the client's services, and end the session."""
        self._withdraw()
        with self._lock:
            for number in self._numbers.values():
                with suppress(RuntimeError):
                    self._session.unregisterService(number)
        self._client.find_service = None
        self.inner.close()
        self._probe.close()
        closing = threading.Timer(CLOSING_S, self._session.close)
        closing.daemon = True
        closing.start()

    def _offer(self, name: str) -> None:
        """Register a service by name if it exists; do nothing if it is registered."""
        with self._lock:
            if name in self._numbers:
                return
            if (kind := self._services.get(name)) is not None:
                self._register(name, exported(kind(self._client)))
                return
        for other in self._others():
            if other is not self and self._take_over(name, other):
                return
        self._missed.add(name)

    def _register(self, name: str, service: object) -> None:
        self._numbers[name] = self._session.registerService(name, service)
        self._settle()

    def _settle(self) -> None:
        """Wait until calls reach the services registered so far.

        `qi` adds a service to its connections in a queue, and does not wait for it: a
        call that comes earlier is refused. An answer comes through the same queue.
        """
        self._probe.sendall(AUTHENTICATE)
        size = HEADER.unpack(exactly(self._probe, HEADER.size))[2]
        exactly(self._probe, size)

    def _take_over(self, name: str, other: "ClientSession") -> bool:
        """Register another client's service as a proxy; return False if it has none."""
        if name not in other._own:
            return False
        try:
            found = other._session.service(name, _async=True).value(FOUND_MS)
            with self._lock:
                if name not in self._numbers:
                    self._register(name, found)
                    self._from[name] = other
        except RuntimeError:
            return False
        self._missed.discard(name)
        return True

    def _give_to_waiting(self) -> None:
        time.sleep(READY_S)
        for other in self._others():
            for name in self._own & other._missed:
                other._take_over(name, self)

    def _withdraw(self) -> None:
        """Remove the client's services from the sessions of the others."""
        for other in self._others():
            with other._lock:
                mine = [name for name, one in other._from.items() if one is self]
                for name in mine:
                    del other._from[name]
                    with suppress(RuntimeError):
                        other._session.unregisterService(other._numbers.pop(name))


def exactly(source: socket.socket, n: int) -> bytes:
    """Return exactly `n` bytes, or none if the source ended earlier."""
    found = b""
    while len(found) < n:
        data = source.recv(n - len(found))
        if not data:
            return b""
        found += data
    return found


def _replace_listener(port: int, queue: socket.socket) -> socket.socket:
    """Let a session of `qi` accept from a queue instead of a port of `NOWHERE`.

    Its descriptor becomes that of the queue. The end of the replaced socket, which is
    returned and must stay open until then, wakes the session. Later it is not woken.
    """
    with _SCAN:
        for fd in map(int, os.listdir("/dev/fd")):  # noqa: PTH208  # numbers, no files
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(fd).st_mode) and _listens(fd, port):
                    replaced = socket.socket(fileno=os.dup(fd))
                    os.dup2(queue.fileno(), fd)
                    replaced.shutdown(socket.SHUT_RDWR)
                    return replaced
    raise RuntimeError(f"no socket of qi listens on port {port}")


def _listens(fd: int, port: int) -> bool:
    """Return True if a socket listens on a port."""
    with socket.socket(fileno=os.dup(fd)) as one:
        listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        return bool(listens) and one.getsockname()[1] == port


def _first_text(data: bytes) -> str:
    """Return the text at the start of serialised arguments; empty if there is none."""
    if len(data) < 4:
        return ""
    (size,) = struct.unpack_from("<I", data)
    return data[4 : 4 + size].decode("utf-8", "replace")
