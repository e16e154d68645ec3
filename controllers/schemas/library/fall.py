"""Sees that the robot falls while there is time to do something, and protects it.

It falls when its capture point is outside its soles by more than a distance, twice in
a row (`balance`). Simulated, with 135 pushes of 4 to 60 N for 0.2 s in five directions
from Stand, StandInit and Crouch: all 57 falls were seen, 0.22 s or more (median 0.39 s)
before anything but a sole touched the ground, and none was seen where it stayed up.
Only a robot on its feet can fall: lying or sitting it is watched no more. On the way
from one posture to another it is in no state, and watched as it was before, with more
room: sitting down ends with a drop of its own.

`protect from fall`: arms and head first, then no force at all. The NAO's own fall
manager brings arms and pelvis into a configuration that depends on the side to which it
falls, then switches the stiffness off [nao-doc, fall manager]. Simulated, 14 falls from
Stand and StandInit to all sides, mean of the largest force on the head: 2439 N if
nothing is done, 1129 N limp at once, 840 N with arms for 0.25 s and then limp, 404 N
with arms and bent legs, 396 N with arms alone. (Rigid bodies: only the order counts.)
So arms and head go to the side of the fall at full force, the legs stay, and the
stiffness goes when the robot lies. Bending the legs gained nothing here.

It needs `fall watch` beside it or above it, and whatever holds motors and stiffness has
to give way: a priority above theirs, with preemption by priority. Under `choose` with
`highest_order` it takes over in the slot in which the watch sees the fall.
"""

from dataclasses import dataclass
from math import degrees

from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
)
from nao_testbed.controllers.schemas.library.balance import Balance
from nao_testbed.controllers.schemas.library.common import is_due, resources_of_all
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.models import Robot
from nao_testbed.models.resources import DeviceKind, ResourceNode


@dataclass(frozen=True, kw_only=True)
class FallWatchParameters(Parameters):
    """When it is a fall, and when it is over."""

    beyond_m: float = bounded(0.03, 0.0, 1.0, "m")
    """Distance of the capture point outside the soles from which it is a fall, in m."""
    beyond_on_the_way_m: float = bounded(0.05, 0.0, 1.0, "m")
    """The same while the robot is on its way from one posture to another, in m: it
    drops on its buttocks when it sits down."""
    carried: float = bounded(0.5, 0.0, 1.0)
    """Share of the weight that the soles carry at least when it falls, in [0, 1]: less
    is carried by somebody, or by another part of the body. In falls it was 0.63."""
    confirm: int = bounded(2, 1, 100)
    """Observations in a row that have to show it."""
    calm_s: float = bounded(1.0, 0.0, 60.0, "s")
    """Time at rest after which the fall is over, in s."""
    calm_deg_s: float = bounded(20.0, 0.0, 500.0, "degrees/s")
    """Speed of turning below which the robot is at rest, in degrees/s."""
    states: tuple[str, ...] = ("Stand", "Crouch")
    """States in which it is on its feet."""
    group: str = "State"
    """The set of these states."""


class FallWatch(PerceptiveSchema[FallWatchParameters]):
    """Says whether the robot falls, and to which side."""

    info = SchemaInfo(
        "fall watch",
        "Sees that the robot falls before it touches the ground.",
        period_s=0.01,
        parameters=FallWatchParameters,
        outputs=(
            Variable(
                "is_falling",
                bool,
                "From the first sign of a fall until the robot is at rest.",
                initial=False,
            ),
            Variable(
                "heading_rad",
                float,
                "Side to which it falls: 0 ahead, left positive.",
                unit="rad",
                initial=0.0,
            ),
            Variable(
                "margin_m",
                float,
                "Of the capture point in the soles; negative outside.",
                unit="m",
                initial=0.0,
            ),
        ),
    )

    def start(self) -> None:
        """Begin without a fall."""
        self._balance = Balance(self.robot)
        self._weight = self.robot.total_mass * GRAVITY
        self._is_on_feet = False
        self._is_falling = False
        self._signs = 0
        self._restless_s = self.time_s
        self.write("is_falling", False)

    def perceive(self) -> None:
        """Look at the newest observation."""
        now = self.parameters
        seen = self._balance.step(self.observation)
        self.write("margin_m", seen.capture_margin)
        state = self.active_state(now.group)
        if state is not None:
            self._is_on_feet = state in now.states
        if degrees(seen.tilt_rate) > now.calm_deg_s:
            self._restless_s = self.time_s
        if self._is_falling:
            if is_due(self.time_s - self._restless_s, now.calm_s):
                self._is_falling = False
                self._is_on_feet = state in now.states
                self._signs = 0
                self.write("is_falling", False)
            return
        beyond = now.beyond_on_the_way_m if state is None else now.beyond_m
        is_sign = (
            self._is_on_feet
            and seen.capture_margin < -beyond
            and seen.load_newton >= now.carried * self._weight
        )
        self._signs = self._signs + 1 if is_sign else 0
        if self._signs >= now.confirm:
            self._is_falling = True
            self.write("heading_rad", seen.heading)
            self.write("is_falling", True)


