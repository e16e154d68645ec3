"""Shared functions of the library's schemas: due times, needs, tasks.

The robot's own names give the resources of a motion, a light or a sound. If all motors
of an arm are needed, the arm is requested, so that lists of reservations stay short.

A schema that others depend on fails if it cannot do its task (`TaskSchema`). Finishing
without acting would look like success: a sequence would wave before the robot is up.
Schemas that play motions must know the state of the robot (`PostureStateSchema`). A
motion that starts in posture Stand must not start in a lying robot, even if its legs
are straight.
"""

from collections.abc import Iterable, Mapping, Set
from math import cos, radians
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.tokens import Outcome
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.controllers.transmitter.commands.planning import find_way, joints_to
from nao_testbed.models import Robot, TestbedError, UnknownName
from nao_testbed.models.library import Unit
from nao_testbed.models.resources import DeviceKind, ResourceNode

TIME_TOLERANCE_S = 1e-9
"""Tolerance in s: far above the rounding of a day in s, far below a slot."""


def is_due(now_s: float, due_s: float) -> bool:
    """Return True if a time has come, or a duration has passed."""
    return now_s >= due_s - TIME_TOLERANCE_S


def resources_of_joints(robot: Robot, joints: Iterable[str]) -> tuple[str, ...]:
    """Return the fewest resources that cover exactly the motors of these joints.

    Raises:
        UnknownName: the robot has no such joint.
    """
    motors = {robot.joints[robot.joint_index(joint)].motor for joint in joints}
    return _cover(robot.resources, _leaves(robot, DeviceKind.MOTOR, motors))


def resources_of_all(robot: Robot, kind: DeviceKind) -> tuple[str, ...]:
    """Return the fewest resources that cover exactly the devices of a kind."""
    names = {
        name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is kind
        for name in node.device.names
    }
    return _cover(robot.resources, _leaves(robot, kind, names))


def motor_leaves(robot: Robot) -> Mapping[str, str]:
    """Return joint to the leaf of its motor."""
    leaf_of = {
        motor: node.name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is DeviceKind.MOTOR
        for motor in node.device.names
    }
    return {
        joint.name: leaf_of[joint.motor]
        for joint in robot.joints
        if joint.motor in leaf_of
    }


def leaves_under(robot: Robot, names: Iterable[str]) -> tuple[str, ...]:
    """Return the leaves of some resources, in the order of the tree.

    Raises:
        UnknownName: the robot has no such resource.
    """
    nodes = {node.name: node for node in robot.resources.walk()}
    found: dict[str, None] = {}
    for name in names:
        if name not in nodes:
            raise UnknownName("Resource", name, nodes, f"robot {robot.name!r}")
        for node in nodes[name].walk():
            if not node.children:
                found[node.name] = None
    return tuple(found)


def set_of_states(robot: Robot, state: str) -> str | None:
    """Return the set of a state, such as `State`; None without one."""
    for node in robot.resources.walk():
        if any(child.name == state for child in node.children):
            return node.name
    return None


def _leaves(robot: Robot, kind: DeviceKind, names: Set[str]) -> frozenset[str]:
    return frozenset(
        node.name
        for node in robot.resources.walk()
        if node.device is not None
        and node.device.kind is kind
        and names & set(node.device.names)
    )


def _cover(node: ResourceNode, leaves: Set[str]) -> tuple[str, ...]:
    """Return the fewest names under a node that cover exactly these leaves."""
    if not node.children:
        return (node.name,) if node.name in leaves else ()
    if all(one.name in leaves for one in node.walk() if not one.children):
        return (node.name,)
    return tuple(name for child in node.children for name in _cover(child, leaves))


P = TypeVar("P")


class NotObtained(TestbedError):
    """Request for resources that failed; the text names the blocking owners."""


