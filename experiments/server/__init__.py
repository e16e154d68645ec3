"""Reservations for threads, programs and other robots.

    front = SharedLedger(Ledger(tree))                        # for threads
    with ReservationServer(front, ServerCfg(port=0)) as server:  # for other robots
        with Client(server.url, "robot 1") as robot:
            outcome = robot.take("ball", timeout_s=3.0)

Server and client need the extra `server`; names are imported on first use, from the
modules in `__init__.pyi`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
