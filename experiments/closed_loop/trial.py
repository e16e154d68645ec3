"""Trial of one robot under one controller, optionally with pushes.

    move to the posture -> hold it, block by block -> result

Between blocks the trial checks for a fall, for temperatures that crossed a threshold,
and for torques steady enough to skip the physics for some time
(`experiments.closed_loop.fast_forward`). A push is a short force on a link.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.controllers.interface.controller import (
    Controller,
    SensorError,
    has_signals,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.fast_forward import (
    FastForwardCfg,
    JumpLength,
    Steadiness,
)
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial_log import TrialLog
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.form_parts import MAX_NEWTON
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD, RobotSetting
from nao_testbed.experiments.common.signals import PATIENCE_S, deferred_signals
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg


@dataclass(frozen=True, kw_only=True)
class Push:
    """Constant force on the centre of mass of a link for a limited time."""

    at_s: float = 6.0
    """Start in s of simulated time."""
    duration_s: float = 0.2
    """Duration in s."""
    force_n: tuple[float, float, float] = (5.0, 0.0, 0.0)
    """Force in N in the world frame: x in front of the robot at its start, y to its
    left, z up."""
    link: str | None = None
    """Pushed link; None: the robot's base, the torso of a NAO."""

    def __post_init__(self) -> None:
        """Validate the times and the force."""
        if not (np.isfinite(self.at_s) and self.at_s >= 0.0):
            raise BadInput(f"push at {self.at_s} s; give a time of 0 s or later.")
        if not (np.isfinite(self.duration_s) and self.duration_s > 0.0):
            raise BadInput(f"push for {self.duration_s} s; give a time above 0 s.")
        if len(self.force_n) != 3 or not np.isfinite(self.force_n).all():
            raise BadInput(
                f"push of {self.force_n} N; give three finite numbers, such as "
                "(5.0, 0.0, 0.0)."
            )

    @property
    def end_s(self) -> float:
        """End in s of simulated time."""
        return self.at_s + self.duration_s

    @classmethod
    def towards(cls, direction_deg: float, size_n: float, **rest: Any) -> "Push":
        """Return a horizontal push: F = size (cos d, sin d, 0).

        Args:
            direction_deg: direction of the force, seen from the robot at its start, in
                degrees: 0 forwards, 90 to its left, 180 backwards, -90 or 270 to its
                right.
            size_n: magnitude in N; 0: no push, for comparison.
            **rest: other fields.

        Raises:
            BadInput: a value is out of its range.
        """
        if not abs(direction_deg) <= 360.0:
            raise BadInput(
                f"push direction is {direction_deg:g} degrees; give -360 to 360: 0 "
                "pushes ahead, 90 to the robot's left, 180 back."
            )
        if not 0.0 <= size_n <= MAX_NEWTON:
            raise BadInput(
                f"push size is {size_n:g} N; give 0 to {MAX_NEWTON:g}, and "
                "set its direction separately."
            )
        d = np.deg2rad(direction_deg)
        force_n = (float(size_n * np.cos(d)), float(size_n * np.sin(d)), 0.0)
        return cls(force_n=force_n, **rest)


def check_pushes(pushes: Sequence[Push], robot: Robot) -> None:
    """Check that the pushed links exist.

    Raises:
        UnknownName: a link does not exist.
    """
    names = [link.name for link in robot.links]
    for push in pushes:
        if push.link is not None and push.link not in names:
            raise UnknownName("Link", push.link, names, f"robot {robot.name!r}")


def check_in_time(pushes: Sequence[Push], duration_s: float) -> None:
    """Check that every push ends before the trial ends.

    Args:
        pushes: planned pushes.
        duration_s: duration of the trial, in s.

    Raises:
        BadInput: a push ends later and would silently be omitted.
    """
    for push in pushes:
        if push.end_s > duration_s + 1e-9:
            raise BadInput(
                f"a push ends at {push.end_s:g} s, but the trial lasts "
                f"{duration_s:g} s; push earlier, or make the trial longer."
            )


def pusher(
    pushes: Sequence[Push], robot: Robot
) -> Callable[[SimulatedRobot], None] | None:
    """Return the function to call before every tick, or None without pushes."""
    if not pushes:
        return None
    todo = [(p, p.link or robot.base_link, np.array(p.force_n)) for p in pushes]

    def disturb(sim: SimulatedRobot) -> None:
        time_s = sim.time_s
        for push, link, force in todo:
            if push.at_s - 1e-9 <= time_s < push.end_s - 1e-9:
                sim.push_com(link, force)

    return disturb


