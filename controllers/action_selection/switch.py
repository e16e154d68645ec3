"""What to do next: models propose, a switch takes one [CN1396856, fig. 5 and 6].

Each model stands for one condition, such as a low battery or a ball in sight, and has
an automaton and a preset priority. The switch takes the proposal of the highest. When
it is done, the learning, the emotions and the drives are told.

Emotions and drives have strengths from 0 to 100 [CN1396856, equations (1) and (2)]:

    E[t+1] = E[t] + ke ΔE[t]        I[k+1] = I[k] + ki ΔI[k]

`ke` and `ki` are set for each by itself: how sensitive it is. What changes them, and by
how much, is preset too: what is recognised, what was done, time. The result is bounded
to 0 to 100, as CN1396856 has it.
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
"""The six of CN1396856."""
DRIVES = ("exercise", "affection", "appetite", "curiosity")
"""Those that CN1396856 names; it says that there are five. Equation (2) is not for
appetite, which follows the charge of the battery: `set` it."""
LOWEST, HIGHEST = 0.0, 100.0


class Strengths:
    """Emotions and drives by name, each in [0, 100]."""

    def __init__(
        self,
        *,
        gains: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
    ) -> None:
        """Begin with all at 0 but those that are given.

        Args:
            gains: `ke` or `ki` of each; 1 where none is given.
            start: strengths at the beginning.

        Raises:
            UnknownName: a gain or a start is of none of them.
            BadInput: a number is not finite, or a strength out of range.
        """
        self._values = dict.fromkeys((*EMOTIONS, *DRIVES), LOWEST)
        self._gains = dict.fromkeys(self._values, 1.0)
        for name, gain in (gains or {}).items():
            self._gains[self._known(name)] = _finite(f"gain of {name!r}", gain)
        for name, value in (start or {}).items():
            self.set(name, value)

    def __getitem__(self, name: str) -> float:
        """Return one strength."""
        return self._values[self._known(name)]

    def as_mapping(self) -> dict[str, float]:
        """Return all, as they are now."""
        return dict(self._values)

    def set(self, name: str, value: float) -> None:
        """Give one a strength, such as appetite by the charge that is missing."""
        if not LOWEST <= value <= HIGHEST:
            raise BadInput(f"{name!r} is {value}; give a number from 0 to 100.")
        self._values[self._known(name)] = float(value)

    def update(self, changes: Mapping[str, float]) -> None:
        """Go one period on: add gain times change, bounded to [0, 100].

        Raises:
            UnknownName: there is none of a name.
            BadInput: a change is not finite. Nothing has changed then.
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
            raise UnknownName("Emotion or drive", name, self._values, "the two")
        return name


def _finite(what: str, value: float) -> float:
    if not isfinite(value):
        raise BadInput(f"{what} is {value}; give a finite number.")
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A behaviour, and the way of the automaton that led to it."""

    model: BehaviourModel
    action: str
    node: str
    row: int
    arc: int


Changes = Mapping[str, float]
"""Emotion or drive to how what is done, or recognised, changes it: ΔE or ΔI."""


class Switch:
    """Takes the proposal of highest priority, and feeds back what came of it.

    `recognise` what happens, `decide`, and when it is done `complete`; `teach` as often
    as a person does.
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
        """Begin with nothing decided.

        Args:
            models: of all conditions.
            strengths: of emotions and drives.
            effects: action to what it changes when it is done.
            reactions: event to what it changes when it is recognised.
            rate: of learning from praise and scolding, in [0, 1].
            practice: of learning from completion alone, in [0, 1]: what is done comes
                that much nearer to 100 %. CN1396856 says that learning changes the
                probabilities by it, and not which way or by how much; 0: it does not.

        Raises:
            BadInput: two models have one priority.
        """
        self._models = sorted(models, key=lambda model: -model.priority)
        for above, below in zip(self._models, self._models[1:], strict=False):
            if above.priority == below.priority:
                raise BadInput(
                    f"models {above.name!r} and {below.name!r} both have priority "
                    f"{above.priority}; give each its own."
                )
        self.strengths = strengths
        self._effects = dict(effects or {})
        self._reactions = dict(reactions or {})
        self._rate = rate
        self._practice = practice
        self.present: Proposal | None = None
        """What was taken last."""

    def decide(
        self,
        stimulus: Stimulus | None,
        random: np.random.Generator,
        *,
        among: Collection[str] | None = None,
        above: int | None = None,
    ) -> Proposal | None:
        """Let the models propose, and take the proposal of highest priority.

        A model goes on to its next node only when its proposal is taken; of this
        CN1396856 says nothing.

        Args:
            stimulus: what was recognised; None: nothing was for some time.
            random: the only source of chance.
            among: names of the actions that are possible; None: all are.
            above: only models of a higher priority are asked; None: all are.

        Returns:
            None: nobody proposes anything.
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
        """Note what was recognised: it changes emotions and drives."""
        self.strengths.update(self._reactions.get(stimulus.event, {}))

    def complete(self, action: str) -> None:
        """Note that an action is done: emotions, drives and learning hear of it."""
        self.strengths.update(self._effects.get(action, {}))
        if self.present is not None and self.present.action == action:
            self._learn(Lesson.PRAISE, self._practice)

    def teach(self, lesson: Lesson) -> None:
        """Let what was taken last become more likely, or less; if anything was."""
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
    """Return a rule by which a parent's winner is what the switch takes.

    Actions are the names of children. A winner stays until it is not ready any more, or
    a model of higher priority than the one that proposed it proposes another.

    Args:
        switch: decides.
        stimulus: returns what was recognised since it was called last, if anything.
        random: the only source of chance.
        is_quiet: tells whether nothing was recognised for so long that the models
            decide without a stimulus; by default they always do.
    """

    def choose(ready: Sequence[str], present: str | None) -> str | None:
        taken = switch.present
        is_ours = present is not None and taken is not None and taken.action == present
        above = taken.model.priority if is_ours and taken is not None else None
        heard = stimulus()
        if heard is None and not is_quiet():
            return present
        proposal = switch.decide(heard, random, among=ready, above=above)
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
