"""Admission of orders: the way to the start posture, and tokens for all outputs.

An order is refused before anything moves: an initial motion whose synchronous part has
no token would end in the wrong posture. The way from one posture to another consists of
transitions of DB2. The robot's posture follows from the motions that were sent to it,
and from observation.
"""

import heapq
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.transmitter.commands.converter import StreamMaker
from nao_testbed.controllers.transmitter.commands.order import OutputSet, PlacedOrder
from nao_testbed.controllers.transmitter.events import NotOrdered
from nao_testbed.controllers.transmitter.receipt import GroupKey, Receipt
from nao_testbed.controllers.transmitter.streams import Content, Present
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models.library import Library, Motion, Transition, Unit


def find_way(library: Library, start: str, end: str) -> tuple[Transition, ...] | None:
    """Return the transitions that lead to a posture in the shortest time.

    Of several ways that take equally long, that with the fewest transitions, then that
    whose transitions stand first in DB2.

    Args:
        library: its transitions and their motions.
        start: posture in which the robot is.
        end: posture in which it shall be.

    Returns:
        The transitions in their order, none if it is there; None where no way leads.
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
    """Return the joints that some way to a posture moves, from wherever."""
    starts = dict.fromkeys(step.start for step in library.transitions)
    ways = (find_way(library, start, end) or () for start in starts)
    motions = (library.motion(step.motion) for way in ways for step in way)
    return tuple(dict.fromkeys(joint for motion in motions for joint in motion.joints))


FalseEnd = Callable[[Motion, Mapping[str, float] | None], str]
"""Says what keeps a motion from ending in the posture that it names, given where the
motors are, or None; empty: nothing."""


class PostureBelief:
    """Estimate of the robot's posture from the motions that were sent.

    A completed motion leaves the robot in its last posture; an interrupted one leaves
    the posture unknown. A later observation of another state, such as lying on the
    back, takes precedence.
    """

    def __init__(
        self,
        posture: str | None,
        states: Mapping[str, str | None] | None = None,
        seen: Callable[[], str | None] | None = None,
        *,
        false_end: FalseEnd | None = None,
        motors: Mapping[str, str] | None = None,
    ) -> None:
        """Create an estimate.

        Args:
            posture: initial posture; None: unknown.
            states: posture to the state of a robot in it; None: none known.
            seen: returns the observed state, None between states; None: not observed.
            false_end: check of a motion's end posture; None: every end is accepted.
            motors: motor to its leaf.
        """
        self.states = states or {}
        self.false_end = false_end or (lambda _motion, _here: "")
        self._motors = motors or {}
        self.seen = seen or (lambda: None)
        """Returns the state in which the robot is seen; None: in none, on its way."""
        self._moves: list[tuple[Receipt, str | None]] = []
        self._posture = posture
        self._seen_before = self.seen()

    def follow(self, receipt: Receipt, end: str | None) -> None:
        """Follow a motion that ends in a posture; None: in no stored one."""
        self._moves.append((receipt, end))

    def tell(self, posture: str | None) -> None:
        """Set the observed posture; motions under way still count when they end."""
        self.update()
        self._believe(posture)

    @property
    def posture(self) -> str | None:
        """Posture of the robot; None: unknown, or between postures."""
        self.update()
        on_its_way = any(r.started_tick is not None for r, _ in self._moves)
        return None if on_its_way else self._posture

    def update(self) -> None:
        """Update the estimate from ended motions and the observed state."""
        for move in [move for move in self._moves if move[0].is_over]:
            receipt, end = move
            if receipt.is_done:
                self._believe(end)
            elif receipt.started_tick is not None:
                self._believe(None)
            self._moves.remove(move)
        if self._posture is None:
            return
        seen, state = self.seen(), self.states.get(self._posture)
        if seen is None or seen == self._seen_before:
            return
        if state is not None and seen != state:
            self._posture = None
        self._seen_before = seen

    def why_not(self, order: PlacedOrder, is_initial: bool, present: Present) -> str:
        """Return why a motion of an order cannot start; empty: it can.

        The robot is not where it begins, or it would not end where it says, from where
        the motors are.

        Args:
            order: its motion, or the initial one.
            is_initial: which of them.
            present: set-points in force.
        """
        motion = order.outputs.motion
        if motion is not None and motion.start is None:
            at = {motor: present[leaf] for motor, leaf in self._motors.items()}
            return self.false_end(motion, at) if motion.end else ""
        if order.start is not None:
            start = order.start if motion is None or is_initial else motion.start
            here = self.posture
            return "" if start in (None, here) else elsewhere(start, here)
        state = self.states.get((motion.start if motion else None) or "")
        seen = self.seen()
        if motion is None or state is None or seen in (None, state):
            return ""
        return f"it begins in {motion.start}, and the robot is seen in {seen}"

    def _believe(self, posture: str | None) -> None:
        """Believe in a posture; the state in which it is seen may lag behind."""
        self._posture = posture
        self._seen_before = self.seen()


def elsewhere(start: str | None, here: str | None) -> str:
    """Return the error text for a robot outside the start posture."""
    where = here or "no known posture"
    return f"it begins in {start}, and the robot is in {where} now"


def group_key(
    outputs: OutputSet,
    group: str | None,
    taken: Container[GroupKey | None],
    transmitter: Transmitter,
    tick: int,
) -> GroupKey | None:
    """Return the key of a group; None for independent outputs.

    Args:
        outputs: of the order; their preset is a part of the key.
        group: ID that the sender gives; None: the name of the outputs, with a number
            behind it while a group of that ID is under way.
        taken: keys of orders under way.
        transmitter: knows the groups that it has.
        tick: now.
    """
    if not outputs.is_synchronous:
        return None
    if group is not None:
        return GroupKey(outputs.preset, group)
    count, key = 1, GroupKey(outputs.preset, outputs.name)
    while key in taken or transmitter.is_under_way(key, tick):
        count += 1
        key = GroupKey(outputs.preset, f"{outputs.name} {count}")
    return key


class OrderAdmission:
    """Admission of orders, given the orders under way."""

    def __init__(self, library: Library, maker: StreamMaker, ledger: Ledger) -> None:
        """Build it from what an order may name, command, and must prove."""
        self._library = library
        self._maker = maker
        self._ledger = ledger

    def admit(
        self,
        order: PlacedOrder,
        posture: str | None,
        under_way: Sequence[PlacedOrder] | None,
    ) -> None:
        """Set the start and predecessor of an order, or the reason for its refusal.

        An order follows no other of its own group, which starts in one slot.

        Args:
            order: order that has not begun.
            posture: posture of the robot; None: unknown.
            under_way: orders that it may follow, oldest first; None: it begins at once,
                in the present posture.
        """
        outputs = order.outputs
        if outputs.motion is not None:
            order.motor_leaves = frozenset(self._maker.leaves((outputs.motion,)))
        alive: list[PlacedOrder] = []
        if under_way is not None and Unit.MOTION in outputs.units:
            others = (x for x in reversed(under_way) if not x.is_grouped_with(order))
            alive = [x for x in others if self._may_go_on(x)]
            alive.sort(key=lambda x: x.is_interrupt)  # after these the others go on
        if order.changes_posture:
            order.joins = next((x for x in alive if x.changes_posture), None)
        if order.joins is not None:
            posture = order.joins.posture_after
        if outputs.to is not None or under_way is not None:
            self._find_way(order, posture)
        if order.joins is None:
            shares = (x for x in alive if x.motor_leaves & order.motor_leaves)
            order.joins = next(shares, None)
        if order.refused is None:
            self._check_rights(order)

    def choose_anew(self, order: PlacedOrder, posture: str) -> str:
        """Choose the way from where the robot is by now, by the rights of the order.

        Returns:
            Why there is none; the order is as it was then. Empty: there is one.
        """
        goal = order.outputs.way_to
        way = None if goal is None else find_way(self._library, posture, goal)
        if way is None:
            return f"no transitions lead to {goal} from there"
        motions = tuple(self._library.motion(step.motion) for step in way)
        for leaf in self._maker.leaves(motions):
            reason = self._ledger.authorise(order.tokens[Unit.MOTION], leaf)
            if reason is not None:
                return f"the way from there commands {leaf!r}: {reason}"
        self._go(order, posture, motions)
        return ""

    def _may_go_on(self, order: PlacedOrder) -> bool:
        """Return whether an order still moves: not over, its token alive."""
        token = order.tokens.get(Unit.MOTION)
        return not order.is_over and all(
            self._ledger.authorise(token, leaf) is None for leaf in order.motor_leaves
        )

    def _find_way(self, order: PlacedOrder, posture: str | None) -> None:
        """Set the motions that lead from a posture to the start or goal of an order."""
        outputs = order.outputs
        goal, motion = outputs.way_to, outputs.motion
        if goal is None:
            return
        says = f"{motion.name!r} begins in" if motion else f"{outputs.name!r} goes to"
        if posture is None:
            order.refused = NotOrdered.POSTURE_UNKNOWN
            order.detail = (
                f"{says} {goal}, and the present posture is not known; tell it, or "
                "give a motion that begins in any."
            )
            return
        way = find_way(self._library, posture, goal)
        if way is None:
            order.refused = NotOrdered.NO_WAY
            order.detail = f"{says} {goal}; no transitions lead there from {posture}."
            return
        self._go(order, posture, tuple(self._library.motion(x.motion) for x in way))

    def _go(self, order: PlacedOrder, start: str, motions: tuple[Motion, ...]) -> None:
        """Set the start posture of an order, and its way to its goal."""
        order.start, order.way = start, motions
        fixed = order.outputs.motion
        moves = motions if fixed is None else (*motions, fixed)
        order.motor_leaves = frozenset(self._maker.leaves(moves))

    def _check_rights(self, order: PlacedOrder) -> None:
        for unit, content in _contents(order):
            token = order.tokens.get(unit)
            leaves = self._maker.leaves(content)
            if not leaves and content != ():
                order.refused = NotOrdered.NO_DEVICE
                order.detail = f"the robot has nothing to put out {unit} with."
                return
            lent = self._ledger.lent(token) if token is not None else ()
            for leaf in leaves:
                reason = self._ledger.authorise(token, leaf)
                if reason is not None and leaf not in lent:
                    order.refused = NotOrdered.NO_TOKEN
                    order.detail = f"{unit} commands {leaf!r}: {reason}."
                    return


def _contents(order: PlacedOrder) -> Iterator[tuple[Unit, Content]]:
    """Yield all that an order puts out, its initial motion first."""
    if order.prep:
        yield Unit.MOTION, order.prep
    for unit in order.outputs.units:
        yield unit, order.content(unit)
