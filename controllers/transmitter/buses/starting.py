"""What starts, pauses and goes on in a slot: interrupts, independent streams, groups.

Independent streams start at once. A complete group is held by a stream that it follows,
by a leaf that is in use, or by a bus that does not permit it. The first two cost
nothing in a slot: the end of that stream wakes it.

An interrupt is joined on to the action that runs: at the next slot its stream
starts; what runs and shares a leaf with it pauses, a group whole. When it is over, that
comes back to where it was and goes on with its next item. What has not started may be
deleted instead.
"""

from collections.abc import Sequence
from itertools import zip_longest

from controllers.arbitration.gate.outputs import PresentTargets
from controllers.transmitter.buses.bus import Permits, WaitingGroups
from controllers.transmitter.buses.group import (
    Group,
    Part,
    Pause,
    ReceivedStream,
    StreamEndings,
    StreamEvents,
)
from controllers.transmitter.buses.running import Running
from controllers.transmitter.receipt import EndReason, StreamState
from controllers.transmitter.streams import CannotBegin
from models import BadInput


class Starts:
    """Queues of what starts; what is free does so in the order in which it came."""

    def __init__(
        self,
        running: Running,
        waiting: WaitingGroups,
        endings: StreamEndings,
        permits: Permits | None,
    ) -> None:
        """Begin with nothing to start."""
        self._running = running
        self._waiting = waiting
        self._endings = endings
        self._permits = permits
        self._at_once: list[Group] = []
        self._free: list[Group] = []
        """Those that nothing is known to hold."""
        self._held: dict[int, list[Group]] = {}
        """Stream to those that wait for its end."""
        self._count = 0
        endings.on_end.append(self._wake)

    def add_at_once(self, play: Group) -> None:
        """Let an independent stream start in the next slot, whatever waits."""
        self._at_once.append(play)

    def add(self, play: Group, tick: int) -> None:
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

    def _hold(self, play: Group) -> bool:
        """Let a play wait for the first stream that is in its way, if there is one."""
        users = self._running.users(leaves_of(play))
        if play.key is None:  # independent, it waits for groups alone
            users = [user for user in users if user.key is not None]
        if users:
            self._held.setdefault(users[0].number, []).append(play)
        return bool(users)

    def _is_permitted(self, play: Group, tick: int) -> bool:
        """Ask all buses of a group."""
        if self._permits is None:
            return True
        buses = dict.fromkeys(member.bus for member in play.live)
        return all(self._permits(bus, tick) for bus in buses)

    def _begin(self, play: Group, tick: int) -> None:
        """Start an independent stream in the place of those that use its leaves."""
        for user in self._running.users(leaves_of(play)):
            if user.key is None and user.play is not None:
                why = f"by stream {play.members[0].number}"
                self._endings.end_play(user.play, EndReason.REPLACED, tick, why)
        self._running.begin(play, tick)

    def _wake(self, member: ReceivedStream, tick: int) -> None:
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
        self, play: Group, number: int, reason: EndReason | None, tick: int
    ) -> None:
        why = f"stream {number}, which it follows, is {reason}"
        if play.key is not None and self._waiting.find(play.key) is not None:
            self._waiting.end(play.key, tick)
        self._endings.end_play(play, EndReason.DELETED, tick, why)


def _split(plays: list[Group]) -> tuple[list[Group], list[Group]]:
    """Return the independent streams, in their order, and the groups."""
    streams = [play for play in plays if play.key is None]
    return sorted(streams, key=_place), [play for play in plays if play.key]


def _place(play: Group) -> int:
    return play.place


def leaves_of(play: Group) -> list[str]:
    """Return the leaves of what is left of a play."""
    return [leaf for member in play.live for leaf in member.stream.leaves]


class Interrupts:
    """Interrupts that wait for the next slot, and what they have paused."""

    def __init__(
        self,
        running: Running,
        present: PresentTargets,
        endings: StreamEndings,
        events: StreamEvents,
    ) -> None:
        """Begin with none."""
        self._running = running
        self._present = present
        self._endings = endings
        self._events = events
        self._waiting: list[Group] = []
        self._paused: dict[Group, None] = {}
        endings.on_end.append(self._let_go)

    def add(self, play: Group) -> None:
        """Let an interrupt start in the next slot."""
        self._waiting.append(play)

    def start(self, tick: int) -> None:
        """Start the interrupts; what they need pauses, if they can begin (S2).

        Each breaks in between two items: of two for one leaf the second comes a slot
        later, and pauses the first.
        """
        plays, self._waiting = self._waiting, []
        for play in plays:
            users = self._running.users(leaves_of(play))
            others = list(dict.fromkeys(user.play for user in users if user.play))
            if not all(other.has_started for other in others):
                self._waiting.append(play)
            elif play.live and self._running.begin(play, tick):
                for other in others:
                    self._pause(other, play, tick)

    def resume(self, tick: int) -> None:
        """Lead back what no interrupt blocks any more; let go on what is back."""
        for play in tuple(self._paused):
            pause = play.pause
            if pause is None or pause.blockers:
                continue
            if pause.lead is None:
                try:
                    pause.lead = _lead(play, self._present)
                except (CannotBegin, BadInput) as error:
                    why = str(error)
                    self._endings.end_play(play, EndReason.CANNOT_BEGIN, tick, why)
                    continue
            if not pause.lead:
                play.pause = None
                del self._paused[play]
                for member in play.live:
                    member.receipt.state = StreamState.RUNNING
                    self._events.resumed(member, tick)

    # -- inside -----------------------------------------------------------------------

    def _pause(self, play: Group, by: Group, tick: int) -> None:
        pause = play.pause = play.pause or Pause()
        pause.blockers[by] = None
        pause.lead = None
        by.blocks.append(play)
        if play not in self._paused:
            self._paused[play] = None
            for member in play.live:
                member.receipt.state = StreamState.PAUSED
                self._events.paused(member, by.members[0].number, tick)

    def _let_go(self, member: ReceivedStream, tick: int) -> None:
        """Unblock what an interrupt that is over has paused."""
        del tick
        play = member.play
        if play is None or play.live:
            return
        self._paused.pop(play, None)
        for other in play.blocks:
            if other.pause is not None:
                other.pause.blockers.pop(play, None)
        play.blocks.clear()


def _lead(play: Group, present: PresentTargets) -> list[list[Part]]:
    """Return what leads a play back to where it was, a list of parts for each slot."""
    leads: list[Sequence[Part]] = [
        [(one, item) for item in one.stream.rejoin(one.receipt.sent, present)]
        for one in play.live
    ]
    return [[part for part in slot if part] for slot in zip_longest(*leads)]
