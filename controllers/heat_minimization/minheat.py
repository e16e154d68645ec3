"""Controller `minheat`: set-points are shifted until the legs make minimum heat.

    currents -> torques of minimum joule loss -> change of torques
             -> shift of the set-points, slow and bounded

A torque limit bounds the opposing torques of two misaligned legs but does not remove
them, since the set-points still conflict. This controller moves the set-points: ten
times a second it finds the forces at the soles that carry the robot at minimum joule
loss (`leg_relief`), and the shift follows the corresponding torques. Hot motors have a
larger weight (`temperature_weights`). The limit of ES2659053 stays in force as a safety
net. The shift is frozen while the robot moves, is pushed, or has a support other than
its feet.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.leg_relief import (
    LegRelief,
    PresentForces,
    TemperatureWeightsCfg,
    temperature_weights,
)
from nao_testbed.controllers.heat_minimization.set_point_shift import (
    SetPointShift,
    SetPointShiftCfg,
)
from nao_testbed.controllers.heat_minimization.standing_problem import FRICTION
from nao_testbed.controllers.heat_minimization.stillness import (
    LowPass,
    Stillness,
    StillnessCfg,
)
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.controller import (
    Limits,
    require_finite,
    require_robot,
)
from nao_testbed.controllers.interface.panel import (
    Line,
    Panel,
    Plot,
    Row,
    Setting,
    SettingValue,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness import SmartStiffness, SmartStiffnessCfg
from nao_testbed.controllers.stiffness.kernels import BoolArray
from nao_testbed.models import Robot
from nao_testbed.models.robot import are_watts_guesses
from nao_testbed.models.values import FloatArray, Fraction, NotNegative, Positive

WAYS = ("ahead", "to the left", "normal")
"""Directions of a force at a sole."""


@dataclass(frozen=True, kw_only=True)
class MinHeatCfg(Checked):
    """Options of the controller."""

    name: str = "minheat"
    """Name of the controller in tables and run folders."""
    period_s: Positive = 0.1
    """Time between two solutions, in s."""
    current_time_constant_s: Positive = 0.3
    """Time constant of the low pass of the currents, in s."""
    calm_s: NotNegative = 0.5
    """Time without motion before the shift continues, in s."""
    friction: Positive = FRICTION
    """Friction coefficient assumed for the ground."""
    least_on_feet: Fraction = 0.7
    """Minimum share of the weight on the force sensors; below it the robot has
    another support, or is held."""
    shift: SetPointShiftCfg = field(default_factory=SetPointShiftCfg)
    weights: TemperatureWeightsCfg = field(default_factory=TemperatureWeightsCfg)
    stillness: StillnessCfg = field(default_factory=StillnessCfg)
    limits: SmartStiffnessCfg = field(default_factory=SmartStiffnessCfg)
    """Controller of the limits, as a safety net."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MinHeatState:
    """State of the controller: distance of the legs from the minimum heat."""

    time_s: float
    """Time of the solution, in s."""
    loss_w: float
    """Present joule loss of the legs, from the currents, in W."""
    least_w: float
    """Minimum loss that contact forces allow in this posture, in W, with gears stuck
    as at present."""
    shift: FloatArray
    """(n_joints,) in rad."""
    feet: tuple[str, ...]
    """Loaded feet."""
    forces: FloatArray
    """(n_feet, 3) present force of the ground on each foot, from the currents, in N:
    ahead and to the left along the sole, and along its normal."""
    least_forces: FloatArray
    """(n_feet, 3) forces of minimum loss, in N."""

    @property
    def above_least_w(self) -> float:
        """Avoidable heat: difference from the minimum, in W."""
        return self.loss_w - self.least_w


