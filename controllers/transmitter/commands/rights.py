"""Rights of orders: a token for every output, and loans until an order's turn.

An order without all tokens is refused before the robot moves. Otherwise the initial
motion would end in the start posture of a group that cannot start. Lights and
loudspeaker are lent to other owners while the robot moves to the start posture of a
group, or completes the preceding motion. The group's tokens recall them when its motion
is about to be issued. Motors are not lent, since all of them hold the posture.
"""

from collections.abc import Collection, Iterable, Sequence

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.commands.converter import Converters
from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.controllers.transmitter.events import NotOrdered
from nao_testbed.models.library import Unit


class Rights:
    """Checks of orders' tokens, and loans of leaves that an order does not need yet."""

    def __init__(
        self, converters: Converters, ledger: Ledger, orders: Sequence[PlacedOrder]
    ) -> None:
        """Create the checks for converters, a ledger and the orders under way."""
        self._leaves = converters.leaves
        self._ledger = ledger
        self._orders = orders

    def admit(self, order: PlacedOrder) -> None:
        """Refuse an order without a device or a token for one of its outputs."""
        if order.refused is not None:
            return
        for unit, content in order.contents():
            token = order.tokens.get(unit)
            leaves = self._leaves(content)
            if not leaves and content != ():
                order.refused = NotOrdered.NO_DEVICE
                order.detail = f"the robot has no device for {unit}."
                return
            lent = self._ledger.lent(token) if token is not None else ()
            if why := self.refusal(token, leaves, lent):
                order.refused = NotOrdered.NO_TOKEN
                order.detail = f"{unit} {why}."
                return

    def can_be_followed(self, order: PlacedOrder) -> bool:
        """Return True if an order has not ended and its token is valid."""
        token = order.tokens.get(Unit.MOTION)
        return not order.is_over and not self.refusal(token, order.motor_leaves)

    def refusal(
        self, token: Token | None, leaves: Iterable[str], lent: Collection[str] = ()
    ) -> str:
        """Return the first leaf that a token neither covers nor lends; empty: none."""
        for leaf in leaves:
            reason = self._ledger.authorise(token, leaf)
            if reason is not None and leaf not in lent:
                return f"commands {leaf!r}: {reason}"
        return ""

    def lend(self, order: PlacedOrder, tick: int) -> None:
        """Lend the leaves that an order and its group need only at their turn.

        Leaves that another order under way uses with the same token are not lent.
        """
        group = [one for one in self._orders if one.is_grouped_with(order)]
        if any(one.awaits_turn for one in group):
            for one in group:
                if not one.is_over and one.loans is None:
                    self._lend(one, tick)

    def recall(self, order: PlacedOrder, tick: int) -> None:
        """Recall the loans of an order and its group at their turn."""
        for one in self._orders:
            if one.loans is not None and one.is_grouped_with(order):
                loans, one.loans = one.loans, None
                for token, names in loans.items():
                    self._recall(token, names, tick)

    def recall_units(
        self, order: PlacedOrder, units: Iterable[Unit], tick: int
    ) -> None:
        """Recall the leaves of some units of an order that its tokens have lent."""
        for unit in units:
            leaves = self._leaves(order.content(unit))
            self._recall(order.tokens[unit], leaves, tick)

    # -- internals ---------------------------------------------------------------------

    def _lend(self, order: PlacedOrder, tick: int) -> None:
        loans: dict[Token, set[str]] = {}
        for unit in order.later_units:
            if unit is not Unit.MOTION:
                names = set(self._leaves(order.content(unit)))
                loans.setdefault(order.tokens[unit], set()).update(names)
        for other in self._orders:
            if other is not order and not other.is_over:
                for unit in other.units:
                    used = self._leaves(other.content(unit))
                    loans.get(other.tokens[unit], set()).difference_update(used)
        order.loans = loans
        for token, names in loans.items():
            if names and not any(self._ledger.authorise(token, x) for x in names):
                self._ledger.lend(token, tick, sorted(names))

    def _recall(self, token: Token, names: Iterable[str], tick: int) -> None:
        lent = self._ledger.lent(token)
        if back := sorted(name for name in names if name in lent):
            self._ledger.recall(token, tick, back)
