"""The one place in which a stream ends, for whatever reason."""

from collections.abc import Callable, Iterable

from controllers.sync.transmitter.member import Member, Play
from controllers.sync.transmitter.teller import Teller
from controllers.sync.transmitter.words import EndReason, StreamState


class Endings:
    """Ends streams; those who listen let go of them."""

    __slots__ = ("_teller", "on_end")

    def __init__(self, teller: Teller) -> None:
        """Begin with nobody who listens."""
        self._teller = teller
        self.on_end: list[Callable[[Member, int], None]] = []
        """Called with each stream that has ended, and the tick, in this order."""

    def end(
        self, member: Member, reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End one stream, unless it is over."""
        receipt = member.receipt
        if receipt.state is StreamState.ENDED:
            return
        receipt.state = StreamState.ENDED
        receipt.reason = reason
        receipt.detail = detail
        receipt.ended_tick = tick
        member.signal_at = member.on_signal = None
        if member.play is not None:
            member.play.live.remove(member)
        self._teller.ended(member, reason, detail, tick)
        for let_go in self.on_end:
            let_go(member, tick)

    def end_all(
        self, members: Iterable[Member], reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End several streams for one reason, in their order."""
        for member in tuple(members):
            self.end(member, reason, tick, detail)

    def end_play(
        self, play: Play, reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End what is left of a play; what it gave the gate in this slot is not put."""
        if play.batch is not None:
            play.batch.is_broken = True
            play.batch = None
        self.end_all(play.live, reason, tick, detail)
