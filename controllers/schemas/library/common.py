"""What the schemas of the library share: ranges of parameters, due times, needs, tasks.

Which resources a motion, a light or a sound takes is said by the robot's own names.
What all motors of an arm move is asked for as the arm, so that lists of reservations
stay short.

A schema that others count on fails where it cannot do its task (`TaskSchema`). One that
finishes without having acted would look as if all had gone well: a sequence would wave
although nobody stood up. And what plays motions has to know in which state the robot is
(`StateMinded`): a motion that begins standing must not begin in a robot that lies,
however much its legs look like standing.
"""

from collections.abc import Iterable, Mapping, Set
from math import cos, radians
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.tokens import Outcome
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.controllers.transmitter.commands.admission import find_way, joints_to
from nao_testbed.models import Robot, TestbedError, UnknownName
from nao_testbed.models.library import Unit
from nao_testbed.models.resources import DeviceKind, ResourceNode

DUST_S = 1e-9
"""Far above the rounding of a day in s, far below a slot."""


def is_due(now_s: float, due_s: float) -> bool:
    """Return whether a time has come, or a duration has passed."""
    return now_s >= due_s - DUST_S


def resources_of_joints(robot: Robot, joints: Iterable[str]) -> tuple[str, ...]:
    """Return the resources whose motors drive some joints, and no others.

    Raises:
        UnknownName: the robot has no such joint.
    """
    motors = {robot.joints[robot.joint_index(joint)].motor for joint in joints}
    return _cover(robot.resources, _leaves(robot, DeviceKind.MOTOR, motors))


def resources_of_all(robot: Robot, kind: DeviceKind) -> tuple[str, ...]:
    """Return the resources that hold every device of a kind, and nothing else."""
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
    """Return the set that a state belongs to, such as `State`; None if in none."""
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
    """Return the fewest names under a node whose leaves are these."""
    if not node.children:
        return (node.name,) if node.name in leaves else ()
    if all(one.name in leaves for one in node.walk() if not one.children):
        return (node.name,)
    return tuple(name for child in node.children for name in _cover(child, leaves))


P = TypeVar("P")


class NotObtained(TestbedError):
    """Its resources were not to be had; the text says who was in the way."""


class TaskSchema(ActuationSchema[P]):
    """Fails when its request does; derive from it."""

    def on_refused(self, outcome: Outcome) -> bool:
        """Ask anew if it has acted, as every schema does; else fail.

        Raises:
            NotObtained: it never had what it needs.
        """
        if super().on_refused(outcome):
            return True
        blockers = "; ".join(
            f"{one.resource} by {', '.join(one.owners)}"
            if one.owners
            else f"{one.resource} is not active"
            for one in outcome.blockers
        )
        told = f", held or waited for: {blockers}" if blockers else ""
        kind = outcome.kind.replace("_", " ")
        raise NotObtained(f"{self.path!r} did not get what it needs ({kind}{told}).")


OVERTURNED_DEG = 60.0
"""Tilt from which a robot without a state is not on its way, but overturned, in
degrees; where the posture monitor begins to call it lying."""


CONFIRM = 5
"""Checks in a row that have to show it: a jolt is no overturning, and a falling robot
feels all directions in turn."""


class StateMinded(TaskSchema[P]):
    """Begins in a state that is seen, remembers it while it acts; derive from it."""

    _last_state: str | None = None
    _odd_checks = 0
    _sought: Mapping[str | None, tuple[str | None, str | None]] = MappingProxyType({})
    """Posture to its state, and the set of that; a search in the tree for each."""

    def is_in_state_of(self, posture: str | None) -> bool:
        """Return whether the robot is in the state of a posture.

        Unknown counts as no state: who has not begun waits until one is seen. On the
        way from one posture to another the robot is in none; then, for who has begun,
        the last one counts, unless the robot is overturned: once it was, a state has
        to be seen again.

        Args:
            posture: name of a stored one; None asks for nothing.

        Raises:
            UnknownName: the robot has no such posture.
        """
        if posture not in self._sought:
            state = None if posture is None else self.robot.posture(posture).state
            group = None if state is None else set_of_states(self.robot, state)
            self._sought = {**self._sought, posture: (state, group)}
        state, group = self._sought[posture]
        if group is None:
            return True
        return self._present_state(group) == state

    def can_follow(self, command: str) -> bool:
        """Return whether the motion of a command can begin: here, or by a way of DB2.

        So can a command that goes to a posture to which a way leads.

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
        """Return the active state; for who has begun, the last one that was."""
        present = self.active_state(group)
        if present is not None or not self.has_acted:
            self._last_state, self._odd_checks = present, 0
        elif self._is_overturned():
            self._odd_checks += 1
            if self._odd_checks >= CONFIRM:
                self._last_state = None
        else:
            self._odd_checks = 0
        return self._last_state

    def _is_overturned(self) -> bool:
        up = self.observation.accelerometer
        return bool(up[2] < cos(radians(OVERTURNED_DEG)) * np.linalg.norm(up))


def needs_of_command(robot: Robot, name: str) -> tuple[str, ...]:
    """Return the resources that a command of the library takes.

    One that goes to a posture takes all that moves on any way there.

    Raises:
        UnknownName: there is no such command, or it names something unknown.
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
    """Return the leaf of the loudspeakers; none if the robot has none."""
    return tuple(
        node.name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is DeviceKind.SPEAKER
    )