class MinHeat:
    """Shift of set-points to minimum joule loss, under the limit of ES2659053.

    Call `reset(robot)` once, then `step(observation)` every 20 ms. `limits` is the
    safety net, with its own switches; `enabled` switches both. While disabled, the
    controller still computes `state`, which shows the possible reduction.
    """

    signal_names: tuple[str, ...] = ("loss_w", "least_w")
    """Names of `signals`, for recorders."""

    def __init__(self, cfg: MinHeatCfg | None = None) -> None:
        self.cfg = cfg or MinHeatCfg()
        self.name = self.cfg.name
        self.limits = SmartStiffness(self.cfg.limits)
        """Controller of ES2659053, which sets the limits."""
        self._is_enabled = True
        self._robot: Robot | None = None
        self._forget()

    def _forget(self) -> None:
        self._next = -np.inf
        self._last: tuple[PresentForces, float, FloatArray, BoolArray] | None = None
        self._state: MinHeatState | None = None
        self._counts: Counter[str] = Counter()

    def reset(self, robot: Robot) -> None:
        """Build everything that depends on `robot` and clear the state.

        Raises:
            BadInput: the robot has no soles, or the configuration does not fit it.
        """
        cfg = self.cfg
        self.limits.reset(robot)
        self._robot = robot
        self._relief = LegRelief(robot, cfg.friction)
        self._has_foot_sensors = bool(robot.force_sensors)
        self._torque_constant = np.array(
            [motor.one_node.torque_constant for motor in robot.motors]
        )
        self._stillness = Stillness(robot, cfg.stillness)
        self._shift = SetPointShift(robot, cfg.shift)
        self._applied: FloatArray = np.zeros(len(robot.joints))
        self._effort = LowPass(len(robot.motors), cfg.current_time_constant_s)
        self._forget()

    @property
    def enabled(self) -> bool:
        """Switch; False: the shift returns to zero, the user's stiffness applies."""
        return self._is_enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        self._is_enabled = on
        self.limits.enabled = on

    @property
    def shift(self) -> FloatArray:
        """(n_joints,) present shift of the set-points in rad; a copy."""
        require_robot(self._robot)
        return self._applied.copy()

    @property
    def flag_counts(self) -> Counter[str]:
        """Return the number of steps since `reset` per flag of the limits.

        Steps without a shift update are included, by reason.
        """
        return self.limits.flag_counts + self._counts

    @property
    def state(self) -> MinHeatState | None:
        """Return the state after the last solution; None before the first.

        The state is computed on first access.
        """
        if self._state is None and self._last is not None:
            present, time_s, shift, pressed = self._last
            problem = present.problem
            T = problem.motor_effort(problem.effort(present.forces))
            feet = require_robot(self._robot).feet
            least = solve_least_loss(problem)
            foot_of_point = self._relief.foot_of_point
            corners = foot_of_point[pressed[foot_of_point]]
            carry = [i for i in range(len(feet)) if pressed[i]]
            on_foot = np.array([corners == i for i in carry], dtype=np.float64)
            on_foot = on_foot.reshape(len(carry), len(corners))
            self._state = MinHeatState(
                time_s=time_s,
                loss_w=float(problem.loss @ (T * T)),
                least_w=least.loss_w,
                shift=shift,
                feet=tuple(feet[i] for i in carry),
                forces=on_foot @ present.forces,
                least_forces=on_foot @ least.forces,
            )
        return self._state

    @property
    def signals(self) -> tuple[float, ...]:
        """Present and minimum joule loss of the legs, in W; NaN before the first."""
        state = self.state
        return (state.loss_w, state.least_w) if state else (np.nan, np.nan)

    def panel(self) -> Panel:
        """Return present and minimum-loss forces of the soles, and the heat of both."""
        state, cfg = self.state, self.cfg
        rows: list[Row] = []
        if state is not None:
            for foot, now, least in zip(
                state.feet, state.forces, state.least_forces, strict=True
            ):
                for way, a, b in zip(WAYS, now, least, strict=True):
                    values = (round(float(a), 1), round(float(b), 1))
                    rows.append(Row(name=f"{foot}, {way}", values=values))
        loss, least, unit = *self.signals, "W"
        if self._robot and are_watts_guesses(self._robot.thermal):
            loss, least, unit = loss / least, least / least, "× minimum"
        return Panel(
            columns=("present N", "minimum N"),
            rows=tuple(rows),
            settings=(
                Setting(name="enabled", value=self.enabled, about="Shifts and limits."),
                Setting(
                    name="calm_s",
                    value=cfg.calm_s,
                    low=0.0,
                    high=60.0,
                    unit="s",
                    about="Time without motion before the shift continues.",
                ),
                Setting(
                    name="least_on_feet",
                    value=cfg.least_on_feet,
                    low=0.0,
                    high=1.0,
                    about="Share of the weight that the soles must carry.",
                ),
            ),
            plot=Plot(
                title="Joule loss of the legs",
                unit=unit,
                lines=(
                    Line(name="present", value=loss),
                    Line(name="minimum", value=least),
                ),
            ),
        )

    def change_setting(self, name: str, value: SettingValue) -> None:
        """Apply a setting of the panel.

        Raises:
            BadInput: the value is out of its range.
            UnknownName: there is no such setting.
        """
        value = self.panel().setting(name).accept(value)
        match name:
            case "enabled":
                self.enabled = bool(value)
            case "calm_s":
                self.cfg = replace(self.cfg, calm_s=float(value))
            case "least_on_feet":
                self.cfg = replace(self.cfg, least_on_feet=float(value))

    def step(self, observation: Observation) -> Limits:
        """Return the limit and the shift that hold until the next call.

        Raises:
            SensorError: a sensor value is not finite.
            BadInput: `reset` was not called.
        """
        require_robot(self._robot)
        limits = self.limits.step(observation)  # checks that values are finite
        require_finite(observation, ("current",))
        effort = observation.current * self._torque_constant
        dt = self._effort.step(observation.time_s, effort)
        request = observation.target - self._applied
        self._stillness.step(observation, request)
        if not self._is_enabled:
            self._shift.return_to_zero(dt)
        if observation.time_s >= self._next - 1e-9:
            self._next = observation.time_s + self.cfg.period_s
            reason = self._reason_not_to_shift()
            if reason is None:
                self._solve(observation)
            else:
                self._freeze_shift(reason)
        shift = self._shift.value
        if limits.shift is not None:  # a push is caught
            shift += limits.shift
        self._applied = self._within_range(request, shift)
        return Limits(
            stiffness=limits.stiffness,
            shift=self._applied.copy(),
            is_urgent=limits.is_urgent,
        )

    def _freeze_shift(self, reason: str) -> None:
        """Freeze the shift; the side of the gear friction is no longer known."""
        self._shift.restart_gear()
        self._counts[reason] += 1

    def _within_range(self, request: FloatArray, shift: FloatArray) -> FloatArray:
        """Return the shift, limited where a set-point would leave its joint's range."""
        robot = require_robot(self._robot)
        # A misread angle may put a request slightly beyond the range: keep it.
        low, high = np.minimum(robot.lower, request), np.maximum(robot.upper, request)
        wanted = request + shift
        beyond = (wanted < low) | (wanted > high)
        if not beyond.any():
            return shift
        return np.where(beyond, np.clip(wanted, low, high) - request, shift)

    def _reason_not_to_shift(self) -> str | None:
        """Return the reason to freeze the shift; None: it may continue."""
        still, guard = self._stillness, self.limits.guard
        if guard is not None and guard.is_raised:
            return "catching"
        if still.calm_s < self.cfg.calm_s:
            return "moving"
        least = self.cfg.least_on_feet * self._relief.weight
        if self._has_foot_sensors and still.foot_loads.sum() < least:
            return "not on its feet"
        return None

    def _solve(self, observation: Observation) -> None:
        """Solve for the target torques; move the shift unless disabled."""
        plane = self.limits.plane
        if plane is None:
            return
        pressed = self._stillness.is_pressed
        present = self._relief.find(
            observation.q, self._effort.value, is_pressed=pressed, up=plane.up
        )
        target = self._target(present, observation)
        if self._is_enabled:
            self._move_shift(target)
        self._last = present, observation.time_s, self._shift.value, pressed
        self._state = None

    def _target(self, present: PresentForces, observation: Observation) -> LeastLoss:
        """Return the target torques: minimum loss with temperature weights."""
        weights = temperature_weights(observation.temperature, self.cfg.weights)
        problem = present.problem
        return solve_least_loss(replace(problem, loss=problem.loss * weights))

    def _move_shift(self, least: LeastLoss) -> None:
        """Move the shift towards the torques of `least`, for the legs only."""
        counts = self._relief.counts
        change = np.where(counts, least.motor_effort - self._effort.value, 0.0)
        remaining = np.where(counts, least.motor_effort, 0.0)
        self._shift.follow(change, remaining, self.cfg.period_s)
        if self._shift.is_at_bound:
            self._counts["shift at its bound"] += 1
