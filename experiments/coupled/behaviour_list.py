"""The behaviours of a robot, called in every slot; one that fails ends alone (RM-65).

A behaviour that raises is not called any more, and its owner is dropped in the same
tick: its commands of that slot are refused, and its joints get their safe set-points.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from controllers.arbitration.manager.front import take_snapshot
from controllers.arbitration.manager.ledger import Ledger
from controllers.interface.robot_interface import Observation
from experiments.coupled.slot_failures import Failures
from models import BadInput, UnknownName

Behaviour = Callable[[int, Observation], object]
"""Given the tick and the newest observation, it requests, releases and submits; what it
returns is no matter."""


class BehaviourList:
    """Calls behaviours in the order in which they were added."""

    def __init__(self, ledger: Ledger, failures: Failures) -> None:
        """Begin without any.

        Args:
            ledger: knows their owners.
            failures: gets what they raise.
        """
        self._ledger = ledger
        self._failures = failures
        self._behaviours: list[tuple[str, Behaviour]] = []

    @property
    def owners(self) -> tuple[str, ...]:
        """For whom behaviours act, in the order of being called."""
        return tuple(owner for owner, _ in self._behaviours)

    def add(self, owner: str, behaviour: Behaviour) -> None:
        """Call a behaviour in every slot from the next one on.

        Args:
            owner: for whom it acts. When it raises, all behaviours of that owner end.
            behaviour: gets the tick and the newest observation.

        Raises:
            UnknownName: the ledger knows no such owner.
        """
        known = [row.name for row in take_snapshot(self._ledger).owners]
        if owner not in known:
            raise UnknownName("Owner", owner, known, "the ledger")
        self._behaviours.append((owner, behaviour))

    def act(self, tick: int, observation: Observation) -> None:
        """Call each behaviour once.

        Args:
            tick: now. Behaviours get the ledger's tick, if that is later.
            observation: the newest one.
        """
        for owner, behaviour in tuple(self._behaviours):
            now = max(tick, self._ledger.tick)
            call = partial(self._call, behaviour, now, observation)
            if not self._failures.attempt(owner, now, call):
                self._end(owner, max(now, self._ledger.tick))

    def _call(self, behaviour: Behaviour, tick: int, observation: Observation) -> None:
        behaviour(tick, observation)
        if self._ledger.tick > tick:
            raise BadInput(
                f"it called the ledger with tick {self._ledger.tick}, but it is {tick};"
                " pass the tick that it is given."
            )

    def _end(self, owner: str, tick: int) -> None:
        self._behaviours = [(o, b) for o, b in self._behaviours if o != owner]
        self._failures.attempt(owner, tick, partial(self._drop, owner, tick))

    def _drop(self, owner: str, tick: int) -> None:
        with suppress(UnknownName):  # it may have been forgotten
            self._ledger.drop(owner, tick)
