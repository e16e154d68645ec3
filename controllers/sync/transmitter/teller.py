"""Tells the ledger's listeners what happens to streams; without any it costs nothing.

Items are told only where the gate's commands are: some hundreds a second.
"""

from collections.abc import Iterable

from controllers.arbitration.manager.ledger import Ledger
from controllers.sync.transmitter.member import Member
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.trace import (
    GroupCompleted,
    GroupStarted,
    PartStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamReceived,
    StreamResumed,
    StreamStarted,
)
from controllers.sync.transmitter.words import EndReason, NotReceived


class Teller:
    """Makes the events of one transmitter."""

    __slots__ = ("_items", "_ledger", "_listeners")

    def __init__(self, ledger: Ledger) -> None:
        """Tell on behalf of one transmitter."""
        self._ledger = ledger
        self._listeners = ledger.listeners
        self._items = ledger.cfg.tells_commands

    @property
    def tells_items(self) -> bool:
        """Whether anybody is told of items."""
        return self._items and bool(self._listeners)

    def received(self, member: Member, tick: int, refused: NotReceived | None) -> None:
        """Tell that a stream came."""
        if not self._listeners:
            return
        stream, tag = member.stream, member.tag
        self._ledger.tell(
            StreamReceived(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                bus=member.bus,
                token=stream.token.id,
                leaves=tuple(sorted(stream.leaves)),
                group=None if tag is None else tag.group,
                preset=None if tag is None else tag.preset,
                points=0 if tag is None else tag.points,
                after=None if member.after is None else member.after.number,
                is_interrupt=member.is_interrupt,
                refused=refused,
                is_genuine=self._ledger.is_genuine(stream.token),
            )
        )

    def completed(
        self,
        key: GroupKey,
        streams: Iterable[int],
        found_by: tuple[str, ...],
        tick: int,
    ) -> None:
        """Tell that a group is complete."""
        if self._listeners:
            self._ledger.tell(
                GroupCompleted(
                    tick=tick,
                    group=key.group,
                    preset=key.preset,
                    streams=tuple(sorted(streams)),
                    found_by=found_by,
                )
            )

    def group_started(self, key: GroupKey, streams: Iterable[int], tick: int) -> None:
        """Tell that a group has started."""
        if self._listeners:
            self._ledger.tell(
                GroupStarted(
                    tick=tick,
                    group=key.group,
                    preset=key.preset,
                    streams=tuple(sorted(streams)),
                )
            )

    def started(self, member: Member, tick: int) -> None:
        """Tell that a stream has started."""
        if not self._listeners:
            return
        stream, key = member.stream, member.key
        self._ledger.tell(
            StreamStarted(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                leaves=tuple(sorted(stream.leaves)),
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                items=member.receipt.items or 0,
            )
        )

    def part_started(self, member: Member, label: str, tick: int) -> None:
        """Tell that one of the motions of a stream begins."""
        if self._listeners:
            number, unit = member.number, member.stream.unit
            self._ledger.tell(
                PartStarted(tick=tick, stream=number, unit=unit, label=label)
            )

    def sent(self, member: Member, k: int, tick: int) -> None:
        """Tell that an item was on its bus; asked for only if `tells_items`."""
        key = member.key
        self._ledger.tell(
            Sent(
                tick=tick,
                bus=member.bus,
                unit=member.stream.unit,
                stream=member.number,
                k=k,
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                values=member.values,
            )
        )

    def paused(self, member: Member, by: int, tick: int) -> None:
        """Tell that a stream is paused."""
        if self._listeners:
            self._ledger.tell(StreamPaused(tick=tick, stream=member.number, by=by))

    def resumed(self, member: Member, tick: int) -> None:
        """Tell that a stream goes on."""
        if self._listeners:
            self._ledger.tell(StreamResumed(tick=tick, stream=member.number))

    def ended(self, member: Member, reason: EndReason, detail: str, tick: int) -> None:
        """Tell that a stream is over."""
        if not self._listeners:
            return
        stream, key = member.stream, member.key
        self._ledger.tell(
            StreamEnded(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                reason=reason,
                sent=member.receipt.sent,
                detail=detail,
            )
        )
