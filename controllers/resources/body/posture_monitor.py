"""The posture monitor: it alone says in which state the robot is (RM-51 to RM-55).

What has happened is a fact. A robot that falls is not standing any more: those who
need it to stand lose that at once, and so do those whose state ended in another way,
such as a behaviour that sat down without asking. Who wants to leave a state asks
beforehand, by `ask_to_leave`: those who need it are asked in turn (RM-53).
"""

from dataclasses import dataclass, field

from controllers.resources.body.posture_recogniser import (
    Attitude,
    PostureRecogniser,
    RecogniserCfg,
)
from controllers.resources.ledger import Ledger
from controllers.robot_interface import Observation
from models import BadInput, Robot, UnknownName


@dataclass(frozen=True, kw_only=True)
class PostureMonitorCfg:
    """What drives which set of states, and how quickly."""

    group: str = "State"
    """The set of states [RM-3]."""
    settle_s: float = 0.3
    """Time for which a state must be seen before it counts, in s: longer than a robot
    that sways or bounces passes through one, shorter than anybody waits for it. A fall
    does not wait."""
    recogniser: RecogniserCfg = field(default_factory=RecogniserCfg)

    def __post_init__(self) -> None:
        """Refuse a time that is none.

        Raises:
            BadInput: it is negative.
        """
        if not 0.0 <= self.settle_s < float("inf"):
            raise BadInput(f"settle_s is {self.settle_s} s; give a number from 0 up.")


class PostureMonitor:
    """Drives the states of one robot; `step` at every observation, every 20 ms say."""

    def __init__(
        self, ledger: Ledger, robot: Robot, cfg: PostureMonitorCfg | None = None
    ) -> None:
        """Begin with the state that is active in the ledger.

        Args:
            ledger: whose states.
            robot: its stored postures name their states.
            cfg: which set of states, and how quickly.

        Raises:
            UnknownName: there is no such set, or a posture names a state that is not
                in it.
        """
        self.cfg = cfg or PostureMonitorCfg()
        self._ledger = ledger
        self._recogniser = PostureRecogniser(robot, self.cfg.recogniser)
        ledger.active_state(self.cfg.group)  # is it a set of states?
        states = ledger.tree.children(self.cfg.group)
        for posture in robot.postures.values():
            if posture.state is not None and posture.state not in states:
                where = f"set {self.cfg.group!r}, which posture {posture.name!r} needs"
                raise UnknownName("State", posture.state, states, where)
        self._seen: str | None = None
        self._seen_since = 0
        self._leaving: str | None = None
        self._leaving_until = 0

    @property
    def state(self) -> str | None:
        """The active state."""
        return self._ledger.active_state(self.cfg.group)

    @property
    def attitude(self) -> Attitude:
        """How the body is turned, as of the last observation."""
        return self._recogniser.attitude

    def step(self, observation: Observation, tick: int) -> str | None:
        """Look at the robot, note a change as a fact, return the active state.

        Args:
            observation: the newest one.
            tick: now.
        """
        present = self.state
        seen = self._recogniser.step(observation, present)
        if seen not in self._ledger.tree.children(self.cfg.group):
            seen = None  # it is no state of the ledger's any more
        if seen != self._seen:
            self._seen, self._seen_since = seen, tick
        if seen == present:
            return present
        if not (self._has_fallen_out_of(present) or self._has_settled(tick)):
            return present
        if seen == self._leaving and tick < self._leaving_until:
            return present  # it was asked to leave it, and is on its way
        self._leaving = None
        self._ledger.set_state(self.cfg.group, seen, tick)
        return seen

    def ask_to_leave(self, by: str, tick: int, within_s: float = 5.0) -> bool:
        """Ask those who need the active state to let it be left (RM-53).

        Args:
            by: the owner that wants to move on, for the notices.
            tick: now.
            within_s: time that the way to the next state takes at most, in s. For so
                long the state that is left does not come back by itself.

        Returns:
            Whether all gave way; then no state is active until the next one is seen.

        Raises:
            BadInput: the time is negative.
        """
        if not 0.0 <= within_s < float("inf"):
            raise BadInput(f"within_s is {within_s} s; give a number from 0 up.")
        left = self.state
        if not self._ledger.ask_state(self.cfg.group, None, tick, by):
            return False
        if left is not None:
            self._leaving = left
            self._leaving_until = tick + self._ledger.cfg.ticks(within_s)
        return True

    def _has_settled(self, tick: int) -> bool:
        return tick - self._seen_since >= self._ledger.cfg.ticks(self.cfg.settle_s)

    def _has_fallen_out_of(self, present: str | None) -> bool:
        """Whether an upright state is over by the attitude alone."""
        cfg = self.cfg.recogniser
        is_upright_state = present not in (None, cfg.on_back, cfg.on_belly)
        return is_upright_state and self.attitude is not Attitude.UPRIGHT
