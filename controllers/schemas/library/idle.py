"""Idle movements: blinking and breathing.

`blink` is a light pattern, independent of other behaviours.

`breathe` moves arms or legs to and fro slightly while the limbs are free. Like the idle
movement of the NAO it has two numbers, breaths per minute and amplitude [nao-doc,
ALMotion setBreathConfig]. The set-points swing about those in force at the start, and
the swing grows from zero over one breath, so that no joint jumps:

    y(t) = y0 + a Δ (1 - cos 2π f t) / 2,      a from 0 to the amplitude in 1 / f.

In one breath the joints move by up to Δ, the robot's role `breathing_deg`: the arms
open, or hips and ankles roll as far as possible without lifting a sole.
"""

from dataclasses import dataclass
from math import cos, pi, radians
from typing import Literal

from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import Parameters, SchemaInfo, bounded
from nao_testbed.controllers.schemas.library.common import (
    is_due,
    leaves_under,
    resources_of_joints,
)
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import Robot


@dataclass(frozen=True, kw_only=True)
class BlinkParameters(Parameters):
    """Light pattern and its times."""

    light: str = "blink"
    """Name of a light pattern of the library."""
    every_s: float = bounded(4.0, 0.1, 3600.0, "s")
    """Mean interval in s: people blink 15 to 20 times a minute."""
    spread: float = bounded(0.5, 0.0, 0.95)
    """Maximum deviation of an interval as a share of the mean; 0: regular."""
    count: int = bounded(0, 0, 1_000_000)
    """Number of blinks before it finishes; 0: unlimited."""


class Blink(ActuationSchema[BlinkParameters]):
    """Light pattern at random times; equal seeds give equal times."""

    info = SchemaInfo(
        "blink",
        "Show a light pattern at random intervals.",
        period_s=0.05,
        parameters=BlinkParameters,
    )
    _count = 0

    @classmethod
    def needs_of(cls, parameters: BlinkParameters, robot: Robot) -> tuple[str, ...]:
        """Return the lights of the pattern."""
        return leaves_under(robot, robot.library.light(parameters.light).leds)

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: BlinkParameters, robot: Robot
    ) -> None:
        """Raise for an unknown light pattern."""
        del activation
        robot.library.light(parameters.light)

    def start(self) -> None:
        """Draw the time of the first blink."""
        self._draw()

    def iterate(self) -> None:
        """Blink if it is due."""
        if not is_due(self.time_s, self._next_s):
            return
        self.light(self.parameters.light)
        self._count += 1
        if 0 < self.parameters.count <= self._count:
            self._count = 0
            self.finish()
            return
        self._draw()

    def _draw(self) -> None:
        now = self.parameters
        spread = now.spread * (2.0 * self.random.random() - 1.0)
        self._next_s = self.time_s + now.every_s * (1.0 + spread)


@dataclass(frozen=True, kw_only=True)
class BreatheParameters(Parameters):
    """Rate, amplitude and limbs."""

    breaths_per_minute: float = bounded(12.0, 5.0, 30.0)
    """Breaths per minute, 5 to 30."""
    amplitude: float = bounded(1.0, 0.0, 1.0)
    """Amplitude, 0 to 1; a change takes one breath."""
    limbs: Literal["arms", "legs", "arms and legs"] = "arms"
    """Limbs that move."""


class Breathe(ActuationSchema[BreatheParameters]):
    """Swing of joints, commanded directly through the gate."""

    info = SchemaInfo(
        "breathe",
        "Swing arms or legs slightly, as in breathing.",
        period_s=0.02,
        parameters=BreatheParameters,
    )

    @classmethod
    def needs_of(cls, parameters: BreatheParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources of the moving joints that the robot has."""
        return resources_of_joints(robot, _swings(parameters, robot))

    def start(self) -> None:
        """Use the present set-points as the centre."""
        robot, target = self.robot, self.observation.target
        swings = _swings(self.parameters, robot)
        self._middle: dict[str, tuple[float, float, float, float]] = {}
        for joint, swing in swings.items():
            j = robot.joint_index(joint)
            low, high = float(robot.lower[j]), float(robot.upper[j])
            self._middle[joint] = (float(target[j]), radians(swing), low, high)
        self._phase = 0.0
        self._amplitude = 0.0

    def iterate(self) -> None:
        """Advance by one period."""
        now = self.parameters
        frequency = now.breaths_per_minute / 60.0
        step = self.period_s * frequency
        self._phase = (self._phase + step) % 1.0
        left = now.amplitude - self._amplitude
        self._amplitude += min(max(left, -step), step)
        depth = self._amplitude * (1.0 - cos(2.0 * pi * self._phase)) / 2.0
        self.submit_all(
            {
                joint: min(max(middle + depth * swing, low), high)
                for joint, (middle, swing, low, high) in self._middle.items()
            }
        )


def _swings(parameters: BreatheParameters, robot: Robot) -> dict[str, float]:
    """Return joint to swing in degrees, for the joints that this robot has."""
    swings: dict[str, float] = {}
    for limbs, angles in robot.roles.breathing_deg.items():
        if limbs in parameters.limbs:
            swings |= angles
    feature = f"schema 'breathe' with limbs {parameters.limbs!r}"
    robot.need_role(swings, "breathing_deg", feature)
    absent = robot.absent_joints
    return {joint: swing for joint, swing in swings.items() if joint not in absent}