QUIET_RAD_PER_S = 0.04
"""Gyroscope reading in rad/s, on every axis, below which a robot is quiet: eight
standard deviations of a NAO's noise. A robot that tips about an edge of its feet
exceeds it within 0.6 s, since its rate grows by a factor e per sqrt(h / g), 0.18 s for
a centre of mass 0.3 m high."""
RECOVERY_S = 3.0
"""Time after a push without fast-forward, in s."""


@dataclass(frozen=True, kw_only=True)
class TrialCfg:
    """Settings of one trial: robot, controller, posture, length, pushes, seed."""

    controller: str
    """Controller in the format of `controllers.registry.make_controller`."""
    label: str | None = None
    """Name in tables and folders; None: the controller."""
    robot_folder: Path
    effort_limits: Mapping[str, float] = field(default_factory=dict)
    """Joint to torque at stiffness 1 in N·m; other joints keep the robot's value."""
    posture: str
    duration_s: float
    simulation: SimulationCfg
    fast_forward: FastForwardCfg | None
    """Settings of fast-forward; None: continuous physics."""
    control_period: float = CONTROL_PERIOD
    observation_delay: float = 0.0
    """Age of the sensor values that the controller sees, in s."""
    action_delay: float = 0.0
    """Time from a decision until it is in force, in s."""
    pushes: tuple[Push, ...] = ()
    """Pushes; fast-forward waits until the robot has recovered."""
    folder: Path | None = None
    """Run folder; None: no recording."""
    command: tuple[str, ...] = ()
    """Command line, stored in the run folder."""
    preset: str | None = None
    """Preset of the settings, stored in the run folder."""
    exact: bool = False
    """True: record every digit of the controller's observations."""
    quiet_s: float | None = None
    """Quiet time in s after the last push that ends the trial; None: no early end."""

    @classmethod
    def of(cls, setting: RobotSetting, *, gui: bool = False, **run: Any) -> "TrialCfg":
        """Return the trial of a robot setting.

        Args:
            setting: setting of the robot.
            gui: True: open the engine's window.
            **run: other fields, including the posture.

        Raises:
            BadInput: a value is out of its range.
        """
        return cls(
            robot_folder=Path(setting.robot),
            effort_limits=setting.effort_limits,
            simulation=setting.simulation(gui=gui),
            control_period=setting.control_period,
            observation_delay=setting.observation_delay,
            action_delay=setting.action_delay,
            **run,
        )

    @property
    def name(self) -> str:
        """Name in tables and folders."""
        return self.label or self.controller

    def load_robot(self) -> Robot:
        """Return the robot with its effort limits in force."""
        return load_robot(self.robot_folder).with_effort_limits(self.effort_limits)


def _ignore_progress(_time_s: float) -> None:
    pass


def run_trial(
    cfg: TrialCfg,
    on_progress: Callable[[float], None] = _ignore_progress,
    controller: Controller | None = None,
) -> TrialResult:
    """Run one trial to its end, a fall or a failure, and record it.

    Args:
        cfg: configuration of the trial.
        on_progress: function called with the simulated time in s.
        controller: replaces the controller named by `cfg.controller`.

    Raises:
        BadInput: a value of the configuration is invalid.
        KeyboardInterrupt: after the run folder was closed.
    """
    robot = cfg.load_robot()
    check_pushes(cfg.pushes, robot)
    if controller is None:
        controller = make_controller(cfg.controller)
    sim = SimulatedRobot(robot, cfg.simulation, cfg.posture)
    recording = RunRecording.open(
        cfg.folder,
        robot,
        seed=cfg.simulation.seed,
        config=cfg,
        command=cfg.command,
        exact=cfg.exact,
        signals=controller.signal_names if has_signals(controller) else (),
    )
    try:
        with recording.close_on_error():
            return Trial(cfg, sim, controller, recording, on_progress).run()
    finally:
        sim.close()


