"""Which streams the transmitter takes, and those that run: one item each in a slot.

A token has to cover all leaves of its stream, at the receipt and as long as it runs; of
a group all items go out in a slot, or none does.
"""

from collections.abc import Collection, Sequence
from itertools import chain

from controllers.arbitration.gate import Gate
from controllers.arbitration.gate.slot import RequiredRights
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.transmitter.buses.bus import WaitingGroups
from controllers.transmitter.buses.group import (
    Group,
    OnSignal,
    Part,
    ReceivedStream,
    StreamEndings,
    StreamEvents,
)
from controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    StreamState,
)
from controllers.transmitter.streams import CannotBegin, Stream
from models import BadInput, UnknownName
from models.values import short


def why_no_right(ledger: Ledger, stream: Stream, lent: Collection[str] = ()) -> str:
    """Return which leaf a stream may not command now, and why; empty: none.

    Args:
        ledger: knows.
        stream: with its token.
        lent: leaves that it need not have now: its token recalls them in time.
    """
    for leaf in stream.leaves:
        try:
            reason = ledger.authorise(stream.token, leaf)
        except UnknownName:  # it was removed from the list of resources
            return f"{leaf}: not known any more"
        if reason is not None and leaf not in lent:
            return f"{leaf}: {reason}"
    return ""


_Out = tuple[ReceivedStream, int]
"""A member and the place of its item that went out."""


class Running:
    """Plays in the order of their starts, and who uses which leaf."""

    def __init__(
        self, gate: Gate, ledger: Ledger, endings: StreamEndings, events: StreamEvents
    ) -> None:
        """Begin with nothing that runs."""
        self._gate = gate
        self._ledger = ledger
        self._endings = endings
        self._events = events
        self._plays: dict[Group, None] = {}
        self._groups: dict[GroupKey, Group] = {}
        self._users: dict[str, list[ReceivedStream]] = {}
        self._seen = -1
        """Count of the ledger's changes up to which all rights are known to hold."""
        endings.on_end.append(self._let_go)

    # -- looking ----------------------------------------------------------------------

    def group(self, key: GroupKey) -> Group | None:
        """Return a group that has started and is not over."""
        return self._groups.get(key)

    def users(self, leaves: Sequence[str]) -> list[ReceivedStream]:
        """Return those that use one of some leaves, paused ones too."""
        users = self._users
        found = chain.from_iterable(users.get(leaf, ()) for leaf in leaves)
        return list(dict.fromkeys(found))

    # -- changing ---------------------------------------------------------------------

    def begin(self, play: Group, tick: int) -> bool:
        """Start a play: all its streams prepare their items, or it is over.

        Returns:
            Whether it runs; its first items go out with the next `send`.
        """
        present, lengths = self._gate.present, []
        for member in play.live:
            lost = why_no_right(self._ledger, member.stream)
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
                lost = why_no_right(self._ledger, member.stream)
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
        if self._events.tells_items:
            for member, k in sorted(out, key=_bus_order):
                self._events.sent(member, k, tick)
        for member, k in out:
            if k + 1 == member.receipt.items:
                self._endings.end(member, EndReason.DONE, tick)
        for signal in signals:
            signal(tick)

    # -- inside -----------------------------------------------------------------------

    def _count(self, play: Group, tick: int, signals: list[OnSignal]) -> list[_Out]:
        """Count the items of a play that went out; collect the signals that are due."""
        if not play.has_started:
            self._tell_start(play, tick)
        out = []
        for member in play.live:
            receipt = member.receipt
            out.append((member, receipt.sent))
            parts = member.stream.parts
            if parts and receipt.sent in parts:
                self._events.part_started(member, parts[receipt.sent], tick)
            receipt.sent += 1
            left = (receipt.items or 0) - receipt.sent
            if member.signal_at is not None and left <= member.signal_at:
                if member.on_signal is not None:
                    signals.append(member.on_signal)
                member.signal_at = None
        return out

    def _tell_start(self, play: Group, tick: int) -> None:
        play.has_started = True
        if play.key is not None:
            streams = (member.number for member in play.members)
            self._events.group_started(play.key, streams, tick)
        for member in play.live:
            member.receipt.started_tick = tick
            self._events.started(member, tick)

    def _let_go(self, member: ReceivedStream, tick: int) -> None:
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


