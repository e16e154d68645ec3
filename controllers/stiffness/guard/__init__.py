"""The guard: a torque limit gives way at once when the robot is pushed.

A limit that leaves a joint what equilibrium needs, and an offset, leaves too little to
catch a push. The guard watches two numbers that a push changes within a cycle or two of
20 ms, long before a fall (0.5 s and more):

    u_ω = |ω| / (ω_0 + κ m),      u_c = min(1, F / W) |c - c̄| / c_0.

ω is the gyroscope's reading and m the speed of the fastest set-point: arms that swing
turn the body by a small share κ of it. c = Σ f_k p_k / Σ f_k is the centre of pressure
of the force sensors, at p_k from between the feet at joint angles 0, and c̄ its slow
mean, which follows slopes and shifts. A robot that leans on the edges of its soles,
where no sensor is, may have c anywhere: it counts as far as F = Σ f_k is the weight W,
and not at all while set-points move or the soles carry next to nothing.

The alarm is raised where u = max(u_ω, u_c) > 1. Then every joint may use what the user
allows, for `hold_s` since u was last above 1, and within `release_s` the limit returns,

    stiffness = limit + lift · max(user - limit, 0),      lift: 1 -> 0.

**A load that lasts.** A hand that leans, or a payload put on, makes no alarm for long:
c̄ follows it. Yet joints then need more torque than their limits. Such a load is noticed
by its torques and by where c was before the alarm, and limits stay lifted until it has
gone, or until lowering them does not move the robot (`LastingLoad`).

**Motions of the legs.** The limit is that of a robot at rest. While set-points of the
legs move it gives way likewise, without an alarm: a robot that stands up rocks by
1 rad/s, which neither sensor can tell from a push.

**Set-points give way too.** Under a limit, joints of a misaligned robot stay short of
their set-points by e = q* - q. Without the limit they would leap there, which adds to
the push. So set-points go where the limited torque holds, and stay there meanwhile,

    s = lift · (clip(ē, ± stiffness · τ_max / k_p) - ē),      |s| <= `bound_rad`,

ē being the mean of e before the alarm. A joint within its limit has none of it.

**The ankles lean against a push.** A robot that tips turns with ω about its soles. Its
centre of mass, at the height h, moves at ċ = ω x h and comes to rest only over the
capture point c + ċ √(h / g) [pratt2006]. Each ankle joint, with the axis a_i, leans the
body back by a share of that:

    s_i += k ω · a_i √(h / g),      i the last two joints of a leg,

k going from `lean_share` to 0 in `lean_s` after the alarm: a lasting feedback with two
cycles of delay would rock the robot from edge to edge of its soles. A robot whose legs
move is shifted by neither.

**No alarm by the guard itself, or by settling.** A robot that is let down yields a
little. Until the limit is back, and `release_s` longer, u has to be above
`release_factor`. So it has for as long after the start, when nothing has held the
robot, and until it has settled: u below CALM for `settle_s`. Put down, some robots
rattle for seconds on three corners of their soles. And while set-points are shifted ω_0
is SHIFT_FACTOR times as large: a shift that spares heat rolls some robots onto another
corner, at 0.105 rad/s, while c stays on the edge between.

**Thresholds.** White noise alone crosses n times its standard deviation, in a year of
cycles, only where n is below 7; `GuardCfg` has twenty and sixty of them, since floors
shake and soles rattle, and it costs a cycle. A guard that the noise of a robot's own
sensors would wake more often than once an hour (`alarms_per_hour`) is refused. Motors
at their limit (under a limit some always are) and feet without a load (0.1 s later
than the centre of pressure, if at all) tell less.
"""

from math import exp

import numpy as np

from nao_testbed.controllers.interface.checked import Fraction, check_value
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
from nao_testbed.models.values import FloatArray

MOST_ALARMS_PER_HOUR = 1.0
"""Above it, noise alone would keep a robot from being spared."""
MOTION_MEAN_S = 0.2
"""Time constant of the mean of set-points: two steps of a controller that shifts them
ten times a second."""
LEAST_ON_FEET = 0.3
"""Share of the weight from which there is a centre of pressure."""
CALM = 0.5
"""u of a robot that stands is below it."""
SLOW_RAD_S = 0.1 * DEGREE
"""Speed of a set-point from which it is shifted: a sixth of a shift's most."""
SHIFT_FACTOR = 1.3
"""On ω_0 meanwhile: a robot that rolled was above it by 5 %."""