class Trial:
    """Execution of one trial; call `run` once."""

    def __init__(
        self,
        cfg: TrialCfg,
        sim: SimulatedRobot,
        controller: Controller,
        recording: RunRecording,
        on_progress: Callable[[float], None],
    ) -> None:
        """Start with the robot in its posture."""
        self._cfg = cfg
        self._sim = sim
        goal = sim.robot.posture(cfg.posture).angles
        self._loop = Loop(
            sim,
            controller,
            goal,
            cfg.control_period,
            observation_delay=cfg.observation_delay,
            action_delay=cfg.action_delay,
        )
        self._loop.disturb = pusher(cfg.pushes, sim.robot)
        self._log = TrialLog(sim, controller, recording, on_progress)
        self._check_signals: Callable[[], None] = lambda: None
        self._fast = cfg.fast_forward
        self._steadiness = Steadiness(cfg.fast_forward or FastForwardCfg())
        self._jump_length = JumpLength(cfg.fast_forward or FastForwardCfg())
        self._calm_s = max(
            (push.end_s + RECOVERY_S for push in cfg.pushes), default=0.0
        )
        if cfg.fast_forward is not None:
            self._calm_s = max(self._calm_s, cfg.fast_forward.not_before_s)
        self._failure: str | None = None
        self._fell = False
        self._restless_s = max((push.end_s for push in cfg.pushes), default=0.0)

    def run(self) -> TrialResult:
        """Run until the time is over, the robot falls, or a number is not finite."""
        self._advance(lambda: self._left_s() > 0.5 * self._cfg.control_period)
        return self._log.close(
            name=self._cfg.name,
            folder=self._cfg.folder,
            failure=self._failure,
            fell=self._fell,
        )

    def settle(self) -> None:
        """Run the blocks that end before the first push; `run` continues from there."""
        end_s = min((push.at_s for push in self._cfg.pushes), default=0.0) + 1e-9
        period = self._cfg.control_period
        block_s = period * max(1, round(self._steadiness.block_s / period))
        self._advance(lambda: self._sim.time_s + block_s <= end_s)

    def take_pushes(self, pushes: Sequence[Push]) -> None:
        """Replace the pushes, none of which may have begun.

        Args:
            pushes: new pushes at the same times.
        """
        self._loop.disturb = pusher(pushes, self._sim.robot)

    def _advance(self, keep_running: Callable[[], bool]) -> None:
        """Run block by block until the end, or while `keep_running` returns True."""
        try:
            with deferred_signals(PATIENCE_S) as self._check_signals:
                while self._failure is None and keep_running() and not self._is_quiet():
                    self._physics_block()
                    if self._sim.has_fallen():
                        self._failure, self._fell = self._fall(), True
                    elif self._may_jump():
                        self._jump()
                    else:
                        self._jump_length.restart()
        except (SimulationDiverged, SensorError) as error:
            self._failure = str(error)
        except BadInput as error:  # an invalid limit, such as NaN
            self._failure = f"stopped at {self._sim.time_s:.2f} s: {error}"

    def _is_quiet(self) -> bool:
        quiet_s = self._cfg.quiet_s
        return quiet_s is not None and self._sim.time_s - self._restless_s >= quiet_s

    def _fall(self) -> str:
        """Return a text with the time and the cause of the fall."""
        fell = f"fell at {self._sim.time_s:.2f} s"
        shut_down_s = self._log.shut_down_s
        if shut_down_s is None:
            return fell
        return f"shut down at {shut_down_s:.2f} s, {fell}"

    def _left_s(self) -> float:
        return self._cfg.duration_s - self._sim.time_s

    def _physics_block(self) -> None:
        """Run one block with physics, and add its mean squared torques.

        The block ends early if the robot falls.
        """
        sim, period = self._sim, self._cfg.control_period
        block_s = min(self._steadiness.block_s, self._left_s())
        cycles = max(1, round(block_s / period))
        total = np.zeros_like(sim.mean_square)
        n = 0
        while n < cycles and not (n and sim.has_fallen()):
            self._check_signals()
            observation = self._loop.cycle()
            total += sim.mean_square
            self._log.cycle(observation, self._loop)
            if self._cfg.quiet_s is not None:
                self._update_quiet(observation)
            n += 1
        mean_square = total / n
        self._steadiness.add(mean_square, self._loop.moved)
        self._log.block(mean_square, n * period)

    def _update_quiet(self, observation: Observation) -> None:
        is_quiet = float(np.abs(observation.gyro).max()) < QUIET_RAD_PER_S
        if not is_quiet:  # False for NaN
            self._restless_s = max(self._restless_s, observation.time_s)

    def _may_jump(self) -> bool:
        fast = self._fast
        return (
            fast is not None
            and self._sim.time_s >= self._calm_s
            and not self._loop.decided.is_urgent  # the controller reacts to a push
            and self._steadiness.is_steady()
        )

    def _jump(self) -> None:
        """Advance heat in steps of 1 s until a condition changes or the jump ends."""
        if self._fast is None:
            return
        sim = self._sim
        mean_square = self._steadiness.mean()
        # Row with the heating torque from here on, so that rows explain the
        # temperatures.
        torque = np.copysign(np.sqrt(mean_square), sim.motor_torque)
        begin = sim.time_s
        end = min(begin + self._jump_length.take(), self._cfg.duration_s)
        while end - sim.time_s >= 1.0 - 1e-9:
            self._check_signals()
            sim.advance_heat(mean_square, 1.0)
            if self._log.still(torque):
                self._jump_length.restart()
                break
        self._log.jump(begin)
