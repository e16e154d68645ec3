"""Early detection of a fall, and protection of the robot during it.

The robot falls when its capture point is outside its soles by more than a distance,
twice in a row (`balance`). This was simulated with 135 pushes of 4 to 60 N for 0.2 s in
five directions from Stand, StandInit and Crouch. All 57 falls were detected, at least
0.22 s (median 0.39 s) before any part except a sole touched the ground, without false
alarms. Only a robot on its feet can fall: a lying or sitting robot is not monitored.
During a transition between postures it has no state, and is monitored as before with a
larger threshold: sitting down ends with a small drop.

`protect from fall`: arms and head first, then zero stiffness. The NAO's own fall
manager sets a configuration of arms and pelvis for the side of the fall, then switches
the stiffness off [nao-doc, fall manager]. Fourteen falls from Stand and StandInit to
all sides were simulated. The mean of the largest force on the head was 2439 N without
action, 1129 N with zero stiffness at once, 840 N with arms for 0.25 s and then zero
stiffness, 404 N with arms and bent legs, and 396 N with arms alone. (Rigid bodies: only
the order counts.) So arms and head move to the side of the fall at full stiffness and
the legs hold; the stiffness is 0 once the robot lies. Bending the legs gained nothing
here.

It needs `fall watch` as a sibling, or a sibling of an ancestor, and must preempt the
owners of motors and stiffness: a higher priority, with preemption by priority. Under
`choose` with `highest_order` it takes over in the slot of the detection.
"""

from dataclasses import dataclass
from math import degrees

from nao_testbed.controllers.schemas.activation import Activation
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
from nao_testbed.models.roles import Heading


@dataclass(frozen=True, kw_only=True)
class FallWatchParameters(Parameters):
    """Thresholds for the start and the end of a fall."""

    beyond_m: float = bounded(0.03, 0.0, 1.0, "m")
    """Distance of the capture point outside the soles that counts as a fall, in m."""
    beyond_on_the_way_m: float = bounded(0.05, 0.0, 1.0, "m")
    """The same distance during a transition between postures, in m: the robot drops
    on its buttocks when it sits down."""
    carried: float = bounded(0.5, 0.0, 1.0)
    """Minimum share of the weight on the soles at a fall, in [0, 1]: with less, a
    person or another body part carries the robot. In falls it was 0.63."""
    confirm: int = bounded(2, 1, 100)
    """Number of consecutive observations that confirm a fall."""
    calm_s: float = bounded(1.0, 0.0, 60.0, "s")
    """Time at rest that ends the fall, in s."""
    calm_deg_s: float = bounded(20.0, 0.0, 500.0, "degrees/s")
    """Turning speed below which the robot is at rest, in degrees/s."""
    states: tuple[str, ...] = ()
    """States in which the robot is on its feet; empty: those of the stored postures
    that only feet carry."""
    group: str = "State"
    """Set of these states."""


class FallWatch(PerceptiveSchema[FallWatchParameters]):
    """Detector of a fall and its direction."""

    info = SchemaInfo(
        "fall watch",
        "Detect a fall before the robot touches the ground.",
        period_s=0.01,
        parameters=FallWatchParameters,
        outputs=(
            Variable(
                "is_falling",
                bool,
                "True from the first sign of a fall until the robot is at rest.",
                initial=False,
            ),
            Variable(
                "heading_rad",
                float,
                "Direction of the fall: 0 ahead, left positive.",
                unit="rad",
                initial=0.0,
            ),
            Variable(
                "margin_m",
                float,
                "Distance of the capture point to the soles' edge; negative outside.",
                unit="m",
                initial=0.0,
            ),
        ),
    )

    def start(self) -> None:
        """Start without a fall."""
        self._balance = Balance(self.robot)
        self._weight = self.robot.total_mass * GRAVITY
        self._states = self.parameters.states or _states_on_feet(self.robot)
        self._is_on_feet = False
        self._is_falling = False
        self._signs = 0
        self._last_motion_s = self.time_s
        self.write("is_falling", False)

    def perceive(self) -> None:
        """Evaluate the newest observation."""
        now = self.parameters
        seen = self._balance.step(self.observation)
        self.write("margin_m", seen.capture_margin)
        state = self.active_state(now.group)
        if state is not None:
            self._is_on_feet = state in self._states
        if degrees(seen.tilt_rate) > now.calm_deg_s:
            self._last_motion_s = self.time_s
        if self._is_falling:
            if is_due(self.time_s - self._last_motion_s, now.calm_s):
                self._is_falling = False
                self._is_on_feet = state in self._states
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


def _states_on_feet(robot: Robot) -> frozenset[str | None]:
    """Return the states of the stored postures that only feet carry."""
    on_feet = (p for p in robot.postures.values() if p.effectors)
    return frozenset(p.state for p in on_feet if set(p.effectors) <= set(robot.feet))


@dataclass(frozen=True, kw_only=True)
class ProtectParameters(Parameters):
    """Stiffness during a fall, and its duration."""

    stiffness: float = bounded(1.0, 0.0, 1.0)
    """Stiffness of arms, head and legs until the robot lies, in [0, 1]."""
    limp_after_s: float = bounded(1.0, 0.0, 60.0, "s")
    """Time after which all stiffness is 0, in s: in 56 of 57 simulated falls the
    body was on the ground by this time."""


class ProtectFromFall(ActuationSchema[ProtectParameters]):
    """Protection that is ready from the first sign of a fall until rest."""

    info = SchemaInfo(
        "protect from fall",
        "Move arms and head to the side of a fall, then go limp.",
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

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: ProtectParameters, robot: Robot
    ) -> None:
        """Raise for a robot without poses for a fall."""
        del activation, parameters
        robot.need_role(robot.roles.falling, "falling", f"schema {cls.info.name!r}")

    def ready(self) -> bool:
        """Return True if the robot falls."""
        return bool(self.read("fall watch.is_falling"))

    def start(self) -> None:
        """Choose the pose for the side of the fall, and command it."""
        robot = self.robot
        side = abs(degrees(self.read("fall watch.heading_rad")))
        heading: Heading = "sideways"
        if side <= 45.0 or side >= 135.0:
            heading = "ahead" if side <= 45.0 else "backwards"
        pose = robot.roles.falling.get(heading, {})
        self._limits = _leaves_present(robot, DeviceKind.STIFFNESS)
        motors = set(_leaves_present(robot, DeviceKind.MOTOR))
        self._pose = {joint: angle for joint, angle in pose.items() if joint in motors}
        self._start_s = self.time_s
        self._is_limp = False
        self.submit_all(
            {**self._pose, **dict.fromkeys(self._limits, self.parameters.stiffness)}
        )

    def iterate(self) -> None:
        """Set the stiffness to 0 after `limp_after_s`."""
        since_s = self.time_s - self._start_s
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
