"""Loans of resources that orders do not use before their turn.

Lights and loudspeaker are available to other owners while the robot moves to the start
posture of a group, or completes its predecessor. The group's tokens recall them when
its motion is about to be issued. Motors stay held, since all of them keep the posture.
"""

from collections.abc import Iterable, Sequence

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.commands.converter import StreamMaker
from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.models.library import Unit


class Lending:
    """Lends for orders, and recalls in time."""

    def __init__(
        self, maker: StreamMaker, ledger: Ledger, orders: Sequence[PlacedOrder]
    ) -> None:
        """Build it from what knows leaves, what keeps reservations, and all orders."""
        self._maker = maker
        self._ledger = ledger
        self._orders = orders

    def begin(self, order: PlacedOrder, tick: int) -> None:
        """Lend what an order, and those of its group, need only at its turn.

        What another order under way uses by the same token is not lent.
        """
        if order.prep or order.joins is not None:
            order.awaits_turn = True
        group = [one for one in self._orders if one.is_grouped_with(order)]
        if any(one.awaits_turn for one in group):
            for one in group:
                if not one.is_over and one.loans is None:
                    self._lend(one, tick)

    def end(self, order: PlacedOrder, tick: int) -> None:
        """Recall what an order and those of its group have lent: it is its turn."""
        order.awaits_turn = False
        for one in self._orders:
            if one.loans is not None and one.is_grouped_with(order):
                loans, one.loans = one.loans, None
                for token, names in loans.items():
                    self._recall(token, names, tick)

    def give(self, order: PlacedOrder, units: Iterable[Unit], tick: int) -> None:
        """Recall what an order needs at once, if its tokens have lent it."""
        for unit in units:
            leaves = self._maker.leaves(order.content(unit))
            self._recall(order.tokens[unit], leaves, tick)

    # -- inside -----------------------------------------------------------------------

    def _lend(self, order: PlacedOrder, tick: int) -> None:
        loans: dict[Token, set[str]] = {}
        for unit in order.later_units:
            if unit is not Unit.MOTION:
                names = set(self._maker.leaves(order.content(unit)))
                loans.setdefault(order.tokens[unit], set()).update(names)
        for other in self._orders:
            if other is not order and not other.is_over:
                for unit in other.units:
                    used = self._maker.leaves(other.content(unit))
                    loans.get(other.tokens[unit], set()).difference_update(used)
        order.loans = loans
        for token, names in loans.items():
            if names and not any(self._ledger.authorise(token, x) for x in names):
                self._ledger.lend(token, tick, sorted(names))

    def _recall(self, token: Token, names: Iterable[str], tick: int) -> None:
        lent = self._ledger.lent(token)
        if back := sorted(name for name in names if name in lent):
            self._ledger.recall(token, tick, back)
