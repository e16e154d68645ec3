"""Protects the robot in a fall: arms and head first, then no force at all.

The NAO's own fall manager brings arms and pelvis into a configuration that depends on
the side to which it falls, then switches the stiffness off [nao-doc, fall manager].
Simulated, 14 falls from Stand and StandInit to all sides, mean of the largest force on
the head: 2439 N if nothing is done, 1129 N limp at once, 840 N with arms for 0.25 s and
then limp, 404 N with arms and bent legs, 396 N with arms alone. (Rigid bodies: only the
order counts.) So arms and head go to the side of the fall at full force, the legs stay,
and the stiffness goes when the robot lies. Bending the legs gained nothing here.

It needs `fall watch` beside it or above it, and whatever holds motors and stiffness has
to give way: a priority above theirs, with preemption by priority. Under `choose` with
`highest_order` it takes over in the slot in which the watch sees the fall.
"""

from dataclasses import dataclass
from math import degrees

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.needs import resources_of_all
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.times import is_due
from controllers.schemas.schema import ActuationSchema
from models import Robot
from models.resources import DeviceKind, ResourceNode

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
class ProtectParameters:
    """How strong it is, and for how long."""

    stiffness: float = 1.0
    """Of arms, head and legs until the robot lies, in [0, 1]."""
    limp_after_s: float = 1.0
    """Time after which all stiffness is 0, in s: of 57 simulated falls one had not yet
    brought the body to the ground."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("stiffness", self.stiffness, 0.0, 1.0)
        check_between("limp_after_s", self.limp_after_s, 0.0, 60.0, "s")


class ProtectFromFall(ActuationSchema[ProtectParameters]):
    """Ready from the first sign of a fall until the robot is at rest."""

    info = SchemaInfo(
        name="protect from fall",
        about="Brings arms and head to the side of a fall, then lets go.",
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
        self._limits = _leaves(robot, DeviceKind.STIFFNESS)
        motors = set(_leaves(robot, DeviceKind.MOTOR))
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


def _leaves(robot: Robot, kind: DeviceKind) -> list[str]:
    """Return the leaves of a kind of device that this body has."""
    absent = set(robot.absent)

    def below(node: ResourceNode) -> list[str]:
        if node.name in absent:
            return []
        if node.device is not None and node.device.kind is kind:
            return [node.name]
        return [name for child in node.children for name in below(child)]

    return below(robot.resources)
