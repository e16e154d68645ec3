"""What plays motions has to know in which state the robot is.

A motion that begins standing must not begin in a robot that lies, however much its legs
look like standing.
"""

from collections.abc import Mapping
from math import cos, radians
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from controllers.schemas.library.needs import set_of_states
from controllers.schemas.library.task import TaskSchema
from controllers.sync.orders.posture_way import find_way
from models.library import Unit

P = TypeVar("P")

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
