"""What the sender of a stream keeps: it says how far the stream has come."""

from dataclasses import dataclass

from controllers.sync.transmitter.words import EndReason, NotReceived, StreamState


@dataclass(kw_only=True, slots=True, eq=False)
class Receipt:
    """The state of one stream. Its sender looks; only the transmitter writes."""

    number: int
    """Of the stream, counted from 1 in the order of receiving, refused ones too."""
    received_tick: int
    refused: NotReceived | None = None
    """Why it was not received; None: it was."""
    state: StreamState = StreamState.WAITING
    reason: EndReason | None = None
    """Why it ended; None: it has not."""
    detail: str = ""
    """More about that, for people."""
    started_tick: int | None = None
    """Slot in which its first item went out."""
    ended_tick: int | None = None
    """Slot in which its last item went out, or in which it ended otherwise."""
    items: int | None = None
    """How many it has; None before it starts."""
    sent: int = 0
    """How many of them have gone out."""

    @property
    def items_left(self) -> int | None:
        """How many have still to go out; None before it starts."""
        return None if self.items is None else self.items - self.sent

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state is StreamState.ENDED

    @property
    def is_done(self) -> bool:
        """Whether it came to its end."""
        return self.reason is EndReason.DONE
