"""Connections of clients: one port, and a separate session of `qi` for each client.

`qi` does not give a service the identity of its caller. Therefore each connection gets
a separate session, with services that act for that client only, and its bytes are
forwarded to the session. The session's directory gives the client the addresses of its
services. The client ends with the connection. A connection ends cleanly if the client
closed it while no call was pending: its motions then continue. A program that is killed
without a pending call cannot be distinguished from this.
"""

import logging
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum

import qi

from nao_testbed.experiments.server.naoqi.exported import exported
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import RobotEnded
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput
from nao_testbed.models.system import keep_alive

MAX_CLIENTS = 64
CHUNK = 65_536
KEEP_ALIVE = {"idle_s": 5, "period_s": 2, "tries": 3}
"""TCP keep-alive: a lost host is detected after 5 s and 3 tries at 2 s."""
HEADER = struct.Struct("<4sIIHBBIII")
"""Header of a message: magic, number, size, version, kind, flags, service, object,
action."""
MAGIC = b"\x42\xde\xad\x42"
VERSION = 0
KINDS = range(1, 9)
CALL, ANSWERS = 1, (2, 3, 8)
"""Message kinds of a call, and of its reply, error and cancellation."""
EVENT = 5
"""Message kind that carries the value of a signal."""
MAX_BYTES = 1 << 24
"""Maximum size of a message without its header, in bytes."""

_LOG = logging.getLogger(__name__)


class NaoqiServer:
    """Listener on a port; each connection is a client."""

    def __init__(
        self, parts: Parts, services: Sequence[type[ALService]], host: str, port: int
    ) -> None:
        """Start listening.

        Args:
            parts: shared objects of the services.
            services: service classes, instantiated for each client.
            host: address to listen on.
            port: port; 0: a free port.

        Raises:
            BadInput: the address or port cannot be used.
        """
        self._parts, self._services, self._host = parts, services, host
        qi.logging.setLevel(qi.logging.ERROR)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family)
        except (OSError, OverflowError) as error:
            raise BadInput(
                f"nothing can listen on {host}:{port} ({error}); give another --host "
                "or --port, or 0 for a free port."
            ) from error
        self.port: int = self._listener.getsockname()[1]
        self.n_clients = 0
        """Number of connections so far."""
        self._open: dict[int, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(
            target=self._accept, name="naoqi-door", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop accepting connections, and close all connections."""
        self._is_closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in list(self._open.values()):
            end()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.n_clients += 1
                number = self.n_clients
            if len(self._open) >= MAX_CLIENTS:
                _LOG.warning("more than %d clients; one was refused", MAX_CLIENTS)
                connection.close()
                continue
            threading.Thread(
                target=self._serve,
                args=(connection, f"{address[0]}:{address[1]}", number),
                name=f"naoqi-client-{number}",
                daemon=True,
            ).start()

    def _serve(self, connection: socket.socket, address: str, number: int) -> None:
        """Serve one client from its connection to its end."""
        session = qi.Session()
        inner: socket.socket | None = None
        registered: list[int] = []
        is_clean = False
        try:
            client = NaoqiClient(self._parts, number, address)
        except RobotEnded:
            connection.close()
            return
        self._open[number] = lambda: _shut(connection)
        try:
            session.listenStandalone(f"tcp://{self._host}:0")
            client.find_service = session.service
            for kind in self._services:
                number_of_it = session.registerService(
                    kind.NAME, exported(kind(client))
                )
                registered.append(number_of_it)
            port = int(session.endpoints()[0].rpartition(":")[2])
            inner = socket.create_connection((self._host, port))
            for one in (connection, inner):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(connection, **KEEP_ALIVE)
            calls = _Calls(client.sent.add)
            back = threading.Thread(
                target=_forward_messages,
                args=(inner, connection, calls.note_answered),
                daemon=True,
            )
            back.start()
            end = _forward_messages(connection, inner, calls.note_sent)
            if end is ConnectionEnd.INVALID:
                _LOG.warning(
                    "%s sent an invalid message and was disconnected", client.name
                )
            is_clean = (
                end is ConnectionEnd.ENDED
                and not calls.are_open
                and not self._is_closed
            )
            back.join()
        except RobotEnded:
            pass
        except Exception:  # noqa: BLE001  # other clients are served on
            _LOG.exception("%s could not be served", client.name)
        finally:
            self._open.pop(number, None)
            with suppress(RobotEnded):
                client.leave(is_clean=is_clean)
            connection.close()
            if inner is not None:
                inner.close()
            for one_service in registered:
                with suppress(RuntimeError):
                    session.unregisterService(one_service)
            session.close()
            client.find_service = None


class ConnectionEnd(Enum):
    """Way in which a connection ended."""

    ENDED = "closed after a complete message"
    INVALID = "sent an invalid message"
    BROKEN = "disconnected within a message"


class _Calls:
    """Counter of a client's pending calls."""

    def __init__(self, on_event_sent: Callable[[], None]) -> None:
        self._sent = self._answered = 0
        self._on_event_sent = on_event_sent

    def note_sent(self, kind: int) -> None:
        """Count a message of the client."""
        self._sent += kind == CALL

    def note_answered(self, kind: int) -> None:
        """Count a message to the client."""
        self._answered += kind in ANSWERS
        if kind == EVENT:
            self._on_event_sent()

    @property
    def are_open(self) -> bool:
        """Return True if a call is pending."""
        return self._sent > self._answered


def _forward_messages(
    source: socket.socket, sink: socket.socket, passed: Callable[[int], None]
) -> ConnectionEnd:
    """Forward whole messages until the source has ended; then close both.

    Bytes that are not a message would crash the process: `qi` does not survive them.

    Args:
        source: socket to read.
        sink: socket to write.
        passed: function called with the kind of each message: before a call is
            forwarded, and after any other message.

    Returns:
        The way in which the source ended.
    """
    try:
        while header := _exactly(source, HEADER.size):
            magic, _, size, version, kind, _, _, _, _ = HEADER.unpack(header)
            is_message = magic == MAGIC and size <= MAX_BYTES
            if not is_message or version != VERSION or kind not in KINDS:
                return ConnectionEnd.INVALID
            if kind == CALL:
                passed(kind)
            sink.sendall(header)
            while size:
                data = source.recv(min(size, CHUNK))
                if not data:
                    return ConnectionEnd.BROKEN
                sink.sendall(data)
                size -= len(data)
            if kind != CALL:
                passed(kind)
    except OSError:
        return ConnectionEnd.BROKEN
    finally:
        _shut(source)
        _shut(sink)
    return ConnectionEnd.ENDED


def _exactly(source: socket.socket, n: int) -> bytes:
    """Return exactly `n` bytes, or none if the source ended earlier."""
    found = b""
    while len(found) < n:
        data = source.recv(n - len(found))
        if not data:
            return b""
        found += data
    return found


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
