"""A reservation server as a running thing: socket, secret, signals, end.

On a robot it shares the ledger that the robot's own behaviours use; `nao-testbed
resources serve` makes one of its own. It speaks plain HTTP: where others listen to the
network, put it behind a proxy with TLS and give clients its https address.
"""

import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType

import uvicorn

from controllers.resources.owner import HIGHEST, check_priority
from experiments.reservations.connections import PunctualConnection
from experiments.reservations.desk import Desk
from experiments.reservations.guards import LOOPBACK_NAMES, Guard
from experiments.reservations.server import MAX_BODY, Routes
from experiments.reservations.shared_secret import check_secret
from experiments.reservations.threaded import SharedLedger
from models import BadInput, Robot

DEFAULT_PORT = 8640


@dataclass(frozen=True, kw_only=True)
class ServerCfg:
    """Where a server listens, and to whom."""

    host: str = "127.0.0.1"
    """Loopback unless told: whoever reaches a server can hold what it manages."""
    port: int = DEFAULT_PORT
    """0 takes a free one."""
    secret: str | None = None
    """Must be given when the host is not loopback; asked of everyone when given."""
    silent_reader_s: float = 10.0
    """A reader that takes nothing for so long is cut off, in s."""
    max_connections: int = 500
    """Who comes when there are so many is sent away; those who are there go on."""
    max_priority: int = HIGHEST
    """The highest priority of those who register, so that a robot's own may be higher
    (AR-13)."""

    def __post_init__(self) -> None:
        """Refuse what cannot be, or would stand open to a network.

        Raises:
            BadInput: port, secret or a limit is out of range.
        """
        if not 0 <= self.port <= 65_535:
            raise BadInput(f"port is {self.port}; give one from 1 to 65535, or 0.")
        if not self.silent_reader_s > 0.0 or self.max_connections < 1:
            raise BadInput("limits of the server must be positive.")
        check_priority(self.max_priority)
        if self.secret is not None:
            check_secret(self.secret)
        if self.secret is None and not is_loopback(self.host):
            raise BadInput(
                f"host {self.host!r} can be reached from other machines and needs a "
                "shared secret: put one into a file for --secret-file, or into the "
                "environment as NAO_TESTBED_SECRET. Or serve on 127.0.0.1."
            )


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False  # a name may mean anything


class ReservationServer:
    """Serves one shared ledger: `run` in this thread, or as a context in another."""

    def __init__(
        self,
        front: SharedLedger,
        cfg: ServerCfg | None = None,
        listener: socket.socket | None = None,
        *,
        robot: Robot | None = None,
    ) -> None:
        """Take the address; nothing is answered yet.

        Args:
            front: the ledger to serve.
            cfg: where and to whom.
            listener: of `listen`, for who wants to know first that there is one.
            robot: for which a station's schemas are checked, if there is one.

        Raises:
            BadInput: the address cannot be had.
        """
        cfg = cfg or ServerCfg()
        desk = Desk(front, max_priority=cfg.max_priority, robot=robot)
        self._socket = listener or listen(cfg)
        self._routes = Routes(desk)
        hosts = {*LOOPBACK_NAMES, _in_url(cfg.host).lower()}
        guard = Guard(
            self._routes.app,
            epoch=desk.epoch,
            secret=cfg.secret,
            max_body=MAX_BODY,
            hosts=hosts if is_loopback(cfg.host) else None,
        )
        self.url = f"http://{_in_url(cfg.host)}:{self._socket.getsockname()[1]}"
        """Where it is reached, from this machine."""
        self._server = _Server(
            self._routes,
            uvicorn.Config(
                guard,
                http=PunctualConnection,
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                limit_concurrency=cfg.max_connections,
                timeout_graceful_shutdown=2,
            ),
        )
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until SIGINT, SIGTERM or `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Let `run` end soon; from any thread."""
        self._server.should_exit = True

    def __enter__(self) -> "ReservationServer":
        """Serve in a thread."""
        self._thread = threading.Thread(target=self.run, name="reservations-server")
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread."""
        self.stop()
        if self._thread is not None:
            self._thread.join()


class _Server(uvicorn.Server):
    """Ends streams before it waits for them, and ends by a signal with success."""

    def __init__(self, routes: Routes, config: uvicorn.Config) -> None:
        """Prepare to serve."""
        super().__init__(config)
        self._routes = routes

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then as usual."""
        self._routes.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; do not raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(number: int, frame: FrameType | None) -> None:
            self.handle_exit(number, frame)

        before = {s: signal.signal(s, end) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def listen(cfg: ServerCfg) -> socket.socket:
    """Return a socket that listens as configured.

    Raises:
        BadInput: the address is none of this machine, or is in use.
    """
    host = cfg.host.strip("[]")
    try:
        found = socket.getaddrinfo(
            host, cfg.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"host {cfg.host!r} is no address of this machine: {error}. Give one such "
            "as 127.0.0.1."
        ) from error
    family, _, _, _, address = found[0]
    # asyncio sends at once (TCP_NODELAY) where it sees that a socket is TCP; without
    # it, each answer waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Both go over to every connection: what is sent to a reader that takes nothing
        # fills a small buffer, and the connection ends when it stays full.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        listener.setsockopt(
            socket.IPPROTO_TCP,
            socket.TCP_USER_TIMEOUT,
            round(cfg.silent_reader_s * 1000.0),
        )
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise BadInput(
            f"cannot listen on {cfg.host} port {cfg.port}: {error.strerror}. Is "
            "another server running there? Give another --port, or 0 for a free one."
        ) from error
    return listener
