"""Running reservation server: tree, epoch, socket, secret, signals, shutdown.

`nao-testbed resources serve` creates a ledger, for a robot or for a file of resources
(`run_server`); on a robot, `ReservationServer` shares the ledger of the robot's
behaviours. The server uses plain HTTP: on an untrusted network, put it behind a proxy
with TLS and give clients the https address of the proxy.

The *epoch* counts the restarts of a manager and is stored in a file. Each token
contains its epoch. A restarted manager has no earlier tokens; by the epoch it can
refuse them with the reason.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BROKEN_ARM,
    HOT_ENGINE,
    ROBOT_MODEL,
    freeze_absent,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.experiments.server.service.address import (
    ServerCfg,
    is_loopback,
    listen,
)
from nao_testbed.experiments.server.service.connections import (
    LOOPBACK_NAMES,
    PunctualConnection,
    RequestFilter,
)
from nao_testbed.experiments.server.service.owner_service import Service
from nao_testbed.experiments.server.service.routes import MAX_BODY, Routes
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import (
    BadInput,
    Robot,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from nao_testbed.models.files import read_bytes
from nao_testbed.models.load.resource_tree import read_resources
from nao_testbed.models.resources import ResourceNode
from nao_testbed.models.system import lock, sync_folder

_LARGEST = 10**17


def default_epoch_file() -> Path:
    """Return the epoch file in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state else Path.home() / ".local" / "state"
    return folder / "nao-testbed" / "reservations-epoch"


def next_epoch(path: Path) -> int:
    """Increment the epoch and return it; it is stored on disk before use.

    Two servers that start together get different epochs.

    Args:
        path: path of the file; it and its folder are created if they are missing.

    Raises:
        BadInput: the file has other contents, or cannot be written.
    """
    try:
        _read(path)  # rejects another kind of file before creating the lock file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(path.name + ".lock").open("w", encoding="utf-8") as file:
            lock(file)
            epoch = _read(path) + 1
            _write(path, epoch)
    except OSError as error:
        raise BadInput(
            f"epoch file {path} cannot be used: {error.strerror}. Give a file that "
            "this user may write with --state."
        ) from error
    return epoch


def _read(path: Path) -> int:
    try:
        text = read_bytes(path).decode("ascii", errors="replace").strip()
    except FileNotFoundError:
        return 0
    if not text.isdecimal() or int(text[:20]) >= _LARGEST:
        raise BadInput(
            f"epoch file {path} holds {text[:40]!r}; it must hold one whole number, "
            "the count of restarts. Write a number higher than any before, or give "
            "another file with --state."
        )
    return int(text)


def _write(path: Path, epoch: int) -> None:
    """Write to a new file, then rename it: a crash leaves the old or the new number."""
    new = path.with_name(path.name + ".new")
    with new.open("w", encoding="ascii") as file:
        file.write(f"{epoch}\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


OBJECTS = "Objects"
"""Composite of objects outside of all robots, such as a ball."""


class ReservationServer:
    """Server of one shared ledger: `run` in this thread, or as a context in another."""

    def __init__(
        self,
        front: SharedLedger,
        cfg: ServerCfg | None = None,
        listener: socket.socket | None = None,
        *,
        robot: Robot | None = None,
    ) -> None:
        """Bind the address without answering calls.

        Args:
            front: ledger to serve.
            cfg: address and access rules.
            listener: socket from `listen`, for callers that bind first.
            robot: robot for the check of a station's schemas, if any.

        Raises:
            BadInput: the address cannot be bound.
        """
        cfg = cfg or ServerCfg()
        service = Service(front, max_priority=cfg.max_priority, robot=robot)
        self._socket = listener or listen(cfg)
        self._routes = Routes(service)
        hosts = {*LOOPBACK_NAMES, _in_url(cfg.host).lower()}
        guard = RequestFilter(
            self._routes.app,
            epoch=service.epoch,
            secret=cfg.secret,
            max_body=MAX_BODY,
            hosts=hosts if is_loopback(cfg.host) else None,
        )
        self.url = f"http://{_in_url(cfg.host)}:{self._socket.getsockname()[1]}"
        """Address of the server on this machine."""

        limit_s = cfg.silent_reader_s

        class Connection(PunctualConnection):
            silent_s = limit_s

        self._server = _Server(
            self._routes,
            uvicorn.Config(
                guard,
                http=Connection,
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
        """End `run` soon; thread-safe."""
        self._server.should_exit = True

    def __enter__(self) -> "ReservationServer":
        self._thread = threading.Thread(target=self.run, name="reservations-server")
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()


class _Server(uvicorn.Server):
    """Uvicorn server that ends streams first; signals end it with success."""

    def __init__(self, routes: Routes, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._routes = routes

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then shut down as usual."""
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


def run_server(
    cfg: ServerCfg,
    *,
    robot: Path | None,
    body: str | None,
    resources: Path | None,
    objects: tuple[str, ...],
    preemption: str,
    state: Path | None,
) -> None:
    """Serve a new ledger until SIGINT or SIGTERM.

    Args:
        cfg: address and access rules.
        robot: folder of the robot with the resources; None: NAO.
        body: name of a body type that lacks parts; None: the whole robot.
        resources: file in the format of a robot's `resources.yaml`; replaces the robot.
        objects: objects outside robots, such as a ball.
        preemption: value of `Preemption`.
        state: file with the number of restarts; None: a file in the user's folder.

    Raises:
        BadInput: an option is invalid, a file cannot be read, the port is taken.
    """
    kinds = [kind.value for kind in Preemption]
    if preemption not in kinds:
        raise UnknownName("Preemption", preemption, kinds, "this server")
    if resources is not None and (robot is not None or body is not None):
        raise BadInput("--resources replaces the robot; leave out --robot and --body.")
    served = None
    if resources is not None:
        root = read_resources(resources)
    else:
        served = load_robot(robot or default_robot_folder())
        served = served if body is None else served.with_body(body)
        root = served.resources
    if objects:
        leaves = tuple(ResourceNode(name=name) for name in objects)
        outside = ResourceNode(name=OBJECTS, children=leaves)
        root = ResourceNode(name=root.name, children=(*root.children, outside))
    tree = ResourceTree(root)
    with closing(listen(cfg)) as listener:
        epoch = next_epoch(state or default_epoch_file())
        ledger_cfg = LedgerCfg(preemption=Preemption(preemption))
        ledger = Ledger(tree, ledger_cfg, epoch=epoch)
        for name in (ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM):
            ledger.add_virtual_owner(name, ledger.tick)
        if served is not None:
            freeze_absent(ledger, served, ledger.tick)
        with SharedLedger(ledger) as front:
            server = ReservationServer(front, cfg, listener, robot=served)
            print(server.url, flush=True)
            print(
                f"epoch {epoch}, {len(ledger.tree.all_leaves)} resources; open the "
                "address for the page, stop with Ctrl-C",
                file=sys.stderr,
                flush=True,
            )
            server.run()
