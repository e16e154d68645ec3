"""Idle movements: blinks now and then, breathes as long as nobody wants the limbs.

`blink` is a light of its own, independent of all else.

`breathe` lets arms or legs go to and fro a little. As the idle movement of the NAO it
has two numbers, breaths a minute and amplitude [nao-doc, ALMotion setBreathConfig]. The
set-points swing about those in force at the start, and the swing grows from nothing
over one breath, so that no joint jumps:

    y(t) = y0 + a Δ (1 - cos 2π f t) / 2,      a from 0 to the amplitude in 1 / f.

In one breath the arms open by up to `ARMS_DEG`, or the weight shifts by as much as hips
and ankles can roll without lifting a sole (`LEGS_DEG`).
"""

from dataclasses import dataclass
from math import cos, pi, radians
from typing import Literal

from nao_testbed.controllers.schemas.declaration import Parameters, SchemaInfo, bounded
from nao_testbed.controllers.schemas.library.common import (
    is_due,
    leaves_under,
    resources_of_joints,
)
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import Robot


@dataclass(frozen=True, kw_only=True)
class BlinkParameters(Parameters):
    """What is shown, and how often."""

    light: str = "blink"
    """Name of a light pattern of the library."""
    every_s: float = bounded(4.0, 0.1, 3600.0, "s")
    """Mean time from one to the next, in s: people blink 15 to 20 times a minute."""
    spread: float = bounded(0.5, 0.0, 0.95)
    """Largest share of that time by which it comes earlier or later; 0 is regular."""
    count: int = bounded(0, 0, 1_000_000)
    """How often before it finishes; 0 never."""


class Blink(ActuationSchema[BlinkParameters]):
    """Shows a light pattern at irregular times, the same ones in each run of a seed."""

    info = SchemaInfo(
        "blink",
        "Shows a light pattern now and then.",
        period_s=0.05,
        parameters=BlinkParameters,
    )
    _count = 0

    @classmethod
    def needs_of(cls, parameters: BlinkParameters, robot: Robot) -> tuple[str, ...]:
        """Return the lights of the pattern."""
        return leaves_under(robot, robot.library.light(parameters.light).leds)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: BlinkParameters, robot: Robot
    ) -> None:
        """Refuse a light pattern that there is not."""
        del waking
        robot.library.light(parameters.light)

    def start(self) -> None:
        """Blink soon."""
        self._draw()

    def iterate(self) -> None:
        """Blink if it is time."""
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


ARMS_DEG = {
    "LShoulderPitch": -4.0,
    "RShoulderPitch": -4.0,
    "LShoulderRoll": 4.0,
    "RShoulderRoll": -4.0,
    "LElbowRoll": -4.0,
    "RElbowRoll": 4.0,
}
LEGS_DEG = {"LHipRoll": -2.0, "RHipRoll": -2.0, "LAnkleRoll": 2.0, "RAnkleRoll": 2.0}


@dataclass(frozen=True, kw_only=True)
class BreatheParameters(Parameters):
    """How quickly, how deeply, and with what."""

    breaths_per_minute: float = bounded(12.0, 5.0, 30.0)
    """5 to 30."""
    amplitude: float = bounded(1.0, 0.0, 1.0)
    """0 to 1; a change takes one breath."""
    limbs: Literal["arms", "legs", "arms and legs"] = "arms"
    """What moves."""


class Breathe(ActuationSchema[BreatheParameters]):
    """Swings its joints, written directly through the gate."""

    info = SchemaInfo(
        "breathe",
        "Lets arms or legs go to and fro a little.",
        period_s=0.02,
        parameters=BreatheParameters,
    )

    @classmethod
    def needs_of(cls, parameters: BreatheParameters, robot: Robot) -> tuple[str, ...]:
        """Return the limbs that move, as far as the robot has them."""
        return resources_of_joints(robot, _swings(parameters, robot))

    def start(self) -> None:
        """Take the present set-points as the middle."""
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
        """Go on by one period."""
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
    """Return joint to swing in degrees, of the joints that this robot has."""
    swings: dict[str, float] = {}
    if "arms" in parameters.limbs:
        swings |= ARMS_DEG
    if "legs" in parameters.limbs:
        swings |= LEGS_DEG
    absent = robot.absent_joints
    return {
        joint: swing
        for joint, swing in swings.items()
        if joint in robot.joint_names and joint not in absent
    }