class Guard:
    """Watches one robot; `step` once a cycle, then read `lift` and `shift`."""

    def __init__(self, robot: Robot, cfg: GuardCfg) -> None:
        """Prepare for `robot`, of which nothing is known yet.

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
        if alarms > MOST_ALARMS_PER_HOUR:
            raise BadInput(
                f"gyro_rad_s = {cfg.gyro_rad_s} rad/s and cop_m = {cfg.cop_m} m: the "
                f"noise of {robot.name!r}'s sensors alone would raise the alarm "
                f"{alarms:.3g} times an hour; give larger ones."
            )
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.lift = 0.0
        """How far the limit gives way: 0 not at all, 1 to the user's stiffness."""
        self.alarms = 0
        """How often it began to for a push, since `reset`."""
        self.disturbance = 0.0
        """u of the last step: 1 is the threshold."""
        self._time: float | None = None
        self._begun_at = self._held_until = self._alarm_at = -np.inf
        self._restless_at = -np.inf
        self._has_settled = False
        self._moved_at = self._legs_moved_at = -np.inf
        self._slow: FloatArray | None = None
        self._cop = self._mean = np.zeros(2)
        self._cycles_at_rest = 0
        self._error: FloatArray | None = None
        self._sag: FloatArray = np.zeros(len(self._reach))
        self._given: FloatArray | None = None
        self._load.end()

    @property
    def shift(self) -> FloatArray | None:
        """(n_joints,) of the set-points, in rad; None where nobody was pushed."""
        return None if self._given is None else self._given.copy()

    @property
    def is_catching(self) -> bool:
        """Whether the limit gives way, wholly or in part."""
        return self.lift > 0.0

    def step(self, observation: Observation, limit: FloatArray) -> float:
        """Return `lift`.

        Args:
            observation: the newest sensor values, all finite but for the currents.
            limit: (n_joints,) stiffness that joints would have unguarded.
        """
        cfg, now, omega = self.cfg, observation.time_s, observation.gyro
        if self._time is None:
            self._time = now
            self._begun_at = self._restless_at = now
            self._held_until = now - cfg.release_s
        dt = max(0.0, now - self._time)
        self._time = now
        target = observation.target
        if self._given is not None:
            target = target - self._given
        speed = self._watch_motion(target, dt)
        is_shifted = SLOW_RAD_S < speed <= cfg.motion_rad_s
        tolerated = cfg.gyro_rad_s * (SHIFT_FACTOR if is_shifted else 1.0)
        tolerated += cfg.motion_share * speed
        u_gyro = float(np.sqrt(omega @ omega)) / tolerated
        mean_before = self._mean
        u_cop = self._pressure(observation, dt) / cfg.cop_m
        self.disturbance = u = max(u_gyro, u_cop)
        self._watch_settling(u)
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
        self._bear(limit, dt, is_still=u_gyro <= CALM)
        if self.lift == 0.0:
            self._watch_error(target - observation.q, dt)
        self._move_set_points(omega)
        return self.lift

    def _bear(self, limit: FloatArray, dt: float, *, is_still: bool) -> None:
        """Find the lift: 1 while a push is caught or its load lasts, then less."""
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
                if was is Phase.TRYING:  # it yields
                    self._alarm_at = now
            case Phase.TRYING:
                self.lift = load.lift
            case Phase.ACCEPTED:
                self.lift, self._held_until = 0.0, now - cfg.release_s
            case _:
                self.lift = max(0.0, 1.0 - max(0.0, since) / cfg.release_s)

    def _watch_settling(self, u: float) -> None:
        """Note whether the robot has been calm for long enough since the start."""
        if self._has_settled:
            return
        cfg, now = self.cfg, self._time or 0.0
        if u > CALM:
            self._restless_at = now
        self._has_settled = (
            now - self._restless_at > cfg.settle_s
            or now - self._begun_at > cfg.settle_by_s
        )

    def _threshold(self, since: float) -> float:
        """Return what u has to be above, so long after the limit gave way."""
        cfg = self.cfg
        since = min(since, (self._time or 0.0) - self._begun_at)
        is_high = since <= 2.0 * cfg.release_s or not self._has_settled
        return cfg.release_factor if is_high else 1.0

    def _hold(self, duration_s: float) -> None:
        """Let the limit give way for so long from now, or longer."""
        self._held_until = max(self._held_until, (self._time or 0.0) + duration_s)

    def _watch_motion(self, target: FloatArray, dt: float) -> float:
        """Note when set-points move; return m in rad/s.

        A set-point that moves runs ahead of its mean by speed times time constant.
        """
        now = self._time or 0.0
        if self._slow is None or now - self._begun_at < MOTION_MEAN_S:
            self._slow = target  # whose set-points these were is not known
        ahead = target - self._slow
        self._slow = self._slow + (1.0 - exp(-dt / MOTION_MEAN_S)) * ahead
        speed = np.abs(ahead) / MOTION_MEAN_S
        fastest = float(speed.max(initial=0.0))
        if fastest > self.cfg.motion_rad_s:
            self._moved_at = now
            if speed.max(initial=0.0, where=self._is_leg) > self.cfg.legs_rad_s:
                self._legs_moved_at = now
        return fastest

    def _pressure(self, observation: Observation, dt: float) -> float:
        """Return min(1, F / W) |c - c̄| in m.

        A mean that begins is that of all cycles since.
        """
        cfg, load, now = self.cfg, observation.fsr.sum(), observation.time_s
        borne = load / self._weight
        if borne < LEAST_ON_FEET or now == self._moved_at:
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

    def _watch_error(self, error: FloatArray, dt: float) -> None:
        """Follow ē, (n_joints,) in rad, while nobody is caught."""
        if self._error is None:
            self._error = error
        gain = 1.0 - exp(-dt / self.cfg.sag_s)
        self._error = self._error + gain * (error - self._error)

    def _find_sag(self, observation: Observation) -> None:
        """Find where joints at their limit stay, from the errors before the alarm."""
        if self._error is not None:
            reach, bound = observation.stiffness * self._reach, self.cfg.bound_rad
            sag = np.clip(self._error, -reach, reach) - self._error
            self._sag = np.clip(sag, -bound, bound)

    def _move_set_points(self, omega: FloatArray) -> None:
        """Find s; none where legs move or nobody was pushed."""
        cfg, now = self.cfg, self._time or 0.0
        if now - self._legs_moved_at <= cfg.motion_s:
            self._alarm_at = -np.inf
            self._load.end()
        if self.lift == 0.0 or self._alarm_at == -np.inf:
            self._given = None
            return
        shift = self.lift * self._sag
        k = 1.0 - (now - self._alarm_at) / cfg.lean_s if cfg.lean_s else 0.0
        k *= cfg.lean_share
        if k > 0.0:
            shift = shift + self._lean @ (k * omega)
        self._given = np.clip(shift, -cfg.bound_rad, cfg.bound_rad)


