"""Sequence of `nao-testbed naoqi run`; control is returned in every case.

connect -> check -> rehearse -> take control -> periods under the supervisor -> return
control
"""

import dataclasses
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

import nao_testbed.sim.naoqi  # noqa: F401  # loads `qi` before Pinocchio
from nao_testbed.controllers.interface.controller import (
    Controller,
    SensorError,
    has_signals,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.registry import check_controller, make_controller
from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed
from nao_testbed.experiments.closed_loop.loop import Loop, PacedRobot
from nao_testbed.experiments.closed_loop.robot_source import SimulatorSource
from nao_testbed.experiments.closed_loop.warm_up import warn_if_compiling
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, simulated_time
from nao_testbed.experiments.common.ranges import LONGEST_MINUTES
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.experiments.common.signals import (
    deferred_signals,
    exit_status,
    stop_reason,
)
from nao_testbed.experiments.live.real_robot.naoqi_source import NaoqiSource
from nao_testbed.experiments.live.real_robot.recording import SensorRecording
from nao_testbed.experiments.live.real_robot.supervisor import (
    Supervisor,
    SupervisorCfg,
    SupervisorStop,
)
from nao_testbed.models import BadInput, Robot, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.naoqi import ConnectionLost, ConnectionTimeout, NaoqiRobot
from nao_testbed.sim.naoqi.connection import is_naoqi
from nao_testbed.sim.recording.run_folder import create_run_folder
from nao_testbed.sim.replayed_robot import RecordingOver

REHEARSED = 100
"""Number of steps of a controller before it gets a robot, so that loading and compiling
do not delay it later."""
LIMP = 0.05
"""Stiffness below which a joint does not hold the robot."""


@dataclass(frozen=True, kw_only=True)
class RunCfg:
    """Options of the command."""

    address: str
    """Address of the robot, or `simulator`."""
    controller: str = "smart"
    minutes: float = 15.0
    """Duration by the robot's clock, in min."""
    robot: Path | None = None
    """Folder of the robot's data; None: the built-in NAO."""
    hottest_degc: float = SupervisorCfg.hottest_degc
    late_s: float = SupervisorCfg.late_s
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Validate the values.

        Raises:
            BadInput: a value is out of its range.
        """
        if not 0.0 < self.minutes <= LONGEST_MINUTES:
            raise BadInput(
                f"minutes is {self.minutes}; give a number above 0, at most "
                f"{LONGEST_MINUTES:g}."
            )
        if self.address != "simulator" and not is_naoqi(self.address):
            raise BadInput(
                f"--address is {self.address!r}; give naoqi://HOST:PORT, such as "
                "naoqi://127.0.0.1:9559, or simulator."
            )

    @property
    def source(self) -> NaoqiSource | SimulatorSource:
        """Source of the robot."""
        folder = self.robot or default_robot_folder()
        if is_naoqi(self.address):
            return NaoqiSource(
                url=self.address, robot_folder=folder, answer_s=self.late_s
            )
        return SimulatorSource(robot_folder=folder)


class Measures:
    """Sums over a run: heat from the currents, temperatures and timing."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._loss = np.array([m.one_node.resistance for m in robot.motors])
        self._leg_motors = robot.motors_of(robot.leg_joints)
        self.heat_j = np.zeros(len(robot.motors))
        self.first: Observation | None = None
        self.last: Observation | None = None
        self.ages_s: list[float] = []
        self.trips_s: list[float] = []
        self.n = 0
        self.largest_shift = 0.0

    def add(self, seen: Observation, shift: FloatArray | None) -> None:
        """Add a period."""
        if self.last is not None:
            dt = max(seen.time_s - self.last.time_s, 0.0)
            self.heat_j += self._loss * self.last.current**2 * dt
        self.first = self.first or seen
        self.last = seen
        self.n += 1
        if shift is not None:
            self.largest_shift = max(self.largest_shift, float(np.abs(shift).max()))

    def as_json(self) -> dict[str, object]:
        """Return the sums as data; angles in degrees."""
        robot, first, last = self._robot, self.first, self.last
        if first is None or last is None:
            return {"periods": 0}
        start, end = first.temperature, last.temperature
        return {
            "periods": self.n,
            "robot_s": last.time_s - first.time_s,
            "legs_heat_j": float(self.heat_j[self._leg_motors].sum()),
            "largest_shift_deg": float(np.rad2deg(self.largest_shift)),
            "motors": {
                name: {
                    "start_degc": float(start[m]),
                    "end_degc": float(end[m]),
                    "heat_j": float(self.heat_j[m]),
                }
                for m, name in enumerate(robot.motor_names)
            },
            **_spread("age", self.ages_s),
            **_spread("round_trip", self.trips_s),
        }


def _spread(name: str, values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {
        f"{name}_median_ms": 1000.0 * float(np.median(values)),
        f"{name}_99_percent_ms": 1000.0 * float(np.percentile(values, 99)),
        f"{name}_largest_ms": 1000.0 * max(values),
    }


def run_robot_command(
    cfg: RunCfg, out: Path, json_file: str | None, *, dry_run: bool
) -> int:
    """Run a controller on a robot; return the exit status.

    Raises:
        BadInput: a value is invalid, or the robot is not reachable.
    """
    watch = SupervisorCfg(late_s=cfg.late_s, hottest_degc=cfg.hottest_degc)
    source = cfg.source
    model = load_robot(source.robot_folder)
    check_controller(cfg.controller, model)
    check_json_file(json_file)
    warn_if_compiling()
    try:
        robot = source.open()
    except (ConnectionTimeout, ConnectionLost) as error:
        raise BadInput(f"{error}; check the robot and try again.") from error
    except RecordingOver as error:
        raise BadInput(
            f"{error}; restart `naoqi serve --log`, and run this command soon after it."
        ) from error
    try:
        seen = robot.read()
        if dry_run:
            _print_plan(cfg, robot, seen, json_file)
            return 0
        check_can_stand(robot.robot, seen)
        rehearse(make_controller(cfg.controller), robot.robot, seen)
        run = RealRobotRun(cfg, robot, watch, create_run_folder(out.parent, out.name))
        return run.run_to_end(json_file)
    finally:
        robot.close()


def check_can_stand(robot: Robot, seen: Observation) -> None:
    """Check that the legs hold the robot.

    Raises:
        BadInput: the legs are limp.
    """
    legs = [robot.joint_index(name) for name in robot.leg_joints]
    if legs and float(seen.stiffness[legs].max()) < LIMP:
        raise BadInput(
            "the robot's legs have no stiffness: it is at rest. Make it stand "
            "(ALMotion.wakeUp, ALRobotPosture.goToPosture), then run again."
        )


def rehearse(controller: Controller, robot: Robot, seen: Observation) -> None:
    """Step a controller on a fixed observation, to load and compile it."""
    controller.reset(robot)
    for i in range(REHEARSED):
        time_s = seen.time_s + CONTROL_PERIOD * i
        controller.step(dataclasses.replace(seen, time_s=time_s))


class RealRobotRun:
    """Run of one controller on one robot, from taking control to returning it."""

    def __init__(
        self, cfg: RunCfg, robot: PacedRobot, watch: SupervisorCfg, folder: Path
    ) -> None:
        """Prepare the run without commanding the robot."""
        self._cfg = cfg
        self._robot = robot
        self._remote = robot if isinstance(robot, NaoqiRobot) else None
        self._controller = make_controller(cfg.controller)
        self._signal_source = (
            self._controller if has_signals(self._controller) else None
        )
        self._recording = SensorRecording(
            folder,
            robot.robot,
            config=cfg,
            command=cfg.command,
            signals=self._signal_source.signal_names if self._signal_source else (),
        )
        self._supervisor = Supervisor(robot.robot, watch)
        self._measures = Measures(robot.robot)
        self._written: FloatArray | None = None

    def run_to_end(self, json_file: str | None) -> int:
        """Run, return control, print the results; return the exit status."""
        reason, status, said = "done", 0, ""
        begin = time.monotonic()
        try:
            with deferred_signals() as check:
                try:
                    self._periods(check)
                finally:
                    self._give_back()
        except RecordingOver as over:
            said = str(over)
            self._recording.event("recording over", self._robot.time_s, text=said)
        except KeyboardInterrupt as stop:
            reason, status = f"failed: {stop_reason(stop)}", exit_status(stop)
        except ControllerFailed as error:
            error.save_traceback(self._recording.folder)
            reason, status = f"failed: {error}", 1
        except (
            SupervisorStop,
            SensorError,
            ConnectionTimeout,
            ConnectionLost,
            BadInput,
        ) as error:
            reason, status = f"failed: {error}", 1
        except BaseException:
            self._recording.close("failed")
            raise
        self._recording.close(reason)
        self._report(said or reason, time.monotonic() - begin, json_file)
        return status

    def _periods(self, check: Callable[[], None]) -> None:
        robot, measures, remote = self._robot, self._measures, self._remote
        if remote is not None:
            remote.take_control()
        loop = Loop(robot, self._controller, goal=None)
        self._recording.event("taken", robot.time_s)
        start_s = robot.time_s
        end_s = start_s + 60.0 * self._cfg.minutes
        bars = simulated_time({self._cfg.controller: end_s - start_s})
        with bars as on_progress:
            while robot.time_s < end_s - 0.5 * loop.period:
                check()
                seen = loop.cycle()
                age_s = remote.age_s if remote is not None else 0.0
                self._recording.row(
                    seen,
                    loop.decided,
                    loop.period,
                    age_s,
                    self._signal_source.signals
                    if self._signal_source is not None
                    else (),
                )
                measures.add(seen, loop.shift)
                if remote is not None:
                    measures.ages_s.append(age_s)
                    measures.trips_s.append(remote.round_trip_s)
                self._supervisor.check(seen, self._written, age_s)
                if remote is not None and not remote.keys.is_recording:
                    self._written = remote.written_target
                if measures.n % 50 == 0:
                    on_progress(0, robot.time_s - start_s)

    def _give_back(self) -> None:
        """Return control of the robot; print a warning if the connection is lost."""
        remote = self._remote
        if remote is None:
            return
        try:
            remote.return_control()
        except (ConnectionTimeout, ConnectionLost) as error:
            self._recording.event("not given back", remote.time_s, text=str(error))
            print(
                f"Warning: {error}. The robot returns to its set-points and stiffness "
                "by the commands sent before, within 1.1 s of its clock; check it.",
                file=sys.stderr,
            )
        else:
            self._recording.event("given back", remote.time_s)

    def _report(self, reason: str, wall_s: float, json_file: str | None) -> None:
        data = {
            "experiment": "robot",
            "robot": self._cfg.address,
            "controller": self._cfg.controller,
            "minutes": self._cfg.minutes,
            "reason": reason,
            "wall_s": wall_s,
            "late_periods": self._remote.n_late if self._remote else 0,
            "folder": str(self._recording.folder),
            **self._measures.as_json(),
        }
        table = Table(title=f"{self._cfg.controller} on {self._cfg.address}")
        table.add_column("")
        table.add_column("", justify="right")
        for key, value in data.items():
            if not isinstance(value, dict):
                text = f"{value:.4g}" if isinstance(value, float) else str(value)
                table.add_row(key.replace("_", " "), text)
        console_for(json_file).print(table)
        write_json(json_file, json_text(data))
        if reason != "done":
            print(reason.replace("failed: ", "error: "), file=sys.stderr)


def _print_plan(
    cfg: RunCfg, robot: PacedRobot, seen: Observation, json_file: str | None
) -> None:
    """Print the robot's state and the effect of a run; command nothing."""
    model = robot.robot
    controller = make_controller(cfg.controller)
    controller.reset(model)
    decided = controller.step(seen)
    legs = [model.joint_index(n) for n in model.leg_joints]
    _, posture = min(
        (float(np.abs(seen.target - p.angles)[legs].max()), name)
        for name, p in model.postures.items()
    )
    table = Table(title=f"{cfg.address}: read only, nothing commanded")
    for name in ("joint", "angle rad", "set-point rad", "stiffness", "planned", "°C"):
        table.add_column(name, justify="left" if name == "joint" else "right")
    degc = model.largest_of_joint(seen.temperature)
    for j, name in enumerate(model.joint_names):
        table.add_row(
            name,
            f"{seen.q[j]:.3f}",
            f"{seen.target[j]:.3f}",
            f"{seen.stiffness[j]:.2f}",
            f"{decided.stiffness[j]:.2f}",
            f"{degc[j]:.0f}",
        )
    console = console_for(json_file)
    console.print(table)
    said = [
        f"Nearest posture of the legs: {posture}.",
        f"Feet: {seen.fsr.sum():.1f} N; the model weighs "
        f"{model.total_mass * 9.81:.1f} N.",
        f"Gravity: {', '.join(f'{x:.2f}' for x in seen.accelerometer)} m/s².",
    ]
    if isinstance(robot, NaoqiRobot):
        said += [
            f"A list of {len(robot.keys.names)} values took "
            f"{1000.0 * robot.round_trip_s:.1f} ms; the oldest value was "
            f"{1000.0 * robot.age_s:.1f} ms old.",
            f"The robot's clock runs {robot.rate:.3g} times as fast as this "
            "computer's.",
            *(f"Note: {one}." for one in robot.keys.remarks),
            f"A run would hold these set-points for {cfg.minutes:g} min under "
            f"{cfg.controller}, switch off the robot's own smart stiffness, write "
            f"{2 * len(model.motors)} actuators every {1000 * CONTROL_PERIOD:g} ms, "
            "and restore everything at the end.",
        ]
    console.print(*said, sep="\n", soft_wrap=True, markup=False)
    write_json(
        json_file,
        json_text(
            {
                "robot": cfg.address,
                "nearest_posture": posture,
                "said": said,
                "joints": {
                    name: {
                        "q_rad": float(seen.q[j]),
                        "target_rad": float(seen.target[j]),
                        "stiffness": float(seen.stiffness[j]),
                        "would_be": float(decided.stiffness[j]),
                    }
                    for j, name in enumerate(model.joint_names)
                },
            }
        ),
    )