AHEAD = {
    "HeadPitch": -0.6,  # the face is up
    "LShoulderPitch": 0.3,
    "LShoulderRoll": 0.2,
    "LElbowRoll": -0.6,
    "RShoulderPitch": 0.3,
    "RShoulderRoll": -0.2,
    "RElbowRoll": 0.6,
}
BACKWARDS = {
    "HeadPitch": 0.5,  # the chin is on the chest
    "LShoulderPitch": 2.0,
    "LShoulderRoll": 0.2,
    "LElbowRoll": -0.3,
    "RShoulderPitch": 2.0,
    "RShoulderRoll": -0.2,
    "RElbowRoll": 0.3,
}
SIDEWAYS = {
    "HeadYaw": 0.0,
    "LShoulderPitch": 1.4,
    "LShoulderRoll": 0.6,
    "LElbowRoll": -0.6,
    "RShoulderPitch": 1.4,
    "RShoulderRoll": -0.6,
    "RElbowRoll": 0.6,
}


@dataclass(frozen=True, kw_only=True)
class ProtectParameters(Parameters):
    """How strong it is, and for how long."""

    stiffness: float = bounded(1.0, 0.0, 1.0)
    """Of arms, head and legs until the robot lies, in [0, 1]."""
    limp_after_s: float = bounded(1.0, 0.0, 60.0, "s")
    """Time after which all stiffness is 0, in s: of 57 simulated falls one had not yet
    brought the body to the ground."""


class ProtectFromFall(ActuationSchema[ProtectParameters]):
    """Ready from the first sign of a fall until the robot is at rest."""

    info = SchemaInfo(
        "protect from fall",
        "Brings arms and head to the side of a fall, then lets go.",
        period_s=0.01,
        parameters=ProtectParameters,
        reads=("fall watch.is_falling", "fall watch.heading_rad"),
    )

    @classmethod
    def needs_of(cls, parameters: ProtectParameters, robot: Robot) -> tuple[str, ...]:
        """Return all motors and all of the stiffness."""
        del parameters
        motors = resources_of_all(robot, DeviceKind.MOTOR)
        return (*motors, *resources_of_all(robot, DeviceKind.STIFFNESS))

    def ready(self) -> bool:
        """Whether the robot falls."""
        return bool(self.read("fall watch.is_falling"))

    def start(self) -> None:
        """Choose the side, and command at once."""
        robot = self.robot
        side = abs(degrees(self.read("fall watch.heading_rad")))
        pose = AHEAD if side <= 45.0 else BACKWARDS if side >= 135.0 else SIDEWAYS
        self._limits = _leaves_present(robot, DeviceKind.STIFFNESS)
        motors = set(_leaves_present(robot, DeviceKind.MOTOR))
        self._pose = {joint: angle for joint, angle in pose.items() if joint in motors}
        self._began_s = self.time_s
        self._is_limp = False
        self.submit_all(
            {**self._pose, **dict.fromkeys(self._limits, self.parameters.stiffness)}
        )

    def iterate(self) -> None:
        """When the robot lies, let go."""
        since_s = self.time_s - self._began_s
        if not self._is_limp and is_due(since_s, self.parameters.limp_after_s):
            self._is_limp = True
            self.submit_all(dict.fromkeys(self._limits, 0.0))


def _leaves_present(robot: Robot, kind: DeviceKind) -> list[str]:
    """Return the leaves of a kind of device that this body has."""
    absent = set(robot.absent)

    def below(node: ResourceNode) -> list[str]:
        if node.name in absent:
            return []
        if node.device is not None and node.device.kind is kind:
            return [node.name]
        return [name for child in node.children for name in below(child)]

    return below(robot.resources)
