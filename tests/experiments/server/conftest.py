"""Reservation servers for tests: in this process, or as separate processes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service.address import ServerCfg
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models.system import KILL
from tests.experiments.server.helpers import Terminal, small_tree
from tests.processes import send_to_all

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def make_front() -> Iterator[Callable[..., SharedLedger]]:
    """Return a function that shares a ledger of the small tree."""
    with contextlib.ExitStack() as stack:

        def make(cfg: LedgerCfg | None = None, epoch: int = 1) -> SharedLedger:
            ledger = Ledger(small_tree(), cfg, epoch=epoch)
            return stack.enter_context(SharedLedger(ledger))

        yield make


@pytest.fixture
def front(make_front: Callable[..., SharedLedger]) -> SharedLedger:
    return make_front()


@pytest.fixture
def make_server(
    make_front: Callable[..., SharedLedger],
) -> Iterator[Callable[..., ReservationServer]]:
    """Return a function that serves a ledger from a thread of this process."""
    with contextlib.ExitStack() as stack:

        def make(front: SharedLedger | None = None, **cfg: object) -> ReservationServer:
            values = ServerCfg(**{"port": 0, **cfg})  # type: ignore[arg-type]
            server = ReservationServer(front or make_front(), values)
            return stack.enter_context(server)

        yield make


@pytest.fixture
def server(
    make_server: Callable[..., ReservationServer], front: SharedLedger
) -> ReservationServer:
    """A server of `front`."""
    return make_server(front)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[str], Terminal]]:
    """Return a function that starts `nao-testbed` like a terminal."""
    started: list[subprocess.Popen[str]] = []
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)}
    env.pop("NAO_TESTBED_SECRET", None)

    def start(line: str, **more: str) -> Terminal:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from nao_testbed.experiments.cli import main; main()",
                *line.split(),
            ],
            cwd=tmp_path,
            env={**env, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        started.append(process)
        return Terminal(process)

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            send_to_all(process, KILL)
        process.communicate()
