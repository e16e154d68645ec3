"""`nao-testbed naoqi serve`: one robot, its services, and a clean end."""

import ipaddress
import logging
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from experiments.closed_loop.trial import TrialCfg
from experiments.closed_loop.warm_up import say_if_it_compiles
from experiments.common.signals import exit_status, noted_signals, why_stopped
from experiments.server.naoqi.client import Parts
from experiments.server.naoqi.doors import Doors
from experiments.server.naoqi.served_robot import Load, ServedRobot
from experiments.server.naoqi.services.table import BEGUN, SERVICES
from models import BadInput
from sim.body import SimulationDiverged
from sim.recording.run_folder import create_run_folder

SWITCH_S = 0.001
"""Between two threads of Python: so that a slot is not kept waiting by calls."""
FASTEST = 1000.0


@dataclass(frozen=True, kw_only=True)
class ServeCfg:
    """How the robot is served."""

    host: str = "127.0.0.1"
    port: int = 9559
    speed: float = 1.0
    """Simulated seconds in a second."""
    seconds: float | None = None
    """Of simulated time, after which it ends by itself; None: never."""
    out: Path = Path("runs/naoqi")

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            BadInput: a value is out of its range.
        """
        if not 0.0 < self.speed <= FASTEST:
            raise BadInput(
                f"--speed is {self.speed}; give more than 0, at most {FASTEST:g}."
            )
        if not 0 <= self.port <= 65_535:
            raise BadInput(f"--port is {self.port}; give 0 to 65535.")
        if self.seconds is not None and not 0.0 < self.seconds < float("inf"):
            raise BadInput(f"--seconds is {self.seconds}; give a number above 0.")
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            raise BadInput(
                f"--host is {self.host!r}; give an address, such as 127.0.0.1."
            ) from None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How serving a robot ended."""

    status: int
    """Exit status of the command."""
    reason: str
    folder: Path
    """Of the run."""
    n_clients: int
    load: Load
    sim_s: float

    def as_json(self) -> dict[str, object]:
        """Return it as `--json` writes it."""
        return {
            "ended": self.reason,
            "folder": str(self.folder),
            "clients": self.n_clients,
            "sim_s": round(self.sim_s, 6),
            "slots": self.load.n_slots,
            "late_slots": self.load.n_late,
            "late_ms_max": round(1000.0 * self.load.worst_s, 3),
        }


def run_serve(trial: TrialCfg, cfg: ServeCfg, url_to: TextIO = sys.stdout) -> Ended:
    """Serve a robot until a signal or its time.

    Args:
        trial: the robot and its setting.
        cfg: how it is served.
        url_to: where its address is printed once programs can connect.

    Raises:
        BadInput: a value cannot be used, or the port is taken.
    """
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    if not cfg.is_loopback:
        print(
            f"Warning: NAOqi has no authentication. Whoever reaches {cfg.host} may "
            "command this robot.",
            file=sys.stderr,
            flush=True,
        )
    say_if_it_compiles()
    sys.setswitchinterval(SWITCH_S)
    folder = create_run_folder(cfg.out.parent, cfg.out.name)
    served = ServedRobot(replace(trial, folder=folder))
    reason, status = "ended", 0
    doors: Doors | None = None
    try:
        parts = Parts(served)
        for kind in BEGUN:
            parts.get(kind)
        doors = Doors(parts, SERVICES, cfg.host, cfg.port)
        print(f"tcp://{cfg.host}:{doors.port}", file=url_to, flush=True)
        print(f"Recording to {folder}; Ctrl-C ends.", file=sys.stderr, flush=True)
        with noted_signals() as check:
            served.run(cfg.speed, lambda: bool(check()), cfg.seconds)
    except KeyboardInterrupt as stop:
        status, reason = exit_status(stop), why_stopped(stop)
    except SimulationDiverged as error:
        status, reason = 1, f"failed: {error}"
        served.recording.save_last_second(served.body.sim)
    except BaseException:
        reason = "failed"
        raise
    finally:
        if doors is not None:
            doors.close()
        served.close(reason)
    load = served.load
    print(
        f"{reason}; {load.n_late} of {load.n_slots} slots were over 20 ms late, "
        f"{1000.0 * load.worst_s:.0f} ms at most; {folder} holds what was recorded.",
        file=sys.stderr,
        flush=True,
    )
    return Ended(
        status=status,
        reason=reason,
        folder=folder,
        n_clients=0 if doors is None else doors.n_clients,
        load=load,
        sim_s=served.time_s,
    )
