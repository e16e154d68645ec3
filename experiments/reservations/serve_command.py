"""`nao-testbed resources serve`: one ledger, served until a signal ends it."""

import socket
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from controllers.resources.body.absent_parts import freeze_absent
from controllers.resources.body.virtual_owner import (
    BROKEN_ARM,
    HOT_ENGINE,
    ROBOT_MODEL,
)
from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.words import Preemption
from experiments.reservations.epoch_file import default_epoch_file, next_epoch
from experiments.reservations.resource_source import (
    read_resources,
    robot_of,
    with_objects,
)
from experiments.reservations.serve import ReservationServer, ServerCfg, listen
from experiments.reservations.threaded import SharedLedger
from models import BadInput, Robot, UnknownName


@dataclass(frozen=True, kw_only=True)
class ServeCfg:
    """What the command line says."""

    host: str
    port: int
    secret: str | None
    robot: Path | None
    body: str | None
    resources: Path | None
    objects: tuple[str, ...]
    preemption: str
    max_priority: int
    state: Path | None


def run_server(cfg: ServeCfg) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises:
        BadInput: an option makes no sense, a file cannot be read, the port is taken.
    """
    server_cfg = ServerCfg(
        host=cfg.host,
        port=cfg.port,
        secret=cfg.secret,
        max_priority=cfg.max_priority,
    )
    kinds = [kind.value for kind in Preemption]
    if cfg.preemption not in kinds:
        raise UnknownName("Preemption", cfg.preemption, kinds, "this manager")
    if cfg.resources is not None and (cfg.robot is not None or cfg.body is not None):
        raise BadInput("--resources is for no robot; leave out --robot and --body.")
    robot = None
    if cfg.resources is not None:
        root = read_resources(cfg.resources)
    else:
        robot = robot_of(cfg.robot, cfg.body)
        root = robot.resources
    tree = ResourceTree(with_objects(root, cfg.objects))
    ledger_cfg = LedgerCfg(preemption=Preemption(cfg.preemption))
    with closing(listen(server_cfg)) as listener:
        epoch = next_epoch(cfg.state or default_epoch_file())
        ledger = Ledger(tree, ledger_cfg, epoch=epoch)
        for name in (ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM):
            ledger.add_virtual_owner(name, ledger.tick)
        if robot is not None:
            freeze_absent(ledger, robot, ledger.tick)
        _serve(ledger, server_cfg, listener, robot)


def _serve(
    ledger: Ledger, cfg: ServerCfg, listener: socket.socket, robot: Robot | None
) -> None:
    with SharedLedger(ledger) as front:
        server = ReservationServer(front, cfg, listener, robot=robot)
        print(server.url, flush=True)
        print(
            f"epoch {ledger.epoch}, {len(ledger.tree.all_leaves)} resources; the page "
            "is at that address, Ctrl-C ends",
            file=sys.stderr,
            flush=True,
        )
        server.run()
