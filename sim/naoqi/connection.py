"""Session with NAOqi: services by name, and calls with a time limit.

Every call is asynchronous and aborted after a limit, so that a robot that hangs raises
`ConnectionTimeout` instead of blocking. Before `qi` connects, a plain socket tests one
message of its protocol: other servers can crash `qi` by their answers.
"""

import importlib.util
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from nao_testbed.models import BadInput, ExtraMissing, TestbedError

SCHEME = "naoqi"
PORT = 9559
"""Default port of NAOqi [naoqi-api]."""
EXAMPLE = f"{SCHEME}://192.168.1.12:{PORT}"
CONNECT_S = 5.0
"""Time limit of a connection, and of a call at the start, in s."""
_HEADER = struct.Struct("<4sIIHBBIII")
_MAGIC = b"\x42\xde\xad\x42"
_CALL, _DIRECTORY, _AUTHENTICATE = 1, 0, 8
_NO_CAPABILITIES = struct.pack("<I", 0)
"""Empty map: the capabilities of a client without any."""


class ConnectionTimeout(TestbedError):
    """Error: the robot did not answer in time."""


class ConnectionLost(TestbedError):
    """Error: the connection has ended, or the robot refuses the request."""


def is_naoqi(text: str) -> bool:
    """Return True if a text has the form of a NAOqi address."""
    return text.startswith(f"{SCHEME}:")


def read_url(text: str) -> tuple[str, int]:
    """Return host and port of `naoqi://HOST[:PORT]`.

    Raises:
        BadInput: the text is not such an address.
    """
    problem = None
    host, port = "", PORT
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", PORT if parts.port is None else parts.port
    except ValueError as error:
        problem = str(error)
    else:
        if parts.scheme != SCHEME:
            problem = f"it does not start with {SCHEME}://"
        elif not host:
            problem = "the host is missing"
        elif parts.path.strip("/") or parts.query or parts.fragment or parts.username:
            problem = "it has more than a host and a port"
        elif port == 0:
            problem = "port 0 is not valid"
    if problem is not None:
        raise BadInput(
            f"{text!r} is not the address of a robot: {problem}; give "
            f"{SCHEME}://HOST:PORT, such as {EXAMPLE}."
        )
    return host, port


class Connection:
    """Session of `qi` with a robot; `close` ends it."""

    def __init__(self, session: Any, url: str) -> None:
        """Wrap a connected session."""
        self._session = session
        self.url = url
        """Address for messages."""

    def service(self, name: str) -> Any:
        """Return a service.

        Raises:
            BadInput: the robot has no service of that name.
        """
        try:
            return self._session.service(name)
        except RuntimeError as error:
            raise BadInput(
                f"{self.url} has no service {name}: {_first_line(error)}."
            ) from error

    def has_service(self, name: str) -> bool:
        """Return True if the robot has a service of that name."""
        return any(one["name"] == name for one in self._session.services())

    def call(self, limit_s: float, method: Callable[..., Any], *values: object) -> Any:
        """Call a method of a service and return its value.

        Args:
            limit_s: time limit of the answer, in s.
            method: method of a service returned by `service`.
            *values: arguments of the method.

        Raises:
            ConnectionTimeout: the limit has passed without an answer.
            ConnectionLost: the connection has ended, or the method raised.
        """
        if not self._session.isConnected():  # qi 3.1.5 may not survive a call
            raise ConnectionLost(f"the connection to {self.url} has ended")
        try:
            future = method(*values, _async=True)
        except RuntimeError as error:
            raise self._lost(error) from error
        try:
            return future.value(max(round(1000.0 * limit_s), 1))
        except RuntimeError as error:
            if future.isRunning():
                raise ConnectionTimeout(
                    f"{self.url} did not answer within {limit_s:g} s"
                ) from error
            raise self._lost(error) from error

    def close(self) -> None:
        """End the session; a second call has no effect."""
        with suppress(RuntimeError):
            self._session.close()

    def _lost(self, error: Exception) -> ConnectionLost:
        if self._session.isConnected():
            return ConnectionLost(f"{self.url} rejects the call: {_first_line(error)}")
        return ConnectionLost(f"the connection to {self.url} has ended")


def check_qi(what: str) -> None:
    """Check that the library `qi` is installed.

    Raises:
        BadInput: `qi` is not installed.
    """
    if importlib.util.find_spec("qi") is None:
        raise ExtraMissing(
            what, "qi", "naoqi", "with Python 3.11 or 3.12 on Linux (x86-64)"
        )


def check_import_order() -> None:
    """Check that `qi` was imported before Pinocchio; see `sim.naoqi`.

    Raises:
        BadInput: Pinocchio was first.
    """
    first = [name for name in sys.modules if name in {"qi", "pinocchio"}]
    if first[:1] == ["pinocchio"]:
        raise BadInput(
            "Pinocchio was imported before qi, and any network error would end this "
            "process; put `import nao_testbed.sim.naoqi` above the other imports."
        )


def connect(text: str) -> Connection:
    """Connect to the robot at `naoqi://HOST[:PORT]`.

    Raises:
        BadInput: `qi` is not installed or was imported too late, the text is not an
            address, no server listens there, or the server is not NAOqi.
    """
    host, port = read_url(text)
    check_qi(f"a robot at {SCHEME}://")
    check_import_order()
    import qi  # noqa: PLC0415  # an extra

    _probe(host, port)
    qi.logging.setLevel(qi.logging.FATAL)
    session = qi.Session()
    url = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
    try:
        session.connect(url, _async=True).value(round(1000.0 * CONNECT_S))
    except RuntimeError as error:
        raise BadInput(
            f"{host}:{port} answers, but connecting failed: {_first_line(error)}; "
            "check that NAOqi runs there."
        ) from error
    return Connection(session, f"{host}:{port}")


def _probe(host: str, port: int) -> None:
    """Check that NAOqi listens.

    Raises:
        BadInput: no server listens, or the server is not NAOqi.
    """
    try:
        probe = socket.create_connection((host, port), timeout=CONNECT_S)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(
            f"no robot at {host}:{port} ({why.lower()}); check that it is on and in "
            "this network, or start a simulated one: nao-testbed naoqi serve."
        ) from error
    header = _HEADER.pack(
        _MAGIC,
        1,
        len(_NO_CAPABILITIES),
        0,
        _CALL,
        0,
        _DIRECTORY,
        _DIRECTORY,
        _AUTHENTICATE,
    )
    answer = b""
    with probe, suppress(OSError):
        probe.sendall(header + _NO_CAPABILITIES)
        while len(answer) < len(_MAGIC):
            data = probe.recv(len(_MAGIC) - len(answer))
            if not data:
                break
            answer += data
    if answer != _MAGIC:
        raise BadInput(
            f"the server at {host}:{port} is not NAOqi: it answers {answer!r} to its "
            f"first message; give the address of a robot, whose port is {PORT}."
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
