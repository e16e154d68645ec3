"""Orders that join on to the motion of the order before them (SY-1)."""

from controllers.sync.orders.issuing import Issuing
from controllers.sync.orders.lending import Lending
from controllers.sync.orders.order_endings import OrderEndings
from controllers.sync.orders.pending_order import PendingOrder
from controllers.sync.transmitter.words import EndReason
from models.library import Unit


class Joining:
    """Begins such an order when the motion before it is about to end (SY-3).

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
