"""Selection of the next behaviour from proposals of models [CN1396856, fig. 5, 6].

Each model covers one condition, such as a low battery or a ball in sight, and has an
automaton and a preset priority. The switch selects the proposal of the highest
priority. When the behaviour is done, learning, emotions and drives are updated.

Emotions and drives have strengths from 0 to 100 [CN1396856, equations (1) and (2)]:

    E[t+1] = E[t] + ke ΔE[t]        I[k+1] = I[k] + ki ΔI[k]

`ke` and `ki` are gains per emotion and drive. The changes are preset as well: for
recognised events, for finished actions and with time. The result is bounded to 0 to
100, as in CN1396856.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from nao_testbed.controllers.action_selection.automaton import (
    BehaviourModel,
    Lesson,
    Stimulus,
    reinforce,
)
from nao_testbed.controllers.schemas.declaration import Arbitration
from nao_testbed.models import BadInput, UnknownName

EMOTIONS = ("joy", "sadness", "anger", "surprise", "disgust", "fear")
"""Six emotions of CN1396856."""
DRIVES = ("exercise", "affection", "appetite", "curiosity")
"""Drives named in CN1396856, which announces five. Appetite follows the battery charge
instead of equation (2): use `set`."""
LOWEST, HIGHEST = 0.0, 100.0


class Strengths:
    """Emotions and drives by name, each in [0, 100]."""

    def __init__(
        self,
        *,
        gains: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
    ) -> None:
        """Create all strengths at 0, except the given ones.

        Args:
            gains: `ke` or `ki` of each; default 1.
            start: initial strengths.

        Raises:
            UnknownName: a name is neither an emotion nor a drive.
            BadInput: a number is not finite, or a strength out of range.
        """
        self._values = dict.fromkeys((*EMOTIONS, *DRIVES), LOWEST)
        self._gains = dict.fromkeys(self._values, 1.0)
        for name, gain in (gains or {}).items():
            self._gains[self._known(name)] = _finite(f"gain of {name!r}", gain)
        for name, value in (start or {}).items():
            self.set(name, value)

    def __getitem__(self, name: str) -> float:
        return self._values[self._known(name)]

    def as_mapping(self) -> dict[str, float]:
        """Return all present strengths."""
        return dict(self._values)

    def set(self, name: str, value: float) -> None:
        """Set one strength, such as appetite from the missing charge."""
        if not LOWEST <= value <= HIGHEST:
            raise BadInput(f"{name!r} is {value}; give a number from 0 to 100.")
        self._values[self._known(name)] = float(value)

    def update(self, changes: Mapping[str, float]) -> None:
        """Advance one period: add gain times change, bounded to [0, 100].

        Raises:
            UnknownName: a name is unknown.
            BadInput: a change is not finite; then no strength changes.
        """
        new = {}
        for name, change in changes.items():
            step = self._gains[self._known(name)] * _finite(
                f"change of {name!r}", change
            )
            new[name] = min(HIGHEST, max(LOWEST, self._values[name] + step))
        self._values.update(new)

    def _known(self, name: str) -> str:
        if name not in self._values:
            raise UnknownName("Emotion or drive", name, self._values, "this model")
        return name


def _finite(what: str, value: float) -> float:
    if not isfinite(value):
        raise BadInput(f"{what} is {value}; give a finite number.")
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """Behaviour with the automaton's transition that led to it."""

    model: BehaviourModel
    action: str
    node: str
    row: int
    arc: int


Changes = Mapping[str, float]
"""Emotion or drive to its change by an action or event: ΔE or ΔI."""


