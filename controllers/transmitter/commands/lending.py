"""Orders that join on to the motion of the order before them, and how they end.

What an order does not use before its motion's turn is lent.
Lights and loudspeaker obey everybody who asks for them while the robot goes to where a
group begins, or does what the group joins on to; when the motion of the group is about
to be issued, its tokens recall them. Motors stay held: the posture rests on all.

Orders end as a whole: done, failed in a part of them, or ended by somebody.
"""

from collections.abc import Callable, Iterable

from controllers.arbitration.events import Event
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.transmitter.commands.converter import StreamMaker
from controllers.transmitter.commands.issuing import Issuing
from controllers.transmitter.commands.order import PendingOrder, are_one_group
from controllers.transmitter.events import OrderEnded
from controllers.transmitter.receipt import EndReason
from controllers.transmitter.transmitter import Transmitter
from models.library import Unit


class OrderEndings:
    """Ends orders as a whole, and tells it."""

    def __init__(self, transmitter: Transmitter, tell: Callable[[Event], None]) -> None:
        """Build it from the transmitter that has the streams and who takes events."""
        self._transmitter = transmitter
        self._tell = tell

    def close(
        self, order: PendingOrder, reason: EndReason, why: str, tick: int
    ) -> None:
        """End an order: nothing of it is issued, converted or sent any more.

        An initial motion that the transmitter has goes on to its end: half way nobody
        would know in which posture the robot is.
        """
        order.handle.closed = reason
        order.handle.detail = why
        for command in order.commands:
            command.is_cancelled = True
        for receipt in order.handle.streams.values():
            self._transmitter.withdraw(receipt, tick)

    def watch(self, order: PendingOrder, tick: int) -> bool:
        """End an order of which a part has failed; tell and return whether it is over.

        A failed initial motion ends what should follow it; a member of a group ends the
        group (reading 24).
        """
        handle, initial = order.handle, order.handle.initial
        if initial is not None and initial.is_over and not initial.is_done:
            if not handle.is_over:
                why = (
                    f"its initial motion has ended: {initial.reason}. {initial.detail}"
                )
                self.close(order, EndReason.DELETED, why.strip(), tick)
        elif handle.group is not None and not handle.is_over:
            for part in handle.streams.values():
                if part.reason not in {None, EndReason.DONE}:
                    why = part.detail or str(part.refused or part.reason)
                    self.close(order, part.reason or EndReason.DELETED, why, tick)
                    break
        if not handle.is_over or handle.reason is None:
            return False
        key = handle.group
        self._tell(
            OrderEnded(
                tick=tick,
                order=handle.number,
                name=handle.name,
                group=key.group if key else None,
                preset=key.preset if key else None,
                reason=handle.reason,
                detail=handle.detail,
            )
        )
        return True


Loans = dict[Token, set[str]]


class Lending:
    """Lends for orders, and recalls in time."""

    def __init__(self, maker: StreamMaker, ledger: Ledger) -> None:
        """Build it from what knows leaves and what keeps reservations."""
        self._maker = maker
        self._ledger = ledger
        self._loans: dict[PendingOrder, Loans] = {}
        """What each order has lent, by its tokens."""
        self._waiting: dict[PendingOrder, None] = {}
        """Orders whose motion waits for another one."""

    def begin(
        self, order: PendingOrder, others: Iterable[PendingOrder], tick: int
    ) -> None:
        """Lend what a new order, and those of its group, need only at its turn.

        Args:
            order: was admitted.
            others: under way; what one of them uses by the same token is not lent.
            tick: now.
        """
        everyone = [*others, order]
        group = [one for one in everyone if one is order or are_one_group(one, order)]
        if order.initial or order.joins is not None:
            self._waiting[order] = None
        if any(one in self._waiting for one in group):
            for one in group:
                if not one.handle.is_over and one not in self._loans:
                    self._lend(one, everyone, tick)

    def end(self, order: PendingOrder, tick: int) -> None:
        """Recall what an order and those of its group have lent: it is its turn."""
        self._waiting.pop(order, None)
        group = [x for x in self._loans if x is order or are_one_group(x, order)]
        for one in group:
            for token, names in self._loans.pop(one).items():
                self._recall(token, names, tick)

    def give(self, order: PendingOrder, units: Iterable[Unit], tick: int) -> None:
        """Recall what an order needs at once, if its tokens have lent it."""
        for unit in units:
            leaves = self._maker.leaves(order.content(unit))
            self._recall(order.tokens[unit], leaves, tick)

    # -- inside -----------------------------------------------------------------------

    def _lend(
        self, order: PendingOrder, everyone: Iterable[PendingOrder], tick: int
    ) -> None:
        loans: Loans = {}
        for unit in order.later_units:
            if unit is not Unit.MOTION:
                names = set(self._maker.leaves(order.content(unit)))
                loans.setdefault(order.tokens[unit], set()).update(names)
        for other in everyone:
            if other is not order and not other.handle.is_over:
                for unit in other.outputs.units:
                    used = self._maker.leaves(other.content(unit))
                    loans.get(other.tokens[unit], set()).difference_update(used)
        self._loans[order] = loans
        for token, names in loans.items():
            if names and not any(self._ledger.authorise(token, x) for x in names):
                self._ledger.lend(token, tick, sorted(names))

    def _recall(self, token: Token, names: Iterable[str], tick: int) -> None:
        lent = self._ledger.lent(token)
        if back := sorted(name for name in names if name in lent):
            self._ledger.recall(token, tick, back)


class Joining:
    """Begins such an order when the motion before it is about to end.

    That is when the items left take as long as its own data are expected to take, as
    with an initial motion.
    """

    def __init__(
        self, issuing: Issuing, endings: OrderEndings, lending: Lending
    ) -> None:
        """Build it from what issues orders, what ends them, and what they lend."""
        self._issuing = issuing
        self._endings = endings
        self._lending = lending
        self._orders: list[PendingOrder] = []

    def add(self, order: PendingOrder) -> None:
        """Let an order wait for the motion of `order.joins`."""
        self._orders.append(order)

    def step(self, tick: int) -> None:
        """Begin what is due; end what can follow nothing any more."""
        if self._orders:
            self._orders = [x for x in self._orders if self._still_waits(x, tick)]

    def _still_waits(self, order: PendingOrder, tick: int) -> bool:
        handle, before = order.handle, order.joins
        if before is None or handle.is_over:
            return False
        receipt = before.handle.streams.get(Unit.MOTION)
        is_over = before.handle.is_over if receipt is None else receipt.is_over
        if is_over and not (receipt and receipt.is_done):
            why = f"{before.handle.name!r}, which it follows, did not come to its end"
            self._endings.close(order, EndReason.DELETED, why, tick)
            return False
        left = receipt.items_left if receipt else None
        first = order.first_units
        lead = self._issuing.lead((Unit.MOTION,) if first is None else first)
        if left is None or left > lead:
            return True
        handle.follows, order.joins = receipt, None
        if first is not None:
            self._lending.end(order, tick)
        self._issuing.plan(order, first, tick)
        return False
