"""Command `nao-testbed naoqi serve`: one robot, its services, and a clean end."""

import faulthandler
import ipaddress
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.closed_loop.recording import base_pose_of
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.closed_loop.warm_up import (
    warn_before_run,
    warn_if_compiling,
)
from nao_testbed.experiments.common.ranges import LiveSeconds, Port, Speed
from nao_testbed.experiments.common.signals import (
    deferred_signals,
    exit_status,
    stop_reason,
)
from nao_testbed.experiments.regression.replay.observations import read_recording
from nao_testbed.experiments.server.naoqi.memory.store import Memory
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.naoqi_server import NaoqiServer
from nao_testbed.experiments.server.naoqi.served_robot import Load, ServedRobot
from nao_testbed.experiments.server.naoqi.services.table import BEGUN, SERVICES
from nao_testbed.models import BadInput
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.log_robot import LogRobot, SetPointComparison
from nao_testbed.sim.naoqi.device_keys import RECORDING_OVER
from nao_testbed.sim.recording.run_folder import create_run_folder


@dataclass(frozen=True, kw_only=True)
class ServeCfg(Checked):
    """Configuration of the server."""

    host: str = "127.0.0.1"
    port: Port = 9559
    speed: Speed = 1.0
    """Simulated seconds per second of wall time."""
    seconds: LiveSeconds | None = None
    """Simulated time in s after which the server ends; None: never."""
    out: Path = Path("runs/naoqi")

    def __post_init__(self) -> None:
        """Reject invalid values.

        Raises:
            BadInput: a value is out of its range.
        """
        super().__post_init__()
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            raise BadInput(
                f"--host is {self.host!r}; give an address, such as 127.0.0.1."
            ) from None

    @property
    def is_loopback(self) -> bool:
        """Return True if only this machine can reach the server."""
        return ipaddress.ip_address(self.host).is_loopback


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Result of serving a robot."""

    status: int
    """Exit status of the command."""
    reason: str
    folder: Path | None
    """Folder of the run; None: a recording was served, and no run was recorded."""
    n_clients: int
    load: Load
    sim_s: float
    comparison: SetPointComparison | None = None
    """Comparison of the commanded set-points with a recording."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of `--json`."""
        told: dict[str, object] = {
            "ended": self.reason,
            "folder": None if self.folder is None else str(self.folder),
            "clients": self.n_clients,
            "sim_s": round(self.sim_s, 6),
            "slots": self.load.n_slots,
            "late_slots": self.load.n_late,
            "late_ms_max": round(1000.0 * self.load.worst_s, 3),
        }
        if self.comparison is not None:
            told["compared"] = self.comparison.as_json()
        return told


def open_log(
    source: Path, robot_folder: Path | None = None, entries: Sequence[str] = ()
) -> LogRobot:
    """Open a recorded run or another log as a robot.

    Args:
        source: folder of the run, or a log of `experiments.heat.logs`.
        robot_folder: folder of the robot; None: that of the run, or the default robot.
        entries: map of a log's columns, as in `read_log`.

    Raises:
        BadInput: the source is not a run of one robot, or lacks data for a replay.
    """
    recording = read_recording(source, robot_folder, entries)
    recorded, run = recording.observations, recording.run
    robot = recorded.robot
    if run is None:
        for remark in recording.remarks:
            _print_status(f"log: {remark}")
        return LogRobot(recorded, robot.posture_name(None, "upright"))
    posture = str(run.meta.config.get("posture"))
    base = base_pose_of(run.frame)
    if base is not None:
        time_s = run.frame.index.to_numpy(dtype=float)
        rows = np.searchsorted(time_s, recorded.time_s + 1e-9, side="right") - 1
        rows = np.maximum(rows, 0)
        base = base[0][rows], base[1][rows]
    known = posture if posture in robot.postures else None
    return LogRobot(recorded, robot.posture_name(known, "upright"), base)