class Switch:
    """Selection of the proposal of highest priority, with feedback of the result.

    Call `recognise` for each event, `decide`, and `complete` when an action is done;
    call `teach` for each lesson.
    """

    def __init__(
        self,
        models: Sequence[BehaviourModel],
        strengths: Strengths,
        *,
        effects: Mapping[str, Changes] | None = None,
        reactions: Mapping[str, Changes] | None = None,
        rate: float = 0.1,
        practice: float = 0.0,
    ) -> None:
        """Create a switch without a decision.

        Args:
            models: models of all conditions.
            strengths: strengths of emotions and drives.
            effects: action to its changes on completion.
            reactions: event to its changes on recognition.
            rate: learning rate for praise and scolding, in [0, 1].
            practice: learning rate for completion alone, in [0, 1]: the probability of
                a finished action moves by this share towards 100 %. CN1396856 states
                neither sign nor size of this change; 0: no change.

        Raises:
            BadInput: two models have the same priority.
        """
        self._models = sorted(models, key=lambda model: -model.priority)
        for above, below in zip(self._models, self._models[1:], strict=False):
            if above.priority == below.priority:
                raise BadInput(
                    f"models {above.name!r} and {below.name!r} both have priority "
                    f"{above.priority}; use different ones."
                )
        self.strengths = strengths
        self._effects = dict(effects or {})
        self._reactions = dict(reactions or {})
        self._rate = rate
        self._practice = practice
        self.present: Proposal | None = None
        """Last selected proposal."""

    def decide(
        self,
        stimulus: Stimulus | None,
        random: np.random.Generator,
        *,
        among: Collection[str] | None = None,
        above: int | None = None,
    ) -> Proposal | None:
        """Collect the models' proposals and select that of the highest priority.

        A model moves to its next node only when its proposal is selected; CN1396856
        does not specify this.

        Args:
            stimulus: recognised event; None: no event for some time.
            random: the only source of chance.
            among: names of the possible actions; None: all.
            above: lower bound of the models' priority, exclusive; None: all models.

        Returns:
            The selected proposal; None without a proposal.
        """
        strengths = self.strengths.as_mapping()
        for model in self._models:
            if above is not None and model.priority <= above:
                break
            proposal = _propose(model, stimulus, strengths, random)
            if proposal and (among is None or proposal.action in among):
                automaton = model.automaton
                row = automaton.row(proposal.node, proposal.row)
                automaton.go(row.arcs[proposal.arc].to)
                self.present = proposal
                return proposal
        return None

    def recognise(self, stimulus: Stimulus) -> None:
        """Update emotions and drives for a recognised event."""
        self.strengths.update(self._reactions.get(stimulus.event, {}))

    def complete(self, action: str) -> None:
        """Update emotions, drives and learning for a finished action."""
        self.strengths.update(self._effects.get(action, {}))
        if self.present is not None and self.present.action == action:
            self._learn(Lesson.PRAISE, self._practice)

    def teach(self, lesson: Lesson) -> None:
        """Make the last selected action more or less likely, if there is one."""
        self._learn(lesson, self._rate)

    def _learn(self, lesson: Lesson, rate: float) -> None:
        taken = self.present
        if taken is None or not rate:
            return
        automaton = taken.model.automaton
        row = reinforce(automaton.row(taken.node, taken.row), taken.arc, lesson, rate)
        automaton.replace(taken.node, taken.row, row)


def arbitration_by(
    switch: Switch,
    stimulus: Callable[[], Stimulus | None],
    random: np.random.Generator,
    is_quiet: Callable[[], bool] = lambda: True,
) -> Arbitration:
    """Return an arbitration rule whose winner is the switch's selection.

    Actions are the names of children. A winner stays until it is no longer ready, or a
    model of higher priority proposes another action.

    Args:
        switch: source of the decisions.
        stimulus: returns the event recognised since its last call, if any.
        random: the only source of chance.
        is_quiet: returns True if no event was recognised for so long that the models
            decide without a stimulus; by default always True.
    """

    def choose(ready: Sequence[str], present: str | None) -> str | None:
        taken = switch.present
        is_selected = (
            present is not None and taken is not None and taken.action == present
        )
        above = taken.model.priority if is_selected and taken is not None else None
        event = stimulus()
        if event is None and not is_quiet():
            return present
        proposal = switch.decide(event, random, among=ready, above=above)
        return present if proposal is None else proposal.action

    return choose


def _propose(
    model: BehaviourModel,
    stimulus: Stimulus | None,
    strengths: Mapping[str, float],
    random: np.random.Generator,
) -> Proposal | None:
    automaton = model.automaton
    number = automaton.row_for(stimulus, strengths)
    if number is None:
        return None
    row = automaton.row(automaton.node, number)
    arc = row.draw(random)
    action = row.arcs[arc].action
    if action is None:
        automaton.go(row.arcs[arc].to)
        return None
    return Proposal(
        model=model, action=action, node=automaton.node, row=number, arc=arc
    )
