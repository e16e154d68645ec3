"""Who acts when: `choose` among children, `sequence`, and `hold`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from nao_testbed.controllers.schemas.declaration import (
    ARBITRATIONS,
    Parameters,
    SchemaInfo,
    State,
    bounded,
)
from nao_testbed.controllers.schemas.library.common import is_due
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import BadInput, Robot, UnknownName


@dataclass(frozen=True, kw_only=True)
class ChooseParameters:
    """How it chooses."""

    arbitration: str = "keep_winner"
    """Name of the rule: keep_winner or highest_order."""

    def __post_init__(self) -> None:
        """Refuse a rule that there is not.

        Raises:
            UnknownName: no rule has this name.
        """
        if self.arbitration not in ARBITRATIONS:
            raise UnknownName(
                "Arbitration", self.arbitration, ARBITRATIONS, "schema 'choose'"
            )


P = TypeVar("P")


class _OfChildren(ActuationSchema[P]):
    """Wakes those that it is given; derive from it."""

    @classmethod
    def check_waking(cls, waking: Waking, parameters: P, robot: Robot) -> None:
        """Refuse to have nobody to wake."""
        del parameters, robot
        if not waking.children:
            raise BadInput(f"{waking.name!r} has no children; give it at least one.")


class Choose(_OfChildren[ChooseParameters]):
    """Wakes its children, and lets one of those that are ready win.

    It commands nothing itself. Its period is the device slot, so that a child takes
    over in the slot in which it becomes ready.
    """

    info = SchemaInfo(
        "choose",
        "Lets its children compete; the winner acts.",
        period_s=0.01,
        parameters=ChooseParameters,
    )

    def start(self) -> None:
        """Wake all children, the first with the highest rank of equals."""
        for child in self.children_given:
            self.wake_child(child)

    def iterate(self) -> None:
        """Do nothing: the competition that follows is its work."""

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Choose by the rule of its parameters."""
        return ARBITRATIONS[self.parameters.arbitration](ready, present)


class SequenceFailed(BadInput):
    """A child of a sequence failed, so that the rest has no ground to stand on."""


@dataclass(frozen=True, kw_only=True)
class SequenceParameters(Parameters):
    """How often, and what a failure means."""

    repeat: int = bounded(1, 0, 1_000_000)
    """How often the whole row is gone through; 0 for ever."""
    pause_s: float = bounded(0.0, 0.0, 3600.0, "s")
    """Time between two children, in s."""
    on_failure: Literal["fail", "go on"] = "fail"
    """What follows when a child fails: the sequence does, or the next child acts."""


class StepSequence(_OfChildren[SequenceParameters]):
    """Wakes the actuation schemas it is given in turn, the next when one is done.

    A perceptive one is awake from its turn on. Stopped and woken again the sequence
    goes on with the child that was interrupted.
    """

    info = SchemaInfo(
        "sequence",
        "Lets its children act one after another.",
        period_s=0.01,
        parameters=SequenceParameters,
    )

    _place = 0
    """Number of the child whose turn it is."""
    _round = 0

    def start(self) -> None:
        """Begin with the child whose turn it is."""
        self._next_s = self.time_s
        self._is_pausing = True

    def iterate(self) -> None:
        """Look whether the present child is over, and wake the next one.

        Raises:
            SequenceFailed: a child failed, and the parameters do not let it go on.
            BadInput: no child is one that acts.
        """
        if not self._is_pausing:
            view = self.child(self.children_given[self._place].name)
            if view.error and self.parameters.on_failure == "fail":
                raise SequenceFailed(f"{view.name!r} failed: {view.error}")
            if not (view.is_done or view.error):
                return
            self.sleep(view.name)
            self._next_s = self.time_s + self.parameters.pause_s
            self._is_pausing = True
            if self._is_last_round_over():
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            self._is_pausing = False
            self._wake_next()

    def _is_last_round_over(self) -> bool:
        """Step on to the next child; return whether that was the last of all."""
        self._place += 1
        if self._place < len(self.children_given):
            return False
        self._place = 0
        self._round += 1
        if not 0 < self.parameters.repeat <= self._round:
            return False
        self._round = 0
        return True

    def _wake_next(self) -> None:
        """Wake children up to and including the next one that acts.

        A perceptive one is a winner as soon as it is awake, and stays so.
        """
        for _ in self.children_given:
            waking = self.children_given[self._place]
            self.wake_child(waking)
            if self.child(waking.name).state is not State.WINNER:
                return
            if self._is_last_round_over():
                self.finish()
                return
        raise BadInput(f"no child of sequence {self.path!r} acts; give it one.")


@dataclass(frozen=True, kw_only=True)
class HoldParameters(Parameters):
    """For how long."""

    for_s: float = bounded(0.0, 0.0, 1e6, "s")
    """Time for which it holds them, in s; 0: until it is put to sleep."""


class Hold(ActuationSchema[HoldParameters]):
    """Takes what it is given as `needs`, waits, and gives it back.

    Where its resources are taken away, the time in which it did not have them does not
    count.
    """

    info = SchemaInfo(
        "hold",
        "Holds resources for a time, and moves nothing.",
        period_s=0.01,
        parameters=HoldParameters,
    )
    _left_ticks = 0
    _since = 0

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: HoldParameters, robot: Robot
    ) -> None:
        """Refuse to hold nothing."""
        del parameters, robot
        if not (waking.needs or waking.optional or waking.rates):
            raise BadInput(
                f"{waking.name!r} has nothing to hold; name its resources as `needs`."
            )

    def start(self) -> None:
        """Begin, or go on after a loss."""
        if not self._left_ticks:
            self._left_ticks = round(self.parameters.for_s / self.period_s)
        self._since = self.tick

    def iterate(self) -> None:
        """Finish when the time is over."""
        if self.parameters.for_s and self.tick - self._since >= self._left_ticks:
            self._left_ticks = 0
            self.finish()

    def on_lost(self) -> None:
        """Note how much is left."""
        self._left_ticks = max(1, self._left_ticks - (self.tick - self._since))

    def stop(self) -> None:
        """Begin anew the next time."""
        self._left_ticks = 0
