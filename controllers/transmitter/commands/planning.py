"""Plan of an order: its outputs, its preceding motion, and the way to its start.

A way from one posture to another is a sequence of transitions of DB2.
"""

import heapq
from collections.abc import Mapping, Sequence

from nao_testbed.controllers.transmitter.commands.converter import Converters
from nao_testbed.controllers.transmitter.commands.order import (
    OutputSet,
    PlacedOrder,
    Tokens,
    look_up,
)
from nao_testbed.controllers.transmitter.commands.posture import (
    PostureBelief,
    wrong_start_text,
)
from nao_testbed.controllers.transmitter.commands.rights import Rights
from nao_testbed.controllers.transmitter.events import NotOrdered
from nao_testbed.models import BadInput
from nao_testbed.models.library import Library, Motion, Order, Transition, Unit

Way = tuple[Motion, ...]
"""Motions of the transitions from one posture to another."""


def find_way(library: Library, start: str, end: str) -> tuple[Transition, ...] | None:
    """Return the transitions that reach a posture in the shortest time.

    Of equally long ways, the one with the fewest transitions is returned, then the one
    whose transitions come first in DB2.

    Args:
        library: library with the transitions and their motions.
        start: present posture.
        end: target posture.

    Returns:
        Transitions in their order, empty if the robot is already there; None if no way
        exists.
    """
    ways: list[tuple[float, int, tuple[int, ...], str]] = [(0.0, 0, (), start)]
    reached: set[str] = set()
    while ways:
        time_s, count, way, posture = heapq.heappop(ways)
        if posture == end:
            return tuple(library.transitions[i] for i in way)
        if posture in reached:
            continue
        reached.add(posture)
        for i, step in enumerate(library.transitions):
            if step.start == posture:
                total_s = time_s + library.motion(step.motion).length_s
                heapq.heappush(ways, (total_s, count + 1, (*way, i), step.end))
    return None


def joints_to(library: Library, end: str) -> tuple[str, ...]:
    """Return the joints that any way to a posture moves, from all postures."""
    starts = dict.fromkeys(step.start for step in library.transitions)
    ways = (find_way(library, start, end) or () for start in starts)
    motions = (library.motion(step.motion) for way in ways for step in way)
    return tuple(dict.fromkeys(joint for motion in motions for joint in motion.joints))


class Planner:
    """Planner that resolves a command and finds the way from the present posture."""

    def __init__(
        self,
        library: Library,
        converters: Converters,
        rights: Rights,
        belief: PostureBelief,
    ) -> None:
        """Create a planner for a library, converters, rights and a posture estimate."""
        self._library = library
        self._leaves = converters.leaves
        self._rights = rights
        self._count = 0
        self._belief = belief

    def resolve(
        self,
        command: str | Order | OutputSet,
        tokens: Tokens,
        *,
        is_interrupt: bool = False,
    ) -> PlacedOrder:
        """Return the record of a command with its names resolved in the library.

        Raises:
            UnknownName: the command, or a name in it, is unknown.
            BadInput: the motion does not end in its end posture, or an interrupt has
                several outputs or points.
        """
        if isinstance(command, str):
            command = self._library.order(command)
        outputs = look_up(command, self._library)
        motion = outputs.motion
        if motion and motion.start and (why := self._belief.false_end(motion, None)):
            raise BadInput(
                f"motion {motion.name!r}: {why}. Make it end there, or leave `end` out."
            )
        if is_interrupt and (len(outputs.units) != 1 or outputs.is_synchronous):
            raise BadInput(
                f"command {outputs.name!r} cannot interrupt: it has the outputs "
                f"{', '.join(outputs.units)}; give a command with one output and no "
                "points."
            )
        self._count += 1
        if not isinstance(tokens, Mapping):
            tokens = dict.fromkeys(outputs.units, tokens)
        return PlacedOrder(
            number=self._count,
            outputs=outputs,
            tokens=tokens,
            is_interrupt=is_interrupt,
        )

    def plan(self, order: PlacedOrder, under_way: Sequence[PlacedOrder] | None) -> None:
        """Set the predecessor of an order and the way to its start, or refuse it.

        An order follows no other of its own group, which starts in one slot.

        Args:
            order: new order.
            under_way: orders that it may follow, oldest first; None: the order begins
                at once, in the present posture.
        """
        outputs, posture = order.outputs, self._belief.posture
        self._set_way(order, None, ())
        alive: list[PlacedOrder] = []
        if under_way is not None and Unit.MOTION in outputs.units:
            others = (x for x in reversed(under_way) if not x.is_grouped_with(order))
            alive = [x for x in others if self._rights.can_be_followed(x)]
            alive.sort(key=lambda x: x.is_interrupt)  # interrupts come first
        if outputs.changes_posture:
            order.joins = next((x for x in alive if x.outputs.changes_posture), None)
        if order.joins is not None:
            posture = order.joins.outputs.posture_after
        if outputs.to is not None or under_way is not None:
            self._plan_way(order, posture)
        if order.joins is None:
            shares = (x for x in alive if x.motor_leaves & order.motor_leaves)
            order.joins = next(shares, None)

    def replan(self, order: PlacedOrder, posture: str | None) -> str:
        """Set a new way from the present posture, if the order's tokens cover it.

        Returns:
            Reason why there is no way, with the order unchanged; empty if there is a
            way.
        """
        why, goal = wrong_start_text(order.start, posture), order.outputs.way_to
        if posture is not None:
            way = self._find_way(posture, goal)
            if way is None:
                why += f": no transitions lead to {goal} from there"
            else:
                leaves = self._leaves(way)
                refusal = self._rights.refusal(order.tokens[Unit.MOTION], leaves)
                if not refusal:
                    self._set_way(order, posture, way)
                    return ""
                why += f": the path from there {refusal}"
        return f"{why}; give the command again."

    # -- internals ---------------------------------------------------------------------

    def _find_way(self, posture: str | None, goal: str | None) -> Way | None:
        """Return the motions from a posture to another; None if no way exists."""
        if posture is None or goal is None:
            return None
        way = find_way(self._library, posture, goal)
        if way is None:
            return None
        return tuple(self._library.motion(step.motion) for step in way)

    def _plan_way(self, order: PlacedOrder, posture: str | None) -> None:
        """Set the motions that lead from a posture to the start or goal of an order."""
        outputs = order.outputs
        goal, motion = outputs.way_to, outputs.motion
        if goal is None:
            return
        way = self._find_way(posture, goal)
        if way is not None:
            self._set_way(order, posture, way)
            return
        says = f"{motion.name!r} begins in" if motion else f"{outputs.name!r} goes to"
        if posture is None:
            order.refused = NotOrdered.POSTURE_UNKNOWN
            order.detail = (
                f"{says} {goal}, but the present posture is unknown; set it, or give "
                "a motion that begins in any posture."
            )
        else:
            order.refused = NotOrdered.NO_WAY
            order.detail = f"{says} {goal}; no transitions lead there from {posture}."

    def _set_way(self, order: PlacedOrder, start: str | None, way: Way) -> None:
        """Set the start posture of an order, its way to its goal, and their leaves."""
        order.start, order.way = start, way
        motion = order.outputs.motion
        moves = way if motion is None else (*way, motion)
        order.motor_leaves = frozenset(self._leaves(moves))
