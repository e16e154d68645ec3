"""Reservations for threads, programs and other robots.

    front = SharedLedger(Ledger(tree))                        # for threads
    with ReservationServer(front, ServerCfg(port=0)) as server:  # for other robots
        with Client(server.url, "robot 1") as robot:
            outcome = robot.take("ball", timeout_s=3.0)

Server and client need the extra `server`; names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.reservations.client import Client
    from experiments.reservations.link import (
        NotRegistered,
        Refused,
        ServerLink,
        ServerUnreachable,
    )
    from experiments.reservations.owner_link import ServerRestarted
    from experiments.reservations.serve import ReservationServer, ServerCfg
    from experiments.reservations.threaded import SharedLedger
else:
    _HOMES = {
        "Client": "client",
        "NotRegistered": "link",
        "Refused": "link",
        "ReservationServer": "serve",
        "ServerCfg": "serve",
        "ServerLink": "link",
        "ServerRestarted": "owner_link",
        "ServerUnreachable": "link",
        "SharedLedger": "threaded",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


__all__ = [
    "Client",
    "NotRegistered",
    "Refused",
    "ReservationServer",
    "ServerCfg",
    "ServerLink",
    "ServerRestarted",
    "ServerUnreachable",
    "SharedLedger",
]
