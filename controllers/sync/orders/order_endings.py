"""How orders end: done, failed in a part of them, or ended by somebody."""

from collections.abc import Callable

from controllers.arbitration.events import Event
from controllers.sync.orders.pending_order import PendingOrder
from controllers.sync.orders.pipeline_trace import OrderEnded
from controllers.sync.orders.transmitting import Transmitting
from controllers.sync.transmitter.words import EndReason


class OrderEndings:
    """Ends orders as a whole, and tells it."""

    def __init__(
        self, transmitter: Transmitting, tell: Callable[[Event], None]
    ) -> None:
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
