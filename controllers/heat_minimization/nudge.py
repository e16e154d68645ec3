"""Controller `nudge`: small set-point steps on the joint with the highest current.

RoboCup teams use this method on real standing robots: Berlin United began with knees
and ankles [naoth], B-Human moves joints towards the measured angles [bhuman], others
followed. With a servo of gain k_p, T = k_p (q* - q); so a step of the set-point q*
against the sign of the current lowers that current. The method uses no model of the
robot and ignores the effect on other joints.

The step lowers torques with which the legs work against each other, not those that
carry the robot. A robot that leans by q on ankles of stiffness K has T = m g h q: the
step δ makes it lean more, and T rises by m g h K / (K - m g h) δ. On a G1, whose
largest currents carry it, `nudge` adds heat (docs/measured/sweeps.md).

    every half second:  m = argmax |i|;   if |i_m| > threshold:  q*_m -= sign(i_m) step

A motor that drives several joints with others moves each by its part of the step, with
the sign of its ratio.

During a push nothing is changed. When the posture changes, or a foot is lifted, the
shifts return to zero. Three parts of their method are omitted: arms, since we compare
legs; the restart of all shifts when several are at their bound, which would heat the
robot again (here such a joint is skipped); and the larger steps with signs from a table
after ten unsuccessful steps.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from nao_testbed.controllers.heat_minimization.set_point_shift import DEGREE
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
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, NotNegative, Positive


@dataclass(frozen=True, kw_only=True)
class NudgeCfg(Checked):
    """Conditions and sizes of the set-point steps.

    Unless stated otherwise, a value is that of `energySavingProvider.cfg` of [bhuman],
    release of 2025. The first implementation, [naoth], waits 1 s between steps of 0.08°
    and skips joints below 0.3 A.
    """

    name: str = "nudge"
    """Name of the controller in tables and run folders."""
    period_s: Positive = 0.5
    """Time between two nudges, in s."""
    small_step_rad: Positive = 0.0286479 * DEGREE
    """Step for a servo error up to `large_step_rad`, in rad: 0.5 mrad, the smallest
    possible with the gears."""
    large_step_rad: Positive = 0.0035
    """Step for a larger servo error, in rad."""
    bound_rad: Positive = 3.0 * DEGREE
    """Maximum shift of a joint, in rad: an angle on every robot."""
    threshold_share: NotNegative = 0.05
    """Current below which a joint is skipped, as a share of the largest current of the
    battery: 0.1 of 2 A for a NAO."""
    high_shift_rad: NotNegative = 1.5 * DEGREE
    """Shift above which `high_threshold_share` applies, in rad."""
    high_threshold_share: NotNegative = 0.15
    """The same for a joint with a large shift: 0.3 A for a NAO."""
    return_s: Positive = 3.0
    """Time in which a shift of `bound_rad` returns to zero, in s."""
    current_time_constant_s: Positive = 0.2
    """Time constant of the currents' low pass, in s. Not from [bhuman]."""
    calm_s: NotNegative = 1.0
    """Time without motion before the first nudge, in s. [bhuman] waits 0.1 s, but
    knows the end of each motion."""
    stillness: StillnessCfg = field(default_factory=StillnessCfg)
    """Thresholds for motion and for a lifted foot."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.threshold_share <= self.high_threshold_share:
            raise BadInput(
                f"threshold_share = {self.threshold_share} and high_threshold_share = "
                f"{self.high_threshold_share}; give threshold_share <= "
                "high_threshold_share."
            )
        if not self.small_step_rad <= self.large_step_rad <= self.bound_rad:
            raise BadInput(
                f"small_step_rad = {self.small_step_rad}, large_step_rad = "
                f"{self.large_step_rad}, bound_rad = {self.bound_rad}; give them in "
                "rising order."
            )


_SENSOR_FIELDS = ("q", "v", "target", "current", "gyro", "fsr")


class Nudge:
    """Repeated set-point steps on the leg joint with the highest current.

    Call `reset(robot)` once, then `step(observation)` every 20 ms. Stiffness is 1.
    `enabled` may be set at any time: False returns the shifts to zero.
    """

    def __init__(self, cfg: NudgeCfg | None = None) -> None:
        self.cfg = cfg or NudgeCfg()
        self.name = self.cfg.name
        self.enabled = True
        """Switch; False: the shifts return to zero."""
        self.flag_counts: Counter[str] = Counter()
        """Nudges by motor, and the cycles without a nudge, by reason."""
        self._robot: Robot | None = None

    def reset(self, robot: Robot) -> None:
        """Prepare for `robot` and clear the state; `enabled` is kept."""
        self._robot = robot
        n, motors = len(robot.joints), len(robot.motors)
        self._is_leg: BoolArray = np.isin(
            np.arange(motors), robot.motors_of(robot.leg_joints)
        )
        self._drives: BoolArray = robot.transmission != 0.0
        self._servos = tuple(_servos_of(robot, m) for m in range(motors))
        self._names = tuple(f"nudged {name}" for name in robot.motor_names)
        self._still = Stillness(robot, self.cfg.stillness)
        self._stiffness = np.ones(n)
        self._shift: FloatArray = np.zeros(n)
        self._current = LowPass(motors, self.cfg.current_time_constant_s)
        self._next = 0.0
        self._is_returning = False
        self.flag_counts = Counter()

    @property
    def shift(self) -> FloatArray:
        """(n_joints,) present shift of the set-points in rad; a copy."""
        return self._shift.copy()

    def step(self, observation: Observation) -> Limits:
        """Return stiffness 1 and the shift that holds until the next call.

        Raises:
            SensorError: a sensor value is not finite.
            BadInput: `reset` was not called.
        """
        require_robot(self._robot)
        require_finite(observation, _SENSOR_FIELDS)
        dt = self._current.step(observation.time_s, observation.current)
        request = observation.target - self._shift
        still = self._still
        still.step(observation, request)
        is_lifted = not still.is_pressed.all()
        if still.is_new_posture or is_lifted:
            self._is_returning = True

        if not self.enabled or self._is_returning:
            self._return_to_zero(dt)
            self._is_returning = self._is_returning and (
                is_lifted or still.is_new_posture or bool(self._shift.any())
            )
            self._next = observation.time_s + self.cfg.calm_s
            reason = "lifted" if is_lifted else "new posture"
            self.flag_counts[reason if self.enabled else "switched off"] += 1
        elif still.calm_s < self.cfg.calm_s:
            self.flag_counts["moving"] += 1
        elif observation.time_s >= self._next - 1e-9:
            self._nudge(observation.target - observation.q, request)
            self._next = observation.time_s + self.cfg.period_s
        return Limits(stiffness=self._stiffness.copy(), shift=self._shift.copy())

    def _return_to_zero(self, dt: float) -> None:
        step = self.cfg.bound_rad * dt / self.cfg.return_s
        self._shift -= np.clip(self._shift, -step, step)

    def _nudge(self, error: FloatArray, request: FloatArray) -> None:
        """Move the set-points of one motor's joints by a step.

        Args:
            error: (n_joints,) set-point minus measured angle, in rad.
            request: (n_joints,) set-points without the shift, in rad.
        """
        cfg, robot = self.cfg, require_robot(self._robot)
        amps = np.abs(self._current.value)
        shift = np.where(self._drives, np.abs(self._shift), 0.0).max(axis=1)
        is_high = shift >= cfg.high_shift_rad
        most_a = robot.battery.max_discharge_ampere
        share = np.where(is_high, cfg.high_threshold_share, cfg.threshold_share)
        is_candidate = self._is_leg & (amps > share * most_a)
        for m in np.argsort(np.where(is_candidate, -amps, np.inf), kind="stable"):
            if not is_candidate[m]:
                break
            has_moved = False
            for joints, part in self._servos[m]:
                now = self._shift[joints[0]]
                is_far = abs(error[joints[0]]) > cfg.large_step_rad
                step = cfg.large_step_rad if is_far else cfg.small_step_rad
                moved = now - part * np.copysign(step, self._current.value[m])
                # Within the bound and within the range of every joint of the servo.
                lower = max(-cfg.bound_rad, (robot.lower - request)[joints].max())
                upper = min(cfg.bound_rad, (robot.upper - request)[joints].min())
                moved = min(max(moved, min(lower, 0.0)), max(upper, 0.0))
                has_moved |= bool(moved != now)
                self._shift[joints] = moved
            if has_moved:
                self.flag_counts[self._names[m]] += 1
                return
        self.flag_counts["nothing to do"] += 1


def _servos_of(robot: Robot, motor: int) -> list[tuple[IndexArray, float]]:
    """Return the joints of each servo that loads a motor, and the share of a step.

    The share is the joint's part of the motor's torque, divided by the largest part.
    """
    parts = robot.transmission[motor] / np.abs(robot.transmission[motor]).max()
    servos = np.unique(robot.servo_of_joint[parts != 0.0])
    return [
        (
            np.array([robot.joint_index(name) for name in robot.servos[lead]]),
            float(parts[robot.joint_index(lead)]),
        )
        for lead in np.array(robot.servo_names)[servos]
    ]
