"""Push guard: torque limits are raised immediately when the robot is pushed.

A limit of equilibrium torque plus offset is too low to catch a push. The guard monitors
two numbers that a push changes within a cycle or two of 20 ms, long before a fall (0.5
s and more):

    u_ω = |ω| / (ω_0 + κ m),      u_c = min(1, F / W) |c - c̄| / c_0.

ω is the gyroscope's reading and m the speed of the fastest set-point: swinging arms
turn the body by a small share κ of it. c = Σ f_k p_k / Σ f_k is the centre of pressure
of the force sensors, at p_k from the midpoint of the feet at joint angles 0. c̄ is its
slow mean, which follows slopes and shifts. On a robot that leans on the edges of its
soles, outside the sensors, c is arbitrary. So c is scaled by the measured share of the
weight W, F = Σ f_k, and ignored while set-points move or the soles are almost unloaded.

The alarm is raised where u = max(u_ω, u_c) > 1. Then every joint may use the user's
stiffness, for `hold_s` after u was last above 1, and within `release_s` the limit
returns,

    stiffness = limit + lift · max(user - limit, 0),      lift: 1 -> 0.

**Lasting loads.** A leaning hand, or an added payload, ends the alarm soon: c̄ follows
it. Yet joints then need more torque than their limits. Such a load is detected by its
torques and by c before the alarm. Limits stay raised until the load is removed, or
until lowering them does not move the robot (`LastingLoad`).

**Leg motions.** The limit is that of a robot at rest. While set-points of the legs
move, the limit is raised too, without an alarm: a robot that rises rocks by 1 rad/s,
which neither sensor can distinguish from a push.

**Set-point shifts.** Under a limit, joints of a misaligned robot stay short of their
set-points by e = q* - q. Without the limit they would jump there, which adds to the
push. So set-points move to the position that the limited torque holds, and stay there
during the catch,

    s = lift · (clip(ē, ± stiffness · τ_max / k_p) - ē),      |s| <= `bound_rad`,

ē being the mean of e before the alarm. The shift of a joint within its limit is 0.

**Ankle lean.** A robot that tips turns with ω about its soles. Its centre of mass, at
the height h, moves at ċ = ω x h and comes to rest only over the capture point c + ċ √(h
/ g) [pratt2006]. Each ankle joint, with the axis a_i, leans the body back by a share of
that:

    s_i += k ω · a_i √(h / g),      i the last two joints of a leg,

k decreasing from `lean_share` to 0 in `lean_s` after the alarm: permanent feedback with
two cycles of delay would rock the robot from edge to edge of its soles. A robot with
moving legs gets neither shift.

**False alarms.** A robot yields slightly while its limit is lowered. Until the limit
has returned, and for `release_s` afterwards, only u > `release_factor` raises an alarm.
The same holds for that time after the start, and until the robot has settled: u below
REST_DISTURBANCE for `settle_s`. After being put down, some robots rattle for seconds on
three corners of their soles. While set-points are shifted, ω_0 is SHIFT_FACTOR times as
large: a shift that reduces heat rolls some robots onto another corner, at 0.105 rad/s,
while c stays on the edge between.

**Thresholds.** In a year of cycles, white noise crosses n times its standard deviation
only for n below 7. `GuardCfg` uses twenty and sixty, since floors shake and soles
rattle; the margin costs one cycle. A guard with more than MAX_ALARMS_PER_HOUR expected
noise alarms (`alarms_per_hour`) is rejected. Motors at their limit (under a limit some
always are) and unloaded feet (0.1 s later than the centre of pressure, if at all) are
weaker indicators.
"""

from math import exp

import numpy as np

