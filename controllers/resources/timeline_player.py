"""Play the timeline of a running behaviour: set-points at its frames, by the gate.

    player = TimelinePlayer(start_behaviour(WAVE, front), ledger, gate)
    player.step(tick)  # in every device slot, until player.is_over

The document's timelines go on whoever has the motors (RM-66). This one goes on only
while its behaviour has all that it started with, so that a paused motion resumes from
where it was (RM-37); it is over when they are lost for good.
"""

from controllers.resources.gate import Gate
from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import check_tick
from controllers.resources.start_behaviour import Running
from controllers.resources.trace import Rejected
from models import BadInput


class TimelinePlayer:
    """Submits a frame when its time has come.

    Motors that the behaviour did not get, as they are not essential, rest (RM-48).
    """

    def __init__(self, running: Running, ledger: Ledger, gate: Gate) -> None:
        """Stand before the first frame.

        Args:
            running: a behaviour that runs, and has a timeline with angles.
            ledger: knows the behaviour's token of now.
            gate: of the robot that moves.

        Raises:
            BadInput: there is nothing to play, or it does not run.
        """
        name, timeline = running.behaviour.name, running.behaviour.timeline
        if timeline is None or not timeline.angles:
            raise BadInput(
                f"behaviour {name!r} has no timeline with angles; give it one."
            )
        if not running.runs:
            raise BadInput(
                f"behaviour {name!r} does not run, it lacks "
                f"{', '.join(running.missing) or 'a part'}; start it again."
            )
        self._running = running
        self._ledger = ledger
        self._gate = gate
        self._timeline = timeline
        self._motors = tuple(m for m in timeline.angles if m in running.has)
        self._played = 0
        """Ticks that it had its motors."""
        self._last: int | None = None
        """Tick of the last step, if it had its motors then."""
        self._shown: int | None = None
        """The frame that the motors have as their set-points."""
        self.is_done = False
        """Whether the last frame has had its time."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is played: all is done, or the motors are lost for good.

        So after a stop, an override or a freeze; a pause is not the end (RM-37).
        """
        return self.is_done or self._running.is_over(self._ledger)

    @property
    def frame(self) -> int | None:
        """Number of the frame that is played; None before, after, and while paused."""
        return self._shown

    def step(self, tick: int) -> Rejected | None:
        """Submit the frame of this slot, if it is another than before.

        Args:
            tick: now; call it in every slot, before the gate's `flush`.

        Returns:
            Why the gate refused the frame; None if it did not.

        Raises:
            BadInput: an angle is out of the motor's range.
        """
        check_tick(tick)
        if self.is_done:
            return None
        if not self._running.has_all_it_had(self._ledger):
            self._last = self._shown = None  # the gate holds what it lost
            return None
        if self._last is not None:
            self._played += tick - self._last
        self._last = tick
        frame = self._timeline.frame_at(self._played * self._ledger.cfg.tick_s)
        if frame is None:
            self.is_done, self._shown = True, None
            return None
        if frame == self._shown:
            return None
        self._shown = frame
        token = self._running.present_token(self._ledger)
        angles = self._timeline.angles
        return self._gate.submit_all(token, {m: angles[m][frame] for m in self._motors})
