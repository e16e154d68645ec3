"""What the sender of an order keeps: it says how far the order has come."""

from dataclasses import dataclass, field

from controllers.sync.orders.pipeline_words import NotOrdered
from controllers.sync.transmitter.receipt import Receipt
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.words import EndReason, StreamState
from models.library import Unit


@dataclass(kw_only=True, slots=True, eq=False)
class OrderHandle:
    """The state of one order. Its sender looks; only the command controller writes.

    What the streams' receipts say shows at once, in the slot in which it happens.
    """

    number: int
    """Of the order, counted from 1."""
    name: str
    units: tuple[Unit, ...]
    """The units that it uses, in their order on a bus."""
    group: GroupKey | None
    """None: its outputs are independent."""
    refused: NotOrdered | None = None
    """Why nothing of it is done; None: it is."""
    detail: str = ""
    """More about why it was refused or failed, for people."""
    initial: Receipt | None = None
    """Of the initial motion; None: there is none, or it is not converted yet."""
    streams: dict[Unit, Receipt] = field(default_factory=dict)
    """Of the outputs that are converted."""
    closed: EndReason | None = None
    """Why it ended before all of its outputs were converted."""
    follows: Receipt | None = None
    """Of the motion that it joins on to: an initial one, or that of another order."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, for whatever reason."""
        if self.closed is not None or self.refused is not None:
            return True
        streams = self.streams
        return len(streams) == len(self.units) and all(
            receipt.is_over for receipt in streams.values()
        )

    @property
    def reason(self) -> EndReason | None:
        """Why it ended: DONE, or why the first of its outputs failed; None: it has not.

        A refused order is REJECTED.
        """
        if not self.is_over:
            return None
        if self.refused is not None:
            return EndReason.REJECTED
        reasons = [r.reason for r in self.streams.values()]
        failed = [x for x in reasons if x is not None and x is not EndReason.DONE]
        return next(iter(failed), self.closed or EndReason.DONE)

    @property
    def has_failed(self) -> bool:
        """Whether it is over, and not because all of it went out."""
        return self.is_over and self.reason is not EndReason.DONE

    @property
    def state(self) -> StreamState:
        """What its own outputs do; an initial motion counts as waiting."""
        if self.is_over:
            return StreamState.ENDED
        states = [receipt.state for receipt in self.streams.values()]
        for state in (StreamState.PAUSED, StreamState.RUNNING):
            if state in states:
                return state
        waits = self.started_tick is None
        return StreamState.WAITING if waits else StreamState.RUNNING

    @property
    def started_tick(self) -> int | None:
        """Slot of its first item, without an initial motion; None: not yet."""
        ticks = [r.started_tick for r in self.streams.values()]
        return min((tick for tick in ticks if tick is not None), default=None)

    @property
    def ended_tick(self) -> int | None:
        """Slot in which the last of its streams ended; None: it is not over."""
        if not self.is_over:
            return None
        ticks = [r.ended_tick for r in self.streams.values()]
        return max((tick for tick in ticks if tick is not None), default=None)

    @property
    def dead_slots(self) -> int | None:
        """Empty slots between the motion before it and what joins on to it (SY-22).

        That is all of a group, else its motion. None where there is no motion before
        it, or nothing has started.
        """
        before = self.follows
        motion = self.streams.get(Unit.MOTION)
        if self.group is not None:
            start = self.started_tick
        else:
            start = motion.started_tick if motion else None
        if before is None or before.ended_tick is None or start is None:
            return None
        return start - before.ended_tick - 1

    @property
    def held_slots(self) -> int | None:
        """Slots for which the transmitter had to remember its data (SY-22).

        From the first stream's receipt to the start; None: it has not started.
        """
        if self.started_tick is None:
            return None
        first = min(receipt.received_tick for receipt in self.streams.values())
        return self.started_tick - first