def _length(member: ReceivedStream, items: int) -> int:
    if items < 1:
        raise CannotBegin(member.stream.label, f"it has {items} items")
    return items


def _resting(live: Sequence[ReceivedStream], parts: Sequence[Part]) -> RequiredRights:
    """Return the rights of those whose items leave out a leaf in this slot.

    Their tokens have to hold all the same: a group is a whole.
    """
    full = [one for one, item in parts if len(item) == len(one.stream.leaves)]
    if len(full) == len(live):
        return ()
    return [(one.stream.token, one.stream.leaves) for one in live if one not in full]


def _bus_order(out: _Out) -> tuple[str, int, int]:
    """Order items as they stand on each bus within an instant."""
    member, _ = out
    return member.bus, member.order, member.number


ENDS_GROUP = (NotReceived.GROUP_EXCEEDS, NotReceived.DOUBLED_MEMBER)
"""Refusals that end the whole group, since it can never be right."""


class StreamAdmission:
    """Tests streams that come, and knows those that are not over."""

    def __init__(
        self, ledger: Ledger, running: Running, waiting: WaitingGroups
    ) -> None:
        """Begin without streams."""
        self._ledger = ledger
        self._running = running
        self._waiting = waiting
        self.members: dict[int, ReceivedStream] = {}
        """By number."""
        self._streams: dict[int, ReceivedStream] = {}
        """The same by the identity of their streams."""

    def test(self, member: ReceivedStream, tick: int) -> NotReceived | None:
        """Return why a stream is refused, None if it is not; its receipt says so too.

        A stream without a right is refused before it can do harm to a group.

        Raises:
            UnknownName: it has a leaf that the ledger does not know.
            BadInput: its token is none, one of its leaves is a composite, or it follows
                its own group.
        """
        refused = self._without_right(member) or self._out_of_place(member, tick)
        if refused is not None:
            receipt = member.receipt
            receipt.refused, receipt.reason = refused, EndReason.REJECTED
            receipt.state, receipt.ended_tick = StreamState.ENDED, tick
        return refused

    def keep(self, member: ReceivedStream) -> None:
        """Know a stream that was taken."""
        self.members[member.number] = member
        self._streams[id(member.stream)] = member

    def forget(self, member: ReceivedStream, tick: int) -> None:
        """Forget a stream that is over."""
        del tick
        self.members.pop(member.number, None)
        self._streams.pop(id(member.stream), None)

    def _without_right(self, member: ReceivedStream) -> NotReceived | None:
        _check_leaves(self._ledger, member.stream)
        waits = member.key is not None
        lent = self._ledger.lent(member.stream.token) if waits else ()
        lost = why_no_right(self._ledger, member.stream, lent)
        member.receipt.detail = lost
        return NotReceived.NO_TOKEN if lost else None

    def _out_of_place(self, member: ReceivedStream, tick: int) -> NotReceived | None:
        after, key = member.after, member.key
        if after is not None and after.is_over and not after.is_done:
            return NotReceived.AFTER_FAILED
        known = self._streams.get(id(member.stream))
        if known is not None and (key is None or known.key != key):
            return NotReceived.UNDER_WAY
        if key is not None:
            self._check_order(member)
            if self._running.group(key) is not None:
                return NotReceived.GROUP_STARTED
            return self._waiting.why_not(member, tick)
        if member.is_interrupt or (after is not None and not after.is_done):
            return None  # it pauses those that use its leaves, or waits for them
        users = self._running.users(member.stream.leaves)
        in_use = any(user.key is not None for user in users)
        return NotReceived.IN_USE if in_use else None

    def _check_order(self, member: ReceivedStream) -> None:
        before = None if member.after is None else member.after.number
        first = None if before is None else self.members.get(before)
        if first is not None and first.key == member.key:
            raise BadInput(
                f"{member.stream.label!r} follows stream {before} of its own group, "
                f"{member.key}; a group starts in one slot. Give them two groups."
            )


def _check_leaves(ledger: Ledger, stream: Stream) -> None:
    """Raise on what is no token; let the ledger raise on what is no leaf."""
    if type(stream.token) is not Token:
        raise BadInput(
            f"token of {stream.label!r} is {short(stream.token)}; give that of a "
            "reservation of all its leaves."
        )
    for leaf in stream.leaves:
        ledger.authorise(None, leaf)