class Guarded(ControllerWrapper):
    """Any controller under a guard: its limits give way when the robot is pushed.

    `smart` and `minheat` have a guard of their own, which knows the user's stiffness;
    this one lets every limit go to `most`.
    """

    def __init__(
        self, controller: Controller, cfg: GuardCfg | None = None, most: float = 1.0
    ) -> None:
        """Wrap a controller.

        Args:
            controller: whose limits.
            cfg: when they give way.
            most: the stiffness to which they do, in [0, 1].
        """
        check_value("most", most, Fraction)
        super().__init__(controller)
        self._cfg = cfg or GuardCfg()
        self._most = most
        self._guard: Guard | None = None

    @property
    def guard(self) -> Guard | None:
        """Who watches; None before `reset`."""
        return self._guard

    def reset(self, robot: Robot) -> None:
        """Prepare both."""
        super().reset(robot)
        self._guard = Guard(robot, self._cfg)

    def step(self, observation: Observation) -> Limits:
        """Return the limits and shifts, those of the guard on top.

        Raises:
            SensorError: a sensor value is not finite.
            BadInput: `reset` was not called.
        """
        guard = require_reset(self._guard)
        decided = super().step(observation)
        require_finite(observation, ("q", "gyro", "fsr", "stiffness"))
        if guard.step(observation, decided.stiffness) == 0.0:
            return decided
        most = np.full_like(decided.stiffness, self._most)
        shift = guard.shift
        if shift is not None and decided.shift is not None:
            shift = decided.shift + shift
        return Limits(
            stiffness=lifted(decided.stiffness, most, guard.lift),
            shift=shift,
            is_urgent=True,
        )


def lifted(limit: FloatArray, user: FloatArray, lift: float) -> FloatArray:
    """Return the stiffness on its way from the limit to what the user allows.

    Args:
        limit: (n_joints,) in [0, 1]; where it is above the user's it stays.
        user: (n_joints,) in [0, 1].
        lift: in [0, 1].
    """
    return limit + lift * np.maximum(user - limit, 0.0)
