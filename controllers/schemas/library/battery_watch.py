"""Estimates what is left in the battery from the currents of the motors.

No sensor of the robot interface reads the battery. What is taken from it is summed up,

    P = P0 + Σ max(0, R i² + i K ω) / η,      charge = 1 - ∫ P dt / E,

with R and K (joint side) of each motor [xu2012], ω the speed of its joint, E the
capacity; what a motor gives back while it is driven from outside does not count.
**An estimate**: P0 and η are no data of the robot, and neither age nor temperature of
the cells is known.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.ranges import check_between
from controllers.schemas.schema import PerceptiveSchema
from controllers.schemas.variables import Variable


@dataclass(frozen=True, kw_only=True)
class BatteryWatchParameters:
    """How full it is, and what is taken beside the motors."""

    charge: float = 1.0
    """When the watch begins, in [0, 1]."""
    idle_watts: float = 25.0
    """Taken by computers, sensors and lights, in W; an estimate."""
    efficiency: float = 0.85
    """Of the motors' drives, in (0, 1]; an estimate."""
    low_from: float = 0.2
    """Charge from which it is low, in [0, 1]."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("charge", self.charge, 0.0, 1.0)
        check_between("idle_watts", self.idle_watts, 0.0, 1000.0, "W")
        check_between("efficiency", self.efficiency, 0.01, 1.0)
        check_between("low_from", self.low_from, 0.0, 1.0)


class BatteryWatch(PerceptiveSchema[BatteryWatchParameters]):
    """Sums up energy while it is awake."""

    info = SchemaInfo(
        name="battery watch",
        about="Estimates the charge of the battery from motor currents.",
        period_s=0.1,
        parameters=BatteryWatchParameters,
        outputs=(
            Variable(
                name="charge", type=float, about="Estimate, in [0, 1].", initial=1.0
            ),
            Variable(
                name="power_watts",
                type=float,
                unit="W",
                about="Estimate of the mean of the last ten seconds.",
                initial=0.0,
            ),
            Variable(
                name="time_left_s",
                type=float,
                unit="s",
                about="Until it is empty, at that power.",
                initial=inf,
            ),
            Variable(
                name="is_low", type=bool, about="Whether little is left.", initial=False
            ),
        ),
    )
    MEAN_S = 10.0

    def start(self) -> None:
        """Begin with the charge of the parameters."""
        motors = self.robot.motors
        self._lead = np.array([self.robot.joint_index(m.joints[0]) for m in motors])
        self._constant = np.array([motor.one_node.torque_constant for motor in motors])
        self._resistance = np.array([motor.one_node.resistance for motor in motors])
        self._charge = self.parameters.charge
        self._mean: float | None = None

    def perceive(self) -> None:
        """Add what was taken since the last time."""
        now, seen = self.parameters, self.observation
        current, speed = seen.current, seen.v[self._lead]
        motors = self._resistance * current**2 + self._constant * current * speed
        power = now.idle_watts + float(np.maximum(motors, 0.0).sum()) / now.efficiency
        if self._mean is None:
            self._mean = power
        self._mean += (power - self._mean) * min(1.0, self.period_s / self.MEAN_S)
        capacity = 3600.0 * self.robot.battery.capacity_watt_hour  # J
        self._charge = max(0.0, self._charge - power * self.period_s / capacity)
        left_s = self._charge * capacity / self._mean if self._mean > 0.0 else inf
        self.write("charge", self._charge)
        self.write("power_watts", self._mean)
        self.write("time_left_s", left_s)
        self.write("is_low", self._charge <= now.low_from)
