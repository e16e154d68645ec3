"""Load that lasts longer than a catch: limits stay raised and are lowered by trial.

A leaning hand, a payload and a slope look the same to the robot's sensors. Under such a
load, joints give more torque than their limits allow, so restoring the limits would
cause a fall. The load lasts while

    |c - c_0| > `load_m`    or    |τ_i| / τ_max,i > limit_i + `margin` for a joint i,

c_0 being the mean centre of pressure before the alarm, c the present one and τ_i the
motor torque. The limits stay raised during the load: a limit above the torque of a
resting joint changes neither the torque nor its heat.

Sensors cannot distinguish a permanent load from a patient hand, so the guard tries.
After `try_s` it lowers the limits within `lower_s`. If the robot stays still
throughout, the load is accepted as the new normal; c may also return to c_0, as it does
after an arm pressed on a table. If the robot turns, or c moves on by `load_m`, the
limits are raised within a cycle, and the wait for the next try doubles, up to
`MAX_WAIT_S`.
"""

from enum import Enum, auto
from math import exp

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.guard.thresholds import GuardCfg
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

EFFORT_S = 0.1
"""Time constant of the mean torque, in s: five cycles, less than a tenth of a swing."""
LONGEST_CYCLE_S = 0.1
"""Longest time in s by which one step lowers the limits: during a jump in time the
robot was not observed."""
MAX_WAIT_S = 300.0
"""Longest time between two tries, in s."""


class Phase(Enum):
    """State of the load that raised an alarm."""

    ABSENT = auto()
    """No load: without an alarm, or the load was removed."""
    LASTING = auto()
    TRYING = auto()
    """Limits are being lowered under the load."""
    ACCEPTED = auto()
    """The robot stayed still while limits were lowered; lasts one step."""


class LastingLoad:
    """Monitor of torques (always) and of a load (after `begin`); `step` each cycle."""

    def __init__(self, robot: Robot, cfg: GuardCfg) -> None:
        self._cfg = cfg
        constants = [motor.one_node.torque_constant for motor in robot.motors]
        torque_per_amp = robot.servo_torques[robot.servo_of_joint] * constants
        self._share_per_amp: FloatArray = (
            torque_per_amp / robot.effort_limit[:, np.newaxis]
        )
        """(n_joints, n_motors) τ_i / τ_max,i for 1 A."""
        self._share: FloatArray | None = None
        self.end()

    def end(self) -> None:
        """Clear the load."""
        self.phase = Phase.ABSENT
        self.lift = 1.0
        """Lift of the limits during a try."""
        self._cop_before: FloatArray | None = None
        self._off_at_try = 0.0
        self._needs_try = False
        self._tried_at = 0.0
        self._wait_s = self._cfg.try_s

    def begin(self, cop_before: FloatArray, now: float) -> None:
        """Record an alarm; the first one gives c without the load.

        Args:
            cop_before: (2,) mean centre of pressure in m.
            now: present time in s.
        """
        if self._cop_before is None:
            self._cop_before = cop_before
        self._tried_at = now
        if self.phase is Phase.TRYING:
            self._give_up(now)

    @property
    def is_lasting(self) -> bool:
        """Return True if the robot bears a load that has not been accepted."""
        return self.phase in {Phase.LASTING, Phase.TRYING}

    def watch_effort(self, observation: Observation, dt: float) -> None:
        """Filter |τ_i| / τ_max,i; a non-finite current counts as zero."""
        amps = np.where(np.isfinite(observation.current), observation.current, 0.0)
        share = np.abs(self._share_per_amp @ amps)
        if self._share is None:
            self._share = share
        gain = 1.0 - exp(-dt / EFFORT_S)
        self._share = self._share + gain * (share - self._share)

    def step(
        self,
        cop: FloatArray,
        limit: FloatArray,
        now: float,
        dt: float,
        *,
        is_still: bool,
        is_returning: bool,
    ) -> Phase:
        """Return the state of the load, once the hold after the alarm is over.

        Args:
            cop: (2,) present centre of pressure in m.
            limit: (n_joints,) unguarded stiffness limits, in [0, 1].
            now: present time in s.
            dt: since the last step, in s.
            is_still: the robot does not turn.
            is_returning: limits are already being lowered; torques are ignored, since
                set-points return with them.
        """
        cfg = self._cfg
        if self._cop_before is None:
            return self.phase
        off = float(np.hypot(*(cop - self._cop_before)))
        if self.phase is Phase.TRYING:
            if not is_still or off > self._off_at_try + cfg.load_m:
                self._give_up(now)
            else:
                self.lift -= min(dt, LONGEST_CYCLE_S) / cfg.lower_s
                if self.lift <= 0.0:
                    self.end()
                    self.phase, self.lift = Phase.ACCEPTED, 0.0
            return self.phase
        is_loaded = off > cfg.load_m
        if is_returning:  # the robot yields: lower the limits only in a try
            self._needs_try |= is_loaded
        elif self._share is not None:
            is_loaded |= bool((self._share > limit + cfg.margin).any())
        is_loaded |= self._needs_try
        self.phase = Phase.LASTING if is_loaded else Phase.ABSENT
        if is_loaded and now - self._tried_at >= self._wait_s and is_still:
            self.phase, self._off_at_try = Phase.TRYING, off
        return self.phase

    def _give_up(self, now: float) -> None:
        """Lift the limits again; wait twice as long for the next try."""
        self.phase, self.lift = Phase.LASTING, 1.0
        self._tried_at = now
        self._wait_s = min(2.0 * self._wait_s, MAX_WAIT_S)
