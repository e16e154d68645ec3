"""What an order does not use before its motion's turn is lent (SY-16, SY-23, SY-27).

Lights and loudspeaker obey everybody who asks for them while the robot goes to where a
group begins, or does what the group joins on to; when the motion of the group is about
to be issued, its tokens recall them. Motors stay held: the posture rests on all.
"""

from collections.abc import Iterable

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.sync.orders.pending_order import PendingOrder, are_one_group
from controllers.sync.streams.stream_maker import StreamMaker
from models.library import Unit

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
