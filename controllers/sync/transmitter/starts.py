"""What has still to start: independent streams at once, groups when nothing holds them.

A complete group is held by a stream that it follows, by a leaf that is in use, or by a
bus that does not permit it. The first two cost nothing in a slot: the end of that
stream wakes it.
"""

from controllers.sync.transmitter.bus_permit import BusPermit
from controllers.sync.transmitter.endings import Endings
from controllers.sync.transmitter.member import Member, Play
from controllers.sync.transmitter.running import Running
from controllers.sync.transmitter.waiting_groups import WaitingGroups
from controllers.sync.transmitter.words import EndReason


class Starts:
    """Queues of what starts; what is free does so in the order in which it came."""

    def __init__(
        self,
        running: Running,
        waiting: WaitingGroups,
        endings: Endings,
        permit: BusPermit,
    ) -> None:
        """Begin with nothing to start."""
        self._running = running
        self._waiting = waiting
        self._endings = endings
        self._permit = permit
        self._at_once: list[Play] = []
        self._free: list[Play] = []
        """Those that nothing is known to hold."""
        self._held: dict[int, list[Play]] = {}
        """Stream to those that wait for its end."""
        self._count = 0
        endings.on_end.append(self._wake)

    def add_at_once(self, play: Play) -> None:
        """Let an independent stream start in the next slot, whatever waits (SY-15)."""
        self._at_once.append(play)

    def add(self, play: Play, tick: int) -> None:
        """Let a play start when all that it follows has come to its end."""
        self._count += 1
        play.place = self._count
        for member in play.live:
            before = member.after
            if before is None or before.is_done:
                continue
            if before.is_over:
                self._fail(play, before.number, before.reason, tick)
                return
            if before.number not in play.after:
                play.after.add(before.number)
                self._held.setdefault(before.number, []).append(play)
        if not play.after:
            self._free.append(play)

    def start_independent(self, tick: int) -> None:
        """Start the independent streams; each replaces those that it overlaps.

        Those that waited for another one come first: who came since then is later.
        """
        followers, self._free = _split(self._free)
        now, self._at_once = self._at_once, []
        for play in followers:
            if play.live and not self._hold(play):
                self._begin(play, tick)
        for play in now:
            if play.live:
                self._begin(play, tick)

    def start_groups(self, tick: int) -> None:
        """Start the groups that nothing holds in this slot (S9, S10)."""
        groups, self._free = self._free, []
        for play in sorted(groups, key=_place):
            if play.key is None:  # it became free just now
                self._free.append(play)
            elif play.live and not self._hold(play):
                if self._is_permitted(play, tick):
                    self._waiting.take(play.key)
                    self._running.begin(play, tick)
                else:
                    self._free.append(play)

    # -- inside -----------------------------------------------------------------------

    def _hold(self, play: Play) -> bool:
        """Let a play wait for the first stream that is in its way, if there is one."""
        users = self._running.users(leaves_of(play))
        if play.key is None:  # independent, it waits for groups alone
            users = [user for user in users if user.key is not None]
        if users:
            self._held.setdefault(users[0].number, []).append(play)
        return bool(users)

    def _is_permitted(self, play: Play, tick: int) -> bool:
        """Ask all buses of a group."""
        buses = dict.fromkeys(member.bus for member in play.live)
        return all(self._permit.permits(bus, tick) for bus in buses)

    def _begin(self, play: Play, tick: int) -> None:
        """Start an independent stream in the place of those that use its leaves."""
        for user in self._running.users(leaves_of(play)):
            if user.key is None and user.play is not None:
                why = f"by stream {play.members[0].number}"
                self._endings.end_play(user.play, EndReason.REPLACED, tick, why)
        self._running.begin(play, tick)

    def _wake(self, member: Member, tick: int) -> None:
        """Let those go on that waited for a stream; without it, some make no sense."""
        for play in self._held.pop(member.number, ()):
            if not play.live:
                continue
            if member.number in play.after:
                if not member.receipt.is_done:
                    self._fail(play, member.number, member.receipt.reason, tick)
                    continue
                play.after.remove(member.number)
            if not play.after:
                self._free.append(play)

    def _fail(
        self, play: Play, number: int, reason: EndReason | None, tick: int
    ) -> None:
        why = f"stream {number}, which it follows, is {reason}"
        if play.key is not None and self._waiting.find(play.key) is not None:
            self._waiting.end(play.key, tick)
        self._endings.end_play(play, EndReason.DELETED, tick, why)


def _split(plays: list[Play]) -> tuple[list[Play], list[Play]]:
    """Return the independent streams, in their order, and the groups."""
    streams = [play for play in plays if play.key is None]
    return sorted(streams, key=_place), [play for play in plays if play.key]


def _place(play: Play) -> int:
    return play.place


def leaves_of(play: Play) -> list[str]:
    """Return the leaves of what is left of a play."""
    return [leaf for member in play.live for leaf in member.stream.leaves]
