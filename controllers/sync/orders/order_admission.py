"""Whether an order can be done: the way to where it begins, and the right to all of it.

Refused at once, before anything moves: an initial motion whose synchronous part has no
token would end in the wrong posture for nothing.
"""

from collections.abc import Iterator, Mapping

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.sync.orders.content import Content
from controllers.sync.orders.order_handle import OrderHandle
from controllers.sync.orders.output_set import OutputSet
from controllers.sync.orders.pending_order import PendingOrder, are_one_group
from controllers.sync.orders.pipeline_words import NotOrdered
from controllers.sync.orders.posture_way import find_way
from controllers.sync.streams.stream_maker import StreamMaker
from models.library import Library, Motion, Unit

Tokens = Token | Mapping[Unit, Token]
"""One for all units, or one for each; who has none is refused."""


class OrderAdmission:
    """Admits orders, each beside those that are under way."""

    def __init__(self, library: Library, maker: StreamMaker, ledger: Ledger) -> None:
        """Build it from what an order may name, command, and must prove."""
        self._library = library
        self._maker = maker
        self._ledger = ledger

    def admit(
        self,
        handle: OrderHandle,
        outputs: OutputSet,
        tokens: Tokens,
        posture: str | None,
    ) -> PendingOrder:
        """Return an order that begins where the robot is; refuse it without a right.

        Args:
            handle: of the order; says afterwards whether it is refused, and why.
            outputs: what it puts out.
            tokens: one for all, or one for each unit.
            posture: in which the robot is; None: unknown.
        """
        order = self._new(handle, outputs, tokens)
        if outputs.to is not None:
            self._find_way(order, posture)
        if handle.refused is None:
            self._check_rights(order)
        return order

    def admit_after(
        self,
        handle: OrderHandle,
        outputs: OutputSet,
        tokens: Tokens,
        under_way: tuple[PendingOrder, ...],
        posture: str | None,
    ) -> PendingOrder:
        """Return an order with the way to where it begins, after those under way.

        It follows none of its own group, which starts in one slot.

        Args:
            handle: of the order; says afterwards whether it is refused, and why.
            outputs: what it puts out.
            tokens: one for all, or one for each unit.
            under_way: oldest first.
            posture: in which the robot is; None: unknown.
        """
        order = self._new(handle, outputs, tokens)
        if Unit.MOTION not in outputs.units:
            self._check_rights(order)
            return order
        others = (x for x in reversed(under_way) if not are_one_group(x, order))
        alive = [x for x in others if self._may_go_on(x)]
        alive.sort(key=lambda x: x.is_interrupt)  # after these the others go on
        if order.changes_posture:
            order.joins = next((x for x in alive if x.changes_posture), None)
        if order.joins is not None:
            posture = order.joins.posture_after
        self._find_way(order, posture)
        if order.joins is None:
            shares = (x for x in alive if x.motor_leaves & order.motor_leaves)
            order.joins = next(shares, None)
        if handle.refused is None:
            self._check_rights(order)
        return order

    def choose_anew(self, order: PendingOrder, posture: str) -> str:
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

    def _new(
        self, handle: OrderHandle, outputs: OutputSet, tokens: Tokens
    ) -> PendingOrder:
        if not isinstance(tokens, Mapping):
            tokens = dict.fromkeys(outputs.units, tokens)
        order = PendingOrder(handle=handle, outputs=outputs, tokens=tokens)
        if outputs.motion is not None:
            order.motor_leaves = frozenset(self._maker.leaves((outputs.motion,)))
        return order

    def _may_go_on(self, order: PendingOrder) -> bool:
        """Return whether an order still moves: not over, its token alive."""
        token = order.tokens.get(Unit.MOTION)
        return not order.handle.is_over and all(
            self._ledger.authorise(token, leaf) is None for leaf in order.motor_leaves
        )

    def _find_way(self, order: PendingOrder, posture: str | None) -> None:
        """Note the motions that lead from a posture to an order begins, or goes."""
        handle, outputs = order.handle, order.outputs
        goal, motion = outputs.way_to, outputs.motion
        if goal is None:
            return
        says = f"{motion.name!r} begins in" if motion else f"{outputs.name!r} goes to"
        if posture is None:
            handle.refused = NotOrdered.POSTURE_UNKNOWN
            handle.detail = (
                f"{says} {goal}, and the present posture is not known; tell it, or "
                "give a motion that begins in any."
            )
            return
        way = find_way(self._library, posture, goal)
        if way is None:
            handle.refused = NotOrdered.NO_WAY
            handle.detail = f"{says} {goal}; no transitions lead there from {posture}."
            return
        self._go(order, posture, tuple(self._library.motion(x.motion) for x in way))

    def _go(self, order: PendingOrder, start: str, motions: tuple[Motion, ...]) -> None:
        """Note where an order begins, and what leads from there to where it goes."""
        order.start = start
        fixed = order.outputs.motion
        if fixed is None:
            order.way, moves = motions, motions
        else:
            order.initial, moves = motions, (*motions, fixed)
        order.motor_leaves = frozenset(self._maker.leaves(moves))

    def _check_rights(self, order: PendingOrder) -> None:
        for unit, content in _contents(order):
            token = order.tokens.get(unit)
            leaves = self._maker.leaves(content)
            if not leaves and content != ():
                order.handle.refused = NotOrdered.NO_DEVICE
                order.handle.detail = f"the robot has nothing to put out {unit} with."
                return
            lent = self._ledger.lent(token) if token is not None else ()
            for leaf in leaves:
                reason = self._ledger.authorise(token, leaf)
                if reason is not None and leaf not in lent:
                    order.handle.refused = NotOrdered.NO_TOKEN
                    order.handle.detail = f"{unit} commands {leaf!r}: {reason}."
                    return


def _contents(order: PendingOrder) -> Iterator[tuple[Unit, Content]]:
    """Yield all that an order puts out, its initial motion first."""
    if order.initial:
        yield Unit.MOTION, order.initial
    for unit in order.outputs.units:
        yield unit, order.content(unit)
