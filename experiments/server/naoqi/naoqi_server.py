"""Connections of clients: one port, and a separate session of `qi` for each client.

`qi` does not give a service the identity of its caller. Therefore each connection gets
a separate session (`client_session`), and its messages are forwarded to the session. A
connection counts as a client from its first message on. The client ends with the
connection. A connection ends cleanly if the client closed it while no call was pending:
its motions then continue. A program that is killed without a pending call cannot be
distinguished from this.
"""

import logging
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum

import qi

from nao_testbed.experiments.server.naoqi.client_session import (
    CALL,
    DIRECTORY,
    HEADER,
    MAGIC,
    ClientSession,
)
from nao_testbed.experiments.server.naoqi.exported import TYPED
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import RobotEnded
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput
from nao_testbed.models.system import keep_alive
from nao_testbed.sim.naoqi.connection import check_import_order

MAX_CLIENTS = 64
MAX_SILENT = 256
"""Number of connections without a message; beyond it the oldest one is closed."""
SILENT_S = 10
"""Time in s in which the first message must come."""
CHUNK = 65_536
KEEP_ALIVE = {"idle_s": 5, "period_s": 2, "tries": 3}
"""TCP keep-alive: a lost host is detected after 5 s and 3 tries at 2 s."""
TIME = struct.Struct("@ll")
"""A time limit of the system: s and µs."""
VERSION = 0
KINDS = range(1, 9)
ANSWERS = (2, 3, 8)
"""Message kinds of a call's reply, error and cancellation."""
REPLY = 2
TYPED_START = 9 + len(TYPED)
"""Bytes before a serialised value: signature and size of a text, and `TYPED`."""
EVENT = 5
"""Message kind that carries the value of a signal."""
MAX_BYTES = 1 << 24
"""Maximum size of a message without its header, in bytes. A call of the service
directory, which is read as a whole, has at most `CHUNK`."""

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
            BadInput: the address or port cannot be used, or `qi` was imported too late.
        """
        check_import_order()
        self._parts = parts
        self._services = {kind.NAME: kind for kind in services}
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
        """Number of clients so far."""
        self._silent: dict[int, socket.socket] = {}
        """Connections without a message, from the oldest on."""
        self._open: dict[int, Callable[[], None]] = {}
        self._sessions: dict[int, ClientSession] = {}
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
        for one in list(self._silent.values()):
            _shut(one)

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._silent[connection.fileno()] = connection
                if len(self._silent) > MAX_SILENT:
                    _shut(next(iter(self._silent.values())))
            threading.Thread(
                target=self._admit,
                args=(connection, f"{address[0]}:{address[1]}"),
                name="naoqi-client",
                daemon=True,
            ).start()

    def _admit(self, connection: socket.socket, address: str) -> None:
        """Serve a connection from its first message on; close it without one."""
        number, fd = 0, connection.fileno()
        try:
            header = _first_header(connection)
            is_message = _is_message(header)
        finally:
            with self._lock:
                del self._silent[fd]
                is_full = len(self._open) >= MAX_CLIENTS
                if is_message and not is_full and not self._is_closed:
                    number = self.n_clients = self.n_clients + 1
                    self._open[number] = lambda: _shut(connection)
        if number:
            self._serve(connection, address, number)
            return
        if is_message and is_full:
            _LOG.warning("more than %d clients; one was refused", MAX_CLIENTS)
        elif header and not is_message:
            _LOG.warning("%s sent an invalid message and was disconnected", address)
        connection.close()

    def _serve(self, connection: socket.socket, address: str, number: int) -> None:
        """Serve one client from its connection to its end."""
        session: ClientSession | None = None
        is_clean = False
        try:
            client = NaoqiClient(self._parts, number, address)
        except RobotEnded:
            self._open.pop(number, None)
            connection.close()
            return
        try:
            session = ClientSession(client, self._services, self._others)
            self._sessions[number] = session
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(connection, **KEEP_ALIVE)
            calls = _Calls(client.sent.add)
            back = threading.Thread(
                target=_forward_messages,
                args=(session.inner, connection, calls.note_answered),
                daemon=True,
            )
            back.start()
            end = _forward_messages(connection, session.inner, calls.note_sent, session)
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
            self._sessions.pop(number, None)
            if session is not None:
                session.close()

    def _others(self) -> list[ClientSession]:
        return list(self._sessions.values())


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
    source: socket.socket,
    sink: socket.socket,
    passed: Callable[[int], None],
    session: ClientSession | None = None,
) -> ConnectionEnd:
    """Forward whole messages until the source has ended; then close both.

    Bytes that are not a message would crash the process: `qi` does not survive them.

    Args:
        source: socket to read.
        sink: socket to write.
        passed: function called with the kind of each message: before a call is
            forwarded, and after any other message. Events of the directory, which
            tells of new services, do not count.
        session: session of the client, if the source is the client.

    Returns:
        The way in which the source ended.
    """
    try:
        with source.makefile("rb", CHUNK) as reader:
            while header := reader.read(HEADER.size):
                if not _is_message(header):
                    is_whole = len(header) == HEADER.size
                    return ConnectionEnd.INVALID if is_whole else ConnectionEnd.BROKEN
                magic, number, size, *rest = HEADER.unpack(header)
                _, kind, _, service, _, action = rest
                if kind == CALL:
                    passed(kind)
                data = reader.read(min(size, CHUNK))
                if len(data) < min(size, CHUNK):
                    return ConnectionEnd.BROKEN
                size -= len(data)
                asks = session if kind == CALL and service == DIRECTORY else None
                if asks is not None:
                    asks.prepare(action, data)
                if kind == REPLY and data[:TYPED_START].endswith(TYPED):
                    data = data[TYPED_START:]
                    header = HEADER.pack(magic, number, size + len(data), *rest)
                sink.sendall(header + data)  # together: each call waits for the GIL
                while size and (data := reader.read(min(size, CHUNK))):
                    sink.sendall(data)
                    size -= len(data)
                if size:
                    return ConnectionEnd.BROKEN
                if asks is not None:
                    asks.announce(action)
                if kind != CALL and not (kind == EVENT and service == DIRECTORY):
                    passed(kind)
    except OSError:
        return ConnectionEnd.BROKEN
    finally:
        _shut(source)
        _shut(sink)
    return ConnectionEnd.ENDED


def _is_message(header: bytes) -> bool:
    """Return True if bytes are the header of a message of `qi`."""
    if len(header) < HEADER.size:
        return False
    magic, _, size, version, kind, _, service, _, _ = HEADER.unpack(header)
    is_ours = magic == MAGIC and version == VERSION and kind in KINDS
    is_read_whole = kind == CALL and service == DIRECTORY
    return is_ours and size <= (CHUNK if is_read_whole else MAX_BYTES)


def _first_header(connection: socket.socket) -> bytes:
    """Return the first header of a connection, which stays to be read.

    It is shorter, or empty, if the connection ends or `SILENT_S` has passed.
    """
    limit = socket.SO_RCVTIMEO
    try:
        connection.setsockopt(socket.SOL_SOCKET, limit, TIME.pack(SILENT_S, 0))
        header = connection.recv(HEADER.size, socket.MSG_PEEK | socket.MSG_WAITALL)
        connection.setsockopt(socket.SOL_SOCKET, limit, TIME.pack(0, 0))
    except OSError:
        return b""
    return header


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