class TaskSchema(ActuationSchema[P]):
    """Base of a schema that fails when its request fails."""

    def on_refused(self, outcome: Outcome) -> bool:
        """Request again if the schema has acted, as every schema does; otherwise fail.

        Raises:
            NotObtained: the schema never had its resources.
        """
        if super().on_refused(outcome):
            return True
        blockers = "; ".join(
            f"{one.resource} by {', '.join(one.owners)}"
            if one.owners
            else f"{one.resource} is not active"
            for one in outcome.blockers
        )
        detail = f", blocked: {blockers}" if blockers else ""
        kind = outcome.kind.replace("_", " ")
        raise NotObtained(f"{self.path!r} did not get its resources ({kind}{detail}).")


OVERTURNED_DEG = 60.0
"""Tilt in degrees above which a robot without a state is overturned, not in a
transition; the posture monitor's threshold for lying."""


CONFIRMING_CHECKS = 5
"""Number of consecutive checks for an overturned robot: a jolt does not count, and a
falling robot measures all directions in turn."""


class PostureStateSchema(TaskSchema[P]):
    """Base of a schema that starts in an observed state and remembers it."""

    _last_state: str | None = None
    _overturned_checks = 0
    _posture_states: Mapping[str | None, tuple[str | None, str | None]] = (
        MappingProxyType({})
    )
    """Cache: posture to its state, and the set of that state."""

    def is_in_state_of(self, posture: str | None) -> bool:
        """Return True if the robot is in the state of a posture.

        An unknown state counts as no state: a schema waits to start until a state is
        observed. Between two postures the robot has no state; then, after the start,
        the last one counts, unless the robot is overturned. After that a state must be
        observed again.

        Args:
            posture: name of a stored posture; None: no requirement.

        Raises:
            UnknownName: the robot has no such posture.
        """
        if posture not in self._posture_states:
            state = None if posture is None else self.robot.posture(posture).state
            group = None if state is None else set_of_states(self.robot, state)
            self._posture_states = {**self._posture_states, posture: (state, group)}
        state, group = self._posture_states[posture]
        if group is None:
            return True
        return self._present_state(group) == state

    def can_follow(self, command: str) -> bool:
        """Return True if the motion of a command can start, here or via DB2.

        The same holds for a command to a posture that transitions lead to.

        Raises:
            UnknownName: the library has no such command.
        """
        library = self.robot.library
        order = library.order(command)
        name = order.outputs.get(Unit.MOTION)
        start = order.to if name is None else library.motion(name).start
        return (
            start is None
            or self.is_in_state_of(start)
            or any(
                find_way(library, posture.name, start) is not None
                for posture in self.robot.postures.values()
                if posture.state is not None and posture.state == self._last_state
            )
        )

    def _present_state(self, group: str) -> str | None:
        """Return the active state; after the start, the last active one."""
        present = self.active_state(group)
        if present is not None or not self.has_acted:
            self._last_state, self._overturned_checks = present, 0
        elif self._is_overturned():
            self._overturned_checks += 1
            if self._overturned_checks >= CONFIRMING_CHECKS:
                self._last_state = None
        else:
            self._overturned_checks = 0
        return self._last_state

    def _is_overturned(self) -> bool:
        up = self.observation.accelerometer
        return bool(up[2] < cos(radians(OVERTURNED_DEG)) * np.linalg.norm(up))


def needs_of_command(robot: Robot, name: str) -> tuple[str, ...]:
    """Return the resources of a command of the library.

    A command to a posture needs all joints of any way to it.

    Raises:
        UnknownName: there is no such command, or it contains an unknown name.
    """
    library = robot.library
    order, needs = library.order(name), list[str]()
    if order.to is not None:
        needs += resources_of_joints(robot, joints_to(library, order.to))
    for unit, output in order.outputs.items():
        if unit is Unit.MOTION:
            needs += resources_of_joints(robot, library.motion(output).joints)
        elif unit is Unit.LIGHT:
            needs += leaves_under(robot, library.light(output).leds)
        else:
            needs += speaker_of(robot)
    return tuple(needs)


def speaker_of(robot: Robot) -> tuple[str, ...]:
    """Return the leaf of the loudspeakers; empty for a robot without one."""
    return tuple(
        node.name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is DeviceKind.SPEAKER
    )
