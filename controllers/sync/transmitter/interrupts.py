"""Interrupts: an action that is joined on to the one that runs (SY-4).

At the next slot the interrupt's stream starts; what runs and shares a leaf with it
pauses, a group whole. When it is over, that comes back to where it was and goes on with
its next item. What has not started may be deleted instead.
"""

from collections.abc import Sequence
from itertools import zip_longest

from controllers.arbitration.gate.outputs import PresentTargets
from controllers.sync.streams.stream import CannotBegin
from controllers.sync.transmitter.endings import Endings
from controllers.sync.transmitter.member import Member, Part, Pause, Play
from controllers.sync.transmitter.running import Running
from controllers.sync.transmitter.starts import leaves_of
from controllers.sync.transmitter.teller import Teller
from controllers.sync.transmitter.words import EndReason, StreamState
from models import BadInput


class Interrupts:
    """Interrupts that wait for the next slot, and what they have paused."""

    def __init__(
        self,
        running: Running,
        present: PresentTargets,
        endings: Endings,
        teller: Teller,
    ) -> None:
        """Begin with none."""
        self._running = running
        self._present = present
        self._endings = endings
        self._teller = teller
        self._waiting: list[Play] = []
        self._paused: dict[Play, None] = {}
        endings.on_end.append(self._let_go)

    def add(self, play: Play) -> None:
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
                    self._teller.resumed(member, tick)

    # -- inside -----------------------------------------------------------------------

    def _pause(self, play: Play, by: Play, tick: int) -> None:
        pause = play.pause = play.pause or Pause()
        pause.blockers[by] = None
        pause.lead = None
        by.blocks.append(play)
        if play not in self._paused:
            self._paused[play] = None
            for member in play.live:
                member.receipt.state = StreamState.PAUSED
                self._teller.paused(member, by.members[0].number, tick)

    def _let_go(self, member: Member, tick: int) -> None:
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


def _lead(play: Play, present: PresentTargets) -> list[list[Part]]:
    """Return what leads a play back to where it was, a list of parts for each slot."""
    leads: list[Sequence[Part]] = [
        [(one, item) for item in one.stream.rejoin(one.receipt.sent, present)]
        for one in play.live
    ]
    return [[part for part in slot if part] for slot in zip_longest(*leads)]
