"""What an order does not use during its initial motion is lent (SY-16, SY-23, SY-27).

Lights and loudspeaker obey everybody who asks for them while the robot goes to where a
group begins; when the group is about to be issued its token recalls them. Motors stay
held: the posture rests on all of them.
"""

from collections.abc import Iterable

from controllers.resources.ledger import Ledger
from controllers.resources.tokens import Token
from controllers.sync.orders.pending_order import PendingOrder
from controllers.sync.streams.stream_maker import StreamMaker
from models.library import Unit


class Lending:
    """Lends for orders, and recalls in time."""

    def __init__(self, maker: StreamMaker, ledger: Ledger) -> None:
        """Build it from what knows leaves and what keeps reservations."""
        self._maker = maker
        self._ledger = ledger

    def begin(
        self, order: PendingOrder, others: Iterable[PendingOrder], tick: int
    ) -> None:
        """Lend what a new order needs only after its initial motion.

        Args:
            order: was admitted.
            others: under way; a token that one of them proves itself by lends nothing.
            tick: now.
        """
        if not order.initial or order.joins is not None:
            return
        used = {t for other in others for t in other.tokens.values()}
        later: dict[Token, set[str]] = {}
        for unit in order.later_units:
            if unit is not Unit.MOTION and (token := order.tokens[unit]) not in used:
                leaves = self._maker.leaves(order.content(unit))
                later.setdefault(token, set()).update(leaves)
        for token, names in later.items():
            if token == order.tokens[Unit.MOTION]:  # another one would have nothing
                self._ledger.lend(token, tick, sorted(names))

    def end(
        self, order: PendingOrder, tick: int, units: Iterable[Unit] | None = None
    ) -> None:
        """Recall what the tokens of an order have lent.

        Args:
            order: needs it now, or is over.
            tick: now.
            units: which of its outputs need it; None: all that was lent comes back.
        """
        for token in dict.fromkeys(order.tokens.values()):
            if not self._ledger.lent(token):
                continue
            names = None
            if units is not None:
                contents = map(order.content, units)
                names = sorted(
                    {leaf for one in contents for leaf in self._maker.leaves(one)}
                )
            self._ledger.recall(token, tick, names)