def run_serve(
    trial: TrialCfg,
    cfg: ServeCfg,
    url_to: TextIO = sys.stdout,
    log: LogRobot | None = None,
    on_served: Callable[[Parts], None] | None = None,
) -> Ended:
    """Serve a robot until a signal or the end of its time.

    Args:
        trial: robot with its setting.
        cfg: configuration of the server.
        url_to: stream for the address, printed once programs can connect.
        log: recording that replaces the simulated robot; then no run is recorded.
        on_served: function called once programs can connect, before the robot runs.

    Raises:
        BadInput: a value cannot be used, or the port is taken.
    """
    if not faulthandler.is_enabled():
        faulthandler.enable()  # a crash of `qi` prints the stacks of all threads
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
    if not cfg.is_loopback:
        print(
            f"Warning: NAOqi has no authentication. Anyone who can reach {cfg.host} "
            "can command this robot.",
            file=sys.stderr,
            flush=True,
        )
    (warn_before_run if log is None else warn_if_compiling)()
    folder = None
    if log is None:
        folder = create_run_folder(cfg.out.parent, cfg.out.name)
    served = ServedRobot(replace(trial, folder=folder), log)
    reason, status = "ended", 0
    naoqi_server: NaoqiServer | None = None
    try:
        parts = Parts(served)
        for kind in BEGUN:
            parts.get(kind)
        if log is not None:
            served.each_slot.append(_EndOfLog(log, parts.memory))
        served.reach_start_posture()
        naoqi_server = NaoqiServer(parts, SERVICES, cfg.host, cfg.port)
        print(f"tcp://{cfg.host}:{naoqi_server.port}", file=url_to, flush=True)
        if on_served is not None:
            on_served(parts)
        serving = (
            f"Recording to {folder}"
            if log is None
            else f"Serving a recording of {log.end_s:.2f} s without executing commands"
        )
        _print_status(f"{serving}; stop with Ctrl-C.")
        with deferred_signals() as check:
            served.run(cfg.speed, lambda: bool(check()), cfg.seconds)
    except KeyboardInterrupt as stop:
        status, reason = exit_status(stop), stop_reason(stop)
    except SimulationDiverged as error:
        status, reason = 1, f"failed: {error}"
        served.recording.save_last_second(served.body.sim)
    except BaseException:
        reason = "failed"
        raise
    finally:
        if naoqi_server is not None:
            naoqi_server.close()
        served.close(reason)
    load = served.load
    what = "a recording was served" if log else f"{folder} has the recording"
    _print_status(
        f"{reason}; {load.n_late} of {load.n_slots} slots were more than 20 ms late, "
        f"at most {1000.0 * load.worst_s:.0f} ms; {what}."
    )
    if log is not None:
        _say_compared(log.comparison)
    return Ended(
        status=status,
        reason=reason,
        folder=folder,
        n_clients=0 if naoqi_server is None else naoqi_server.n_clients,
        load=load,
        sim_s=served.time_s,
        comparison=None if log is None else log.comparison,
    )


class _EndOfLog:
    """Notifier of the end of a recording, called in each slot.

    It reports the end once on the terminal, and to programs that read `RECORDING_OVER`
    or subscribe to it.
    """

    def __init__(self, log: LogRobot, memory: Memory) -> None:
        self._log, self._memory = log, memory
        self._has_announced_end = False
        memory.raise_event(RECORDING_OVER, 0)

    def __call__(self, *_: object) -> None:
        if self._log.is_over and not self._has_announced_end:
            self._has_announced_end = True
            self._memory.raise_event(RECORDING_OVER, 1)
            _print_status(
                f"The recording ended at {self._log.end_s:.2f} s; from now on the "
                "robot answers with the last row."
            )


def _say_compared(comparison: SetPointComparison) -> None:
    """Print the differences between commanded and recorded set-points."""
    for one in comparison.differences:
        if one.n_samples:
            mean, most = np.rad2deg([one.mean_abs_rad, one.max_abs_rad])
            said = (
                f"{mean:.2f} degrees from the recorded set-point on average, "
                f"{most:.2f} at most"
            )
        else:
            said = "not compared, because the recording had ended"
        _print_status(f"{one.joint}, commanded from {one.since_s:.2f} s on: {said}.")
    never = comparison.never_commanded
    if never:
        _print_status(f"Never commanded: {', '.join(never)}.")


def _print_status(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
