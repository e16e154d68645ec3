"""Parents that order their children: `choose`, `sequence`, and `hold`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import (
    ARBITRATIONS,
    Parameters,
    SchemaInfo,
    State,
    bounded,
)
from nao_testbed.controllers.schemas.library.common import is_due
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import BadInput, Robot, UnknownName


@dataclass(frozen=True, kw_only=True)
class ChooseParameters:
    """Arbitration rule."""

    arbitration: str = "keep_winner"
    """Name of the rule: keep_winner or highest_order."""

    def __post_init__(self) -> None:
        """Validate the name of the rule.

        Raises:
            UnknownName: no rule has this name.
        """
        if self.arbitration not in ARBITRATIONS:
            raise UnknownName(
                "Arbitration", self.arbitration, ARBITRATIONS, "schema 'choose'"
            )


P = TypeVar("P")


class _ParentSchema(ActuationSchema[P]):
    """Base of a schema that activates its given children."""

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: P, robot: Robot
    ) -> None:
        """Raise BadInput without children."""
        del parameters, robot
        if not activation.children:
            raise BadInput(f"{activation.name!r} has no children; add at least one.")


class Choose(_ParentSchema[ChooseParameters]):
    """Parent that activates its children; one of the ready children wins.

    It commands nothing itself. Its period is the device slot, so that a child takes
    over in the slot in which it becomes ready.
    """

    info = SchemaInfo(
        "choose",
        "Run the winner of a competition of the children.",
        period_s=0.01,
        parameters=ChooseParameters,
    )

    def start(self) -> None:
        """Activate all children; among equal ranks the first takes precedence."""
        for child in self.children_given:
            self.wake_child(child)

    def iterate(self) -> None:
        """Do nothing: the runtime's competition follows."""

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Choose by the rule of the parameters."""
        return ARBITRATIONS[self.parameters.arbitration](ready, present)


class SequenceFailed(BadInput):
    """Failure of a child of a sequence, which prevents the following ones."""


@dataclass(frozen=True, kw_only=True)
class SequenceParameters(Parameters):
    """Repetitions, and the reaction to a failure."""

    repeat: int = bounded(1, 0, 1_000_000)
    """Number of repetitions of the whole sequence; 0: unlimited."""
    pause_s: float = bounded(0.0, 0.0, 3600.0, "s")
    """Time between two children, in s."""
    on_failure: Literal["fail", "go on"] = "fail"
    """Reaction to a failed child: fail, or continue with the next child."""


class StepSequence(_ParentSchema[SequenceParameters]):
    """Parent that runs its actuation schemas one after the other.

    A perceptive child is active from its turn on. After an interruption the sequence
    continues with the interrupted child.
    """

    info = SchemaInfo(
        "sequence",
        "Run the children one after another.",
        period_s=0.01,
        parameters=SequenceParameters,
    )

    _index = 0
    """Index of the present child."""
    _round = 0

    def start(self) -> None:
        """Start with the present child."""
        self._next_s = self.time_s
        self._is_pausing = True

    def iterate(self) -> None:
        """Check whether the present child has ended, and activate the next one.

        Raises:
            SequenceFailed: a child failed, and `on_failure` is "fail".
            BadInput: no child is an actuation schema.
        """
        if not self._is_pausing:
            view = self.child(self.children_given[self._index].name)
            if view.error and self.parameters.on_failure == "fail":
                raise SequenceFailed(f"{view.name!r} failed: {view.error}")
            if not (view.is_done or view.error):
                return
            self.sleep(view.name)
            self._next_s = self.time_s + self.parameters.pause_s
            self._is_pausing = True
            if self._advance():
                self.finish()
                return
        if is_due(self.time_s, self._next_s):
            self._is_pausing = False
            self._wake_next()

    def _advance(self) -> bool:
        """Advance to the next child; return True after the last repetition."""
        self._index += 1
        if self._index < len(self.children_given):
            return False
        self._index = 0
        self._round += 1
        if not 0 < self.parameters.repeat <= self._round:
            return False
        self._round = 0
        return True

    def _wake_next(self) -> None:
        """Activate children up to and including the next actuation schema.

        A perceptive schema becomes a winner immediately.
        """
        for _ in self.children_given:
            activation = self.children_given[self._index]
            self.wake_child(activation)
            if self.child(activation.name).state is not State.WINNER:
                return
            if self._advance():
                self.finish()
                return
        raise BadInput(f"sequence {self.path!r} has no actuation schema; add one.")


@dataclass(frozen=True, kw_only=True)
class HoldParameters(Parameters):
    """Duration of the reservation."""

    for_s: float = bounded(0.0, 0.0, 1e6, "s")
    """Time for which it holds the resources, in s; 0: until its deactivation."""


class Hold(ActuationSchema[HoldParameters]):
    """Holder of its `needs` for a time, without commands.

    Time without its resources, after a loss, does not count.
    """

    info = SchemaInfo(
        "hold",
        "Hold resources for a time, without commands.",
        period_s=0.01,
        parameters=HoldParameters,
    )
    _left_ticks = 0
    _since = 0

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: HoldParameters, robot: Robot
    ) -> None:
        """Raise BadInput without resources to hold."""
        del parameters, robot
        if not (activation.needs or activation.optional or activation.rates):
            raise BadInput(
                f"{activation.name!r} has nothing to hold; set resources in `needs`."
            )

    def start(self) -> None:
        """Start, or continue after a loss."""
        if not self._left_ticks:
            self._left_ticks = round(self.parameters.for_s / self.period_s)
        self._since = self.tick

    def iterate(self) -> None:
        """Finish when the time is over."""
        if self.parameters.for_s and self.tick - self._since >= self._left_ticks:
            self._left_ticks = 0
            self.finish()

    def on_lost(self) -> None:
        """Store the remaining time."""
        self._left_ticks = max(1, self._left_ticks - (self.tick - self._since))

    def stop(self) -> None:
        """Reset the remaining time."""
        self._left_ticks = 0
