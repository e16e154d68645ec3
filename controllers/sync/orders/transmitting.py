"""What the pipeline asks of a transmitter."""

from collections.abc import Callable
from typing import Protocol

from controllers.sync.streams.stream import Stream
from controllers.sync.transmitter.member import WhyNot
from controllers.sync.transmitter.receipt import Receipt
from controllers.sync.transmitter.sync_tag import GroupKey, SyncTag


class Transmitting(Protocol):
    """Takes streams and puts their items out, those of a group together."""

    def receive(
        self,
        stream: Stream,
        tag: SyncTag | None,
        tick: int,
        *,
        after: Receipt | None = None,
        signal_at: int | None = None,
        on_signal: Callable[[int], None] | None = None,
        why_not: WhyNot | None = None,
    ) -> Receipt:
        """Take a stream.

        Args:
            stream: what to put out.
            tag: its group and points; None: it is independent.
            tick: now.
            after: of a stream that must have come to its end before.
            signal_at: items left of this stream at which `on_signal` is called.
            on_signal: gets the tick of that slot, after its items went out.
            why_not: asked in the slot of its start why it cannot begin; empty: it can.
        """

    def interrupt(
        self, stream: Stream, tick: int, *, why_not: WhyNot | None = None
    ) -> Receipt:
        """Start a stream in the next slot; what it disturbs pauses (SY-4)."""

    def withdraw(self, receipt: Receipt, tick: int) -> bool:
        """End a stream and its whole group; say whether it was not over."""

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group, waiting or started; say whether there was one."""

    def is_under_way(self, key: GroupKey, tick: int) -> bool:
        """Return whether no new group of this ID could begin now."""
