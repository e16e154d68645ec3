"""Lower the torque limit of an ankle as its motor gets hot."""

import numpy as np

from nao_testbed import BadInput, Limits, Observation, Robot
from nao_testbed.controllers.interface.panel import (
    Line,
    Panel,
    Plot,
    Row,
    Setting,
    SettingValue,
)

ANKLES = ("LAnklePitch", "LAnkleRoll", "RAnklePitch", "RAnkleRoll")
WARM_DEGC = 40.0
"""Temperature in °C up to which an ankle may use its full torque."""
HOT_DEGC = 50.0
"""Temperature in °C from which an ankle has its minimum limit."""
LEAST = 0.3
"""Minimum limit; at 0.2, a NAO with an ankle 2 degrees off falls after a push of 5
N."""
CHANGE_PER_S = 0.5
"""Largest rate of change of the limit, in 1/s: a step would make the robot jerk."""


class CoolAnkles:
    """Stiffness 1, except for ankles, whose stiffness falls with temperature."""

    name = "cool_ankles"

    def __init__(self, least: float = LEAST) -> None:
        """Set the stiffness of a hot ankle, from 0 to 1."""
        if not 0.0 <= least <= 1.0:
            raise BadInput(f"least stiffness is {least}; give a number from 0 to 1.")
        self._least = least

    def reset(self, robot: Robot) -> None:
        """Find the ankles of the robot and clear the state."""
        self._ankles = [robot.joint_index(name) for name in ANKLES]
        self._motors = robot.servo_of_joint[self._ankles]
        self._stiffness = np.ones(len(robot.joints))
        self._degc = np.full(len(ANKLES), np.nan)
        self._time_s: float | None = None

    def step(self, observation: Observation) -> Limits:
        """Return the limits for the next 20 ms."""
        before = self._time_s
        passed_s = 0.0 if before is None else observation.time_s - before
        self._time_s = observation.time_s
        self._degc = observation.temperature[self._motors]
        goal = np.interp(
            self._degc,
            [WARM_DEGC, HOT_DEGC],
            [1.0, self._least],
        )
        most = CHANGE_PER_S * passed_s
        now = self._stiffness[self._ankles]
        self._stiffness[self._ankles] = now + np.clip(goal - now, -most, most)
        return Limits(stiffness=self._stiffness.copy())

    def panel(self) -> Panel:
        """Return the panel for the page of `nao-testbed live`; optional."""
        stiffness = self._stiffness[self._ankles]
        return Panel(
            columns=("°C", "stiffness"),
            rows=tuple(
                Row(name=name, values=(round(float(degc), 1), round(float(s), 2)))
                for name, degc, s in zip(ANKLES, self._degc, stiffness, strict=True)
            ),
            settings=(Setting(name="least", value=self._least, low=0.0, high=1.0),),
            plot=Plot(
                title="Stiffness of the ankles",
                lines=tuple(
                    Line(name=name, value=float(s))
                    for name, s in zip(ANKLES, stiffness, strict=True)
                ),
            ),
        )

    def change_setting(self, name: str, value: SettingValue) -> None:
        """Apply a setting that a person changed; the panel has checked it."""
        assert name == "least"
        self._least = float(value)


def make_controller(argument: str | None) -> CoolAnkles:
    """Create the controller for `cool_ankles` or, for example, `cool_ankles:0.4`."""
    if argument is None:
        return CoolAnkles()
    try:
        least = float(argument)
    except ValueError:
        raise BadInput(
            f"cool_ankles:{argument} has no number; give the stiffness that a hot "
            "ankle is left, as in cool_ankles:0.4."
        ) from None
    return CoolAnkles(least)
