"""A converter: from an output command to a stream, after the time that it takes.

One for each unit: motion (102), light (103) and sound (104) [CN1396856, fig. 10].
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from controllers.arbitration.tokens import Token
from controllers.sync.orders.content import Content
from controllers.sync.orders.delays import DelayModel, slots_of
from controllers.sync.orders.pending_order import PendingOrder
from controllers.sync.orders.transmitting import Transmitting
from controllers.sync.streams.stream import Stream
from controllers.sync.transmitter.member import WhyNot
from controllers.sync.transmitter.receipt import Receipt
from controllers.sync.transmitter.sync_tag import SyncTag
from models import BadInput
from models.library import Unit


@dataclass(kw_only=True, slots=True, eq=False)
class OutputCommand:
    """What the command controller tells a converter."""

    order: PendingOrder
    """What it belongs to."""
    unit: Unit
    name: str
    """Of the motion, light pattern or sound."""
    content: Content
    token: Token
    tag: SyncTag | None
    """ID and points, at the head of the data (SY-10); None: independent."""
    is_initial: bool = False
    """Whether it is a prep command: the motions lead to where the order begins."""
    after: Receipt | None = None
    """Of the motion that it joins on to."""
    signal_at: int | None = None
    """Of a prep command: items left at which transmission is enabled (SY-22)."""
    on_signal: Callable[[int], None] | None = None
    why_not: WhyNot | None = None
    """Says in the slot of the start why it cannot begin; empty: it can."""
    is_cancelled: bool = False
    """Whether it is not wanted any more."""


class Converter:
    """Makes streams of the output commands for one unit.

    The command controller calls `take` when it issues a command and `step` once a slot;
    commands that take equally long leave in the order in which they came.
    """

    def __init__(
        self,
        unit: Unit,
        make: Callable[[OutputCommand], Stream],
        transmitter: Transmitting,
        delays: DelayModel,
        slot_s: float,
        on_converted: Callable[[OutputCommand, Receipt | BadInput, int], None],
    ) -> None:
        """Build the converter of a unit.

        Args:
            unit: motion, light or sound.
            make: turns a command into a stream.
            transmitter: gets the streams.
            delays: the true time of each conversion.
            slot_s: length of a slot, in s.
            on_converted: called with the command, its stream's receipt, or the error
                that says why there is no stream, and the tick.
        """
        self.unit = unit
        self._make = make
        self._transmitter = transmitter
        self._delays = delays
        self._slot_s = slot_s
        self._on_converted = on_converted
        self._at_work: list[tuple[int, int, OutputCommand]] = []
        self._count = 0

    def take(self, command: OutputCommand, tick: int) -> None:
        """Begin to convert a command."""
        delay_s = self._delays.delay_s(self.unit, command.name)
        self._count += 1
        ready = tick + slots_of(delay_s, self._slot_s)
        heapq.heappush(self._at_work, (ready, self._count, command))

    def step(self, tick: int) -> None:
        """Hand the streams that are ready to the transmitter."""
        while self._at_work and self._at_work[0][0] <= tick:
            command = heapq.heappop(self._at_work)[2]
            if command.is_cancelled:
                continue
            self._on_converted(command, self._hand_over(command, tick), tick)

    def _hand_over(self, command: OutputCommand, tick: int) -> Receipt | BadInput:
        try:
            stream = self._make(command)
        except BadInput as error:
            return error
        if command.order.is_interrupt:
            return self._transmitter.interrupt(stream, tick, why_not=command.why_not)
        return self._transmitter.receive(
            stream,
            command.tag,
            tick,
            after=command.after,
            signal_at=command.signal_at,
            on_signal=command.on_signal,
            why_not=command.why_not,
        )
