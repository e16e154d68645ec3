"""The streams that run: one item each in a slot, of a group all or none."""

from collections.abc import Sequence
from itertools import chain

from controllers.arbitration.gate import Gate
from controllers.arbitration.gate.slot import RequiredRights
from controllers.arbitration.manager.ledger import Ledger
from controllers.sync.streams.stream import CannotBegin
from controllers.sync.transmitter.endings import Endings
from controllers.sync.transmitter.member import Member, OnSignal, Part, Play
from controllers.sync.transmitter.rights import lost_right
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.teller import Teller
from controllers.sync.transmitter.words import EndReason, StreamState
from models import BadInput

_Out = tuple[Member, int]
"""A member and the place of its item that went out."""


class Running:
    """Plays in the order of their starts, and who uses which leaf."""

    def __init__(
        self, gate: Gate, ledger: Ledger, endings: Endings, teller: Teller
    ) -> None:
        """Begin with nothing that runs."""
        self._gate = gate
        self._ledger = ledger
        self._endings = endings
        self._teller = teller
        self._plays: dict[Play, None] = {}
        self._groups: dict[GroupKey, Play] = {}
        self._users: dict[str, list[Member]] = {}
        self._seen = -1
        """Count of the ledger's changes up to which all rights are known to hold."""
        endings.on_end.append(self._let_go)

    # -- looking ----------------------------------------------------------------------

    def group(self, key: GroupKey) -> Play | None:
        """Return a group that has started and is not over."""
        return self._groups.get(key)

    def users(self, leaves: Sequence[str]) -> list[Member]:
        """Return those that use one of some leaves, paused ones too."""
        users = self._users
        found = chain.from_iterable(users.get(leaf, ()) for leaf in leaves)
        return list(dict.fromkeys(found))

    # -- changing ---------------------------------------------------------------------

    def begin(self, play: Play, tick: int) -> bool:
        """Start a play: all its streams prepare their items, or it is over.

        Returns:
            Whether it runs; its first items go out with the next `send`.
        """
        present, lengths = self._gate.present, []
        for member in play.live:
            lost = lost_right(self._ledger, member.stream)
            if lost:
                self._endings.end_play(play, EndReason.REVOKED, tick, lost)
                return False
        for member in play.live:
            try:
                if member.why_not and (why := member.why_not(present)):
                    raise CannotBegin(member.stream.label, why)
                lengths.append(_length(member, member.stream.begin(present)))
            except (CannotBegin, BadInput) as error:
                self._endings.end_play(play, EndReason.CANNOT_BEGIN, tick, str(error))
                return False
        for member, length in zip(play.live, lengths, strict=True):
            member.receipt.items = length
            member.receipt.state = StreamState.RUNNING
            for leaf in member.stream.leaves:
                self._users.setdefault(leaf, []).append(member)
        self._plays[play] = None
        if play.key is not None:
            self._groups[play.key] = play
        return True

    def revoke_lost(self, tick: int) -> None:
        """End what has lost its right, whole, paused or not; asked only on a change."""
        changes = self._ledger.changes
        if changes == self._seen:
            return
        for play in tuple(self._plays):
            for member in tuple(play.live):
                lost = lost_right(self._ledger, member.stream)
                if lost:
                    self._endings.end_play(play, EndReason.REVOKED, tick, lost)
                    break
        self._seen = changes

    # -- a slot -----------------------------------------------------------------------

    def send(self, tick: int) -> None:
        """Give the gate every stream's item of this slot, a batch for each play."""
        for play in tuple(self._plays):
            if play.batch is not None:  # of a slot that was not settled
                play.batch.is_broken = True
                play.batch = None
            if play.pause is None:
                parts = [(one, one.stream.item(one.receipt.sent)) for one in play.live]
            elif play.pause.lead:
                parts = play.pause.lead[0]
            else:
                continue
            try:
                play.batch = self._gate.submit_together(
                    [(one.stream.token, item) for one, item in parts if item],
                    _resting(play.live, parts),
                )
            except BadInput as error:
                self._endings.end_play(play, EndReason.CANNOT_BEGIN, tick, str(error))
                continue
            for one, item in parts:
                one.values = len(item)

    def settle(self, tick: int) -> None:
        """Note what the gate has written: only that has gone out."""
        out: list[_Out] = []
        signals: list[OnSignal] = []
        for play in tuple(self._plays):
            batch, play.batch = play.batch, None
            if batch is None:
                continue
            if batch.is_broken:
                self._endings.end_play(play, EndReason.REVOKED, tick, batch.why)
            elif play.pause is not None and play.pause.lead:
                out += [(member, -1) for member, _ in play.pause.lead.pop(0)]
            else:
                out += self._count(play, tick, signals)
        if self._teller.tells_items:
            for member, k in sorted(out, key=_bus_order):
                self._teller.sent(member, k, tick)
        for member, k in out:
            if k + 1 == member.receipt.items:
                self._endings.end(member, EndReason.DONE, tick)
        for signal in signals:
            signal(tick)

    # -- inside -----------------------------------------------------------------------

    def _count(self, play: Play, tick: int, signals: list[OnSignal]) -> list[_Out]:
        """Count the items of a play that went out; collect the signals that are due."""
        if not play.has_started:
            self._tell_start(play, tick)
        out = []
        for member in play.live:
            receipt = member.receipt
            out.append((member, receipt.sent))
            parts = member.stream.parts
            if parts and receipt.sent in parts:
                self._teller.part_started(member, parts[receipt.sent], tick)
            receipt.sent += 1
            left = (receipt.items or 0) - receipt.sent
            if member.signal_at is not None and left <= member.signal_at:
                if member.on_signal is not None:
                    signals.append(member.on_signal)
                member.signal_at = None
        return out

    def _tell_start(self, play: Play, tick: int) -> None:
        play.has_started = True
        if play.key is not None:
            streams = (member.number for member in play.members)
            self._teller.group_started(play.key, streams, tick)
        for member in play.live:
            member.receipt.started_tick = tick
            self._teller.started(member, tick)

    def _let_go(self, member: Member, tick: int) -> None:
        """Free the leaves of a stream that has ended."""
        del tick
        play = member.play
        if play is None or play not in self._plays:
            return
        for leaf in member.stream.leaves:
            self._users[leaf].remove(member)
        if not play.live:
            del self._plays[play]
            if play.key is not None:
                del self._groups[play.key]


def _length(member: Member, items: int) -> int:
    if items < 1:
        raise CannotBegin(member.stream.label, f"it has {items} items")
    return items


def _resting(live: Sequence[Member], parts: Sequence[Part]) -> RequiredRights:
    """Return the rights of those whose items leave out a leaf in this slot.

    Their tokens have to hold all the same: a group is a whole.
    """
    full = [one for one, item in parts if len(item) == len(one.stream.leaves)]
    if len(full) == len(live):
        return ()
    return [(one.stream.token, one.stream.leaves) for one in live if one not in full]


def _bus_order(out: _Out) -> tuple[str, int, int]:
    """Order items as they stand on each bus within an instant (SY-12)."""
    member, _ = out
    return member.bus, member.order, member.number
