"""Which streams the transmitter takes, and why not the others."""

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.sync.streams.stream import Stream
from controllers.sync.transmitter.member import Member
from controllers.sync.transmitter.rights import lost_right
from controllers.sync.transmitter.running import Running
from controllers.sync.transmitter.waiting_groups import WaitingGroups
from controllers.sync.transmitter.words import EndReason, NotReceived, StreamState
from models import BadInput
from models.values import short

ENDS_GROUP = (NotReceived.GROUP_EXCEEDS, NotReceived.DOUBLED_MEMBER)
"""Refusals that end the whole group, since it can never be right (reading of SY-8)."""


class Admission:
    """Tests streams that come, and knows those that are not over."""

    def __init__(
        self, ledger: Ledger, running: Running, waiting: WaitingGroups
    ) -> None:
        """Begin without streams."""
        self._ledger = ledger
        self._running = running
        self._waiting = waiting
        self.members: dict[int, Member] = {}
        """By number."""
        self._streams: dict[int, Member] = {}
        """The same by the identity of their streams."""

    def test(self, member: Member, tick: int) -> NotReceived | None:
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

    def keep(self, member: Member) -> None:
        """Know a stream that was taken."""
        self.members[member.number] = member
        self._streams[id(member.stream)] = member

    def forget(self, member: Member, tick: int) -> None:
        """Forget a stream that is over."""
        del tick
        self.members.pop(member.number, None)
        self._streams.pop(id(member.stream), None)

    def _without_right(self, member: Member) -> NotReceived | None:
        _check_leaves(self._ledger, member.stream)
        waits = member.key is not None
        lent = self._ledger.lent(member.stream.token) if waits else ()
        lost = lost_right(self._ledger, member.stream, lent)
        member.receipt.detail = lost
        return NotReceived.NO_TOKEN if lost else None

    def _out_of_place(self, member: Member, tick: int) -> NotReceived | None:
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

    def _check_order(self, member: Member) -> None:
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
