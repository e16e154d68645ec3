"""Parent schema that selects its children by motivation [CN1396856, fig. 5]."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nao_testbed.controllers.action_selection import (
    Lesson,
    Stimulus,
    Strengths,
    Switch,
    actions_of,
    arbitration_by,
    read_models,
)
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import (
    Arbitration,
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    keep_winner,
)
from nao_testbed.controllers.schemas.library.common import is_due
from nao_testbed.controllers.schemas.schema import ActuationSchema
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import LONGEST_S


@dataclass(frozen=True, kw_only=True)
class MotivatedParameters(Parameters):
    """Behaviour models, strengths and stimuli of the schema."""

    models: Mapping[str, Any] = field(default_factory=dict)
    """Name to behaviour model, in the format of `controllers.action_selection`; the
    proposed actions are names of children."""
    start: Mapping[str, float] = field(default_factory=dict)
    """Emotion or drive to its initial strength, 0 to 100."""
    per_s: Mapping[str, float] = field(default_factory=dict)
    """Emotion or drive to its rate of change with time, per second."""
    gains: Mapping[str, float] = field(default_factory=dict)
    """Emotion or drive to its gain, `ke` or `ki`; default 1."""
    effects: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Child to the changes when it finishes: emotion or drive to ΔE or ΔI."""
    reactions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Event to its immediate changes: emotion or drive to ΔE or ΔI."""
    hears: str = ""
    """Recognised event. It is processed once; clear it to repeat it."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Values of the recognised event, such as the size of a ball."""
    quiet_s: float = bounded(0.0, 0.0, LONGEST_S, "s")
    """Time in s without an event after which models decide without a stimulus; 0: in
    each period, so that emotions and drives are evaluated each time."""
    lesson: Lesson | None = None
    """Feedback from a person on the last action; it counts once, like `hears`."""
    rate: float = 0.1
    """Learning rate, in [0, 1]."""
    practice: float = 0.01
    """Learning rate from completion alone, in [0, 1]: share by which the probability of
    a finished child moves towards 100 %. By default one lesson outweighs ten
    completions."""

    def __post_init__(self) -> None:
        """Validate models, names and rates.

        Raises:
            UnknownName: a named emotion, drive or child is unknown.
            BadInput: a model, a strength or the rate is invalid.
        """
        super().__post_init__()
        actions = actions_of(read_models(self.models))
        for child in self.effects:
            if child not in actions:
                raise UnknownName(
                    "Effect of", child, actions, "the actions of the models"
                )
        changes = (self.per_s, *self.effects.values(), *self.reactions.values())
        for change in changes:
            Strengths().update(change)
        for name, rate in (("rate", self.rate), ("practice", self.practice)):
            if not 0.0 <= rate <= 1.0:
                raise BadInput(f"{name} is {rate}; give a number from 0 to 1.")
        Strengths(start=self.start, gains=self.gains)


class Motivated(ActuationSchema[MotivatedParameters]):
    """Parent that runs its children and selects among them by motivation.

    A child that finishes changes emotions and drives, and may be chosen again. A child
    acts only if a model proposes it, even if it is the only ready child.
    """

    info = SchemaInfo(
        "motivated",
        "Select among the children by emotions, drives and recognised events.",
        parameters=MotivatedParameters,
        outputs=(
            Variable(
                "strengths", dict, "Strength of each emotion and drive, 0 to 100."
            ),
        ),
    )
    arbitrates_single = True
    _switch: Switch | None = None
    _stimulus: Stimulus | None = None
    _stimulus_s = 0.0
    """Time of the last event, or of the start."""
    _rule: Arbitration | None = None
    _last_parameters: MotivatedParameters | None = None
    """Last received parameters."""

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: MotivatedParameters, robot: Robot
    ) -> None:
        """Raise BadInput or UnknownName without models, or without their children."""
        del robot
        if not (parameters.models and activation.children):
            raise BadInput(
                f"{activation.name!r} has {len(parameters.models)} models and "
                f"{len(activation.children)} children; give it at least one of each."
            )
        children = [child.name for child in activation.children]
        for action in actions_of(read_models(parameters.models)):
            if action not in children:
                where = f"the children of {activation.name!r}"
                raise UnknownName("Action", action, children, where)

    def start(self) -> None:
        """Start with the previous strengths, or with those of the parameters."""
        now = self.parameters
        if self._switch is None:
            self._switch = Switch(
                read_models(now.models),
                Strengths(start=now.start, gains=now.gains),
                effects=now.effects,
                reactions=now.reactions,
                rate=now.rate,
                practice=now.practice,
            )
            self._rule = arbitration_by(
                self._switch, self._take_stimulus, self.random, self._is_quiet
            )
            if self._stimulus is None:
                self._stimulus_s = self.time_s
            else:  # before the schema won
                self._switch.recognise(self._stimulus)
            self._process_parameters()
        for child in self.children_given:
            self.wake_child(child)

    def on_modulated(self) -> None:
        """Process a new event and learn from praise and scolding."""
        self._process_parameters()

    def iterate(self) -> None:
        """Update the strengths with time, and process finished children."""
        switch = self._switch
        if switch is None:
            return
        per_s = self.parameters.per_s
        switch.strengths.update({n: per_s[n] * self.period_s for n in per_s})
        for child in self.children_given:
            if self.child(child.name).is_done:
                switch.complete(child.name)
                self.wake_child(child)
        self.write("strengths", switch.strengths.as_mapping())

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Return the child that the switch selects."""
        rule = self._rule or keep_winner
        return rule(ready, present)

    def _process_parameters(self) -> None:
        now, before = self.parameters, self._last_parameters or MotivatedParameters()
        if now.hears and (now.hears, now.values) != (before.hears, before.values):
            self._stimulus = Stimulus(event=now.hears, values=now.values)
            self._stimulus_s = self.time_s
            if self._switch is not None:
                self._switch.recognise(self._stimulus)
        if self._switch is not None and now.lesson not in {None, before.lesson}:
            self._switch.teach(Lesson(now.lesson))
        self._last_parameters = now

    def _is_quiet(self) -> bool:
        return is_due(self.time_s, self._stimulus_s + self.parameters.quiet_s)

    def _take_stimulus(self) -> Stimulus | None:
        stimulus, self._stimulus = self._stimulus, None
        return stimulus