from nao_testbed.controllers.interface.checked import check_value
from nao_testbed.controllers.interface.controller import (
    Controller,
    ControllerWrapper,
    Limits,
    require_finite,
    require_reset,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.controllers.stiffness.guard.ankle_lean import lean_map
from nao_testbed.controllers.stiffness.guard.lasting_load import LastingLoad, Phase
from nao_testbed.controllers.stiffness.guard.thresholds import (
    DEGREE,
    GuardCfg,
    alarms_per_hour,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, Fraction

MAX_ALARMS_PER_HOUR = 1.0
"""Maximum rate of noise alarms; more would prevent any reduction of the limits."""
MOTION_MEAN_S = 0.2
"""Time constant of the mean set-point in s: two steps of a controller that shifts
set-points ten times a second."""
MIN_LOAD_SHARE = 0.3
"""Minimum share of the weight on the soles for a valid centre of pressure."""
REST_DISTURBANCE = 0.5
"""Upper bound of u for a robot at rest on its feet."""
SLOW_RAD_S = 0.1 * DEGREE
"""Set-point speed above which a shift is detected: a sixth of a shift's maximum."""
SHIFT_FACTOR = 1.3
"""Factor on ω_0 during a shift: a robot that rolled exceeded ω_0 by 5 %."""


class Guard:
    """Guard of one robot; `step` once a cycle, then read `lift` and `shift`."""

    def __init__(self, robot: Robot, cfg: GuardCfg) -> None:
        """Prepare for `robot`, with an empty state.

        Raises:
            BadInput: the noise of its sensors alone would raise the alarm.
        """
        self.cfg = cfg
        dynamics = Dynamics(robot, robot.force_sensors)
        # (n_joints,) error in rad at which a joint gives all of its torque
        self._reach: FloatArray = robot.effort_limit / np.array(
            [joint.kp for joint in robot.joints]
        )
        legs = set(robot.leg_joints)
        self._is_leg = np.array([name in legs for name in robot.joint_names])
        self._lever: FloatArray = dynamics.point_positions[:, :2].copy()
        if len(self._lever):
            self._lever -= self._lever.mean(axis=0)
        self._weight = dynamics.mass * GRAVITY
        # (n_joints, 3), of ω in the frame of the gyroscope
        rotation_imu_to_base = np.array(dynamics.link_rotation(robot.imu.link))
        self._lean = lean_map(robot, dynamics) @ rotation_imu_to_base
        self._load = LastingLoad(robot, cfg)
        alarms = alarms_per_hour(robot, cfg, self._lever)
        if alarms > MAX_ALARMS_PER_HOUR:
            raise BadInput(
                f"gyro_rad_s = {cfg.gyro_rad_s} rad/s and cop_m = {cfg.cop_m} m: the "
                f"noise of {robot.name!r}'s sensors alone would raise the alarm "
                f"{alarms:.3g} times an hour; give larger ones."
            )
        self.reset()

    def reset(self) -> None:
        """Clear the state."""
        self.lift = 0.0
        """Share by which the limit is raised; 1: to the user's stiffness."""
        self.alarms = 0
        """Number of alarms since `reset`."""
        self.disturbance = 0.0
        """u of the last step: 1 is the threshold."""
        self._time: float | None = None
        self._started_at = self._held_until = self._alarm_at = -np.inf
        self._disturbed_at = -np.inf
        self._has_settled = False
        self._moved_at = self._legs_moved_at = -np.inf
        self._slow: FloatArray | None = None
        self._cop = self._mean = np.zeros(2)
        self._cycles_at_rest = 0
        self._error: FloatArray | None = None
        self._sag: FloatArray = np.zeros(len(self._reach))
        self._shift: FloatArray | None = None
        self._load.end()

    @property
    def shift(self) -> FloatArray | None:
        """(n_joints,) shift of the set-points, in rad; None without a push."""
        return None if self._shift is None else self._shift.copy()

    @property
    def is_raised(self) -> bool:
        """Return True if the limit is raised, fully or in part."""
        return self.lift > 0.0

    def step(self, observation: Observation, limit: FloatArray) -> float:
        """Return `lift`.

        Args:
            observation: the newest sensor values, all finite except the currents.
            limit: (n_joints,) stiffness of the joints without the guard.
        """
        cfg, now, omega = self.cfg, observation.time_s, observation.gyro
        if self._time is None:
            self._time = now
            self._started_at = self._disturbed_at = now
            self._held_until = now - cfg.release_s
        dt = max(0.0, now - self._time)
        self._time = now
        target = observation.target
        if self._shift is not None:
            target = target - self._shift
        speed = self._update_motion(target, dt)
        is_shifted = SLOW_RAD_S < speed <= cfg.motion_rad_s
        tolerated = cfg.gyro_rad_s * (SHIFT_FACTOR if is_shifted else 1.0)
        tolerated += cfg.motion_share * speed
        u_gyro = float(np.sqrt(omega @ omega)) / tolerated
        mean_before = self._mean
        u_cop = self._cop_displacement(observation, dt) / cfg.cop_m
        self.disturbance = u = max(u_gyro, u_cop)
        self._update_settled(u)
        self._load.watch_effort(observation, dt)
        if self.lift == 0.0:
            self._load.end()
        since = now - self._held_until
        if now == self._legs_moved_at:
            self._hold(cfg.motion_s)
        elif since <= 0.0 or self._load.phase is Phase.LASTING:
            if u > 1.0:
                self._hold(cfg.hold_s)
        elif dt > 0.0 and u > self._threshold(since):
            self.alarms += 1
            self._alarm_at = now
            self._hold(cfg.hold_s)
            self._find_sag(observation)
            self._load.begin(mean_before, now)
        self._update_lift(limit, dt, is_still=u_gyro <= REST_DISTURBANCE)
        if self.lift == 0.0:
            self._update_error(target - observation.q, dt)
        self._update_shift(omega)
        return self.lift

    def _update_lift(self, limit: FloatArray, dt: float, *, is_still: bool) -> None:
        """Compute the lift: 1 while a push is caught or its load lasts, then less."""
        cfg, load, now = self.cfg, self._load, self._time or 0.0
        since = now - self._held_until
        was = load.phase
        if since > 0.0 and self.lift > 0.0 and self._alarm_at > -np.inf:
            is_returning = not load.is_lasting and self.lift < 1.0
            load.step(
                self._cop,
                limit,
                now,
                dt,
                is_still=is_still,
                is_returning=is_returning,
            )
        match load.phase:
            case Phase.LASTING:
                self._held_until = max(self._held_until, now)
                self.lift = 1.0
                if was is Phase.TRYING:  # the robot yields
                    self._alarm_at = now
            case Phase.TRYING:
                self.lift = load.lift
            case Phase.ACCEPTED:
                self.lift, self._held_until = 0.0, now - cfg.release_s
            case _:
                self.lift = max(0.0, 1.0 - max(0.0, since) / cfg.release_s)

    def _update_settled(self, u: float) -> None:
        """Update the flag that the robot has been calm long enough since the start."""
        if self._has_settled:
            return
        cfg, now = self.cfg, self._time or 0.0
        if u > REST_DISTURBANCE:
            self._disturbed_at = now
        self._has_settled = (
            now - self._disturbed_at > cfg.settle_s
            or now - self._started_at > cfg.settle_by_s
        )

    def _threshold(self, since: float) -> float:
        """Return the threshold of u for the time `since` the limit was raised."""
        cfg = self.cfg
        since = min(since, (self._time or 0.0) - self._started_at)
        is_high = since <= 2.0 * cfg.release_s or not self._has_settled
        return cfg.release_factor if is_high else 1.0

    def hold(self) -> None:
        """Raise the limit for `motion_s` without an alarm, as during a leg motion.

        Call it while something else sets the stiffness: a limit that returned at once
        would move the robot, which looks like a push.
        """
        self._hold(self.cfg.motion_s)

    def _hold(self, duration_s: float) -> None:
        """Keep the limit raised for this time from now, or longer."""
        self._held_until = max(self._held_until, (self._time or 0.0) + duration_s)

    def _update_motion(self, target: FloatArray, dt: float) -> float:
        """Detect set-point motion; return m in rad/s.

        A moving set-point leads its mean by speed times time constant.
        """
        now = self._time or 0.0
        if self._slow is None or now - self._started_at < MOTION_MEAN_S:
            self._slow = target  # earlier set-points are from an unknown source
        ahead = target - self._slow
        self._slow = self._slow + (1.0 - exp(-dt / MOTION_MEAN_S)) * ahead
        speed = np.abs(ahead) / MOTION_MEAN_S
        fastest = float(speed.max(initial=0.0))
        if fastest > self.cfg.motion_rad_s:
            self._moved_at = now
            if speed.max(initial=0.0, where=self._is_leg) > self.cfg.legs_rad_s:
                self._legs_moved_at = now
        return fastest

    def _cop_displacement(self, observation: Observation, dt: float) -> float:
        """Return min(1, F / W) |c - c̄| in m.

        At first the mean covers all cycles since rest began.
        """
        cfg, load, now = self.cfg, observation.fsr.sum(), observation.time_s
        borne = load / self._weight
        if borne < MIN_LOAD_SHARE or now == self._moved_at:
            self._cycles_at_rest = 0
            return 0.0
        cop = observation.fsr @ self._lever / load
        self._cycles_at_rest += 1
        if self._cycles_at_rest == 1:
            self._cop = self._mean = cop
        self._cop = self._cop + (1.0 - exp(-dt / cfg.cop_s)) * (cop - self._cop)
        off = self._cop - self._mean
        gain = max(1.0 - exp(-dt / cfg.mean_s), 1.0 / self._cycles_at_rest)
        self._mean = self._mean + gain * off
        if now - self._moved_at <= cfg.motion_s:
            return 0.0
        return min(1.0, float(borne)) * float(np.sqrt(off @ off))

    def _update_error(self, error: FloatArray, dt: float) -> None:
        """Update ē, (n_joints,) in rad, while no push is being caught."""
        if self._error is None:
            self._error = error
        gain = 1.0 - exp(-dt / self.cfg.sag_s)
        self._error = self._error + gain * (error - self._error)

    def _find_sag(self, observation: Observation) -> None:
        """Compute the holding positions of joints at their limit from prior errors."""
        if self._error is not None:
            reach, bound = observation.stiffness * self._reach, self.cfg.bound_rad
            sag = np.clip(self._error, -reach, reach) - self._error
            self._sag = np.clip(sag, -bound, bound)

    def _update_shift(self, omega: FloatArray) -> None:
        """Compute s; None while legs move or without a push."""
        cfg, now = self.cfg, self._time or 0.0
        if now - self._legs_moved_at <= cfg.motion_s:
            self._alarm_at = -np.inf
            self._load.end()
        if self.lift == 0.0 or self._alarm_at == -np.inf:
            self._shift = None
            return
        shift = self.lift * self._sag
        k = 1.0 - (now - self._alarm_at) / cfg.lean_s if cfg.lean_s else 0.0
        k *= cfg.lean_share
        if k > 0.0:
            shift = shift + self._lean @ (k * omega)
        self._shift = np.clip(shift, -cfg.bound_rad, cfg.bound_rad)


class Guarded(ControllerWrapper):
    """Any controller under a guard: its limits are raised when the robot is pushed.

    `smart` and `minheat` have their own guard, which uses the user's stiffness. This
    wrapper raises every limit up to `maximum`.
    """

    def __init__(
        self, controller: Controller, cfg: GuardCfg | None = None, maximum: float = 1.0
    ) -> None:
        """Wrap a controller.

        Args:
            controller: source of the limits.
            cfg: conditions for raising the limits.
            maximum: stiffness to which they are raised, in [0, 1].
        """
        check_value("maximum", maximum, Fraction)
        super().__init__(controller)
        self._cfg = cfg or GuardCfg()
        self._maximum = maximum
        self._guard: Guard | None = None

    @property
    def guard(self) -> Guard | None:
        """Return the guard; None before `reset`."""
        return self._guard

    def reset(self, robot: Robot) -> None:
        """Reset the controller and the guard."""
        super().reset(robot)
        self._guard = Guard(robot, self._cfg)

    def step(self, observation: Observation) -> Limits:
        """Return the controller's limits and shifts plus those of the guard.

        Raises:
            SensorError: a sensor value is not finite.
            BadInput: `reset` was not called.
        """
        guard = require_reset(self._guard)
        decided = super().step(observation)
        require_finite(observation, ("q", "gyro", "fsr", "stiffness"))
        if guard.step(observation, decided.stiffness) == 0.0:
            return decided
        maximum = np.full_like(decided.stiffness, self._maximum)
        shift = guard.shift
        if shift is not None and decided.shift is not None:
            shift = decided.shift + shift
        return Limits(
            stiffness=lifted(decided.stiffness, maximum, guard.lift),
            shift=shift,
            is_urgent=True,
        )


def lifted(limit: FloatArray, user: FloatArray, lift: float) -> FloatArray:
    """Interpolate the stiffness from the limit to the user's value.

    Args:
        limit: (n_joints,) in [0, 1]; values above the user's are kept.
        user: (n_joints,) in [0, 1].
        lift: lift in [0, 1].
    """
    return limit + lift * np.maximum(user - limit, 0.0)
