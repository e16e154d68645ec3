"""Histories from a seed, and how to find the shortest one that fails.

Seeded histories cost no more than the two twins do, so that a great many can be run;
hypothesis looks deeper into fewer (`test_state_machine.py`). Both choose the same
steps.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from controllers.arbitration.tokens import Preemption
from tests.controllers.arbitration.manager.model import steps
from tests.controllers.arbitration.manager.model.comparison import World
from tests.controllers.arbitration.manager.model.lockstep import Twins
from tests.controllers.arbitration.manager.model.small_setup import PARENTS, POLICIES
from tests.controllers.arbitration.manager.model.steps import FOCUSES, Chooser, Step

T = TypeVar("T")

_OFTEN: tuple[tuple[Callable[[Chooser], Step], int], ...] = (
    (steps.choose_request, 12),
    (steps.choose_release, 5),
    (steps.choose_time, 4),
    (steps.choose_word, 1),
    (steps.choose_sign_of_life, 1),
    (steps.choose_end, 1),
    (steps.choose_fault, 2),
    (steps.choose_posture, 2),
    (steps.choose_resource, 1),
    (steps.choose_command, 1),
)
KINDS = tuple(kind for kind, times in _OFTEN for _ in range(times))
"""Kinds of steps, each as often as it comes."""


class Seeded:
    """Chooses by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.focus = self.choose(FOCUSES)

    def choose(self, options: Sequence[T]) -> T:
        return options[int(self._random.random() * len(options))]


@dataclass(frozen=True, kw_only=True)
class History:
    """A world, and the steps taken in it."""

    world: World
    steps: tuple[Step, ...]

    def replay(self) -> Twins:
        """Take every step, comparing after each.

        Raises:
            AssertionError: ledger and model differ, or an invariant is broken.
        """
        twins = Twins(self.world)
        for step in self.steps:
            twins.run(step)
        twins.finish()
        return twins


def choose_world(pick: Chooser) -> World:
    return World(
        preemption=pick.choose(tuple(Preemption)),
        dead_tokens_kept=pick.choose((10_000, 2)),
        overtake_s=pick.choose((0.0, 2.0, 5.0, 5.0)),
        policies=tuple(pick.choose(POLICIES) for _ in PARENTS),
        time_to_live_s=pick.choose((None, None, 5.0)),
    )


def history_of(seed: int, length: int) -> History:
    """Return the history of a seed."""
    pick = Seeded(seed)
    world = choose_world(pick)
    taken = [pick.choose(KINDS)(pick) for _ in range(length)]
    if seed % 4 == 3:  # the others stay the histories that they were
        for _ in range(1 + length // 8):
            taken.insert(pick.choose(range(length)), steps.choose_rules(pick))
    return History(world=world, steps=tuple(taken))


def why_it_fails(history: History) -> str:
    """Return what is wrong with a history, "" if nothing is."""
    try:
        history.replay()
    except Exception as failure:  # noqa: BLE001  (a crash of the ledger counts too)
        return f"{type(failure).__name__}: {failure}"
    return ""


def shortest(history: History) -> History:
    """Leave out steps for as long as what remains still fails."""
    taken = list(history.steps)
    at = len(taken)
    while at > 0:
        at -= 1
        fewer = History(world=history.world, steps=(*taken[:at], *taken[at + 1 :]))
        if why_it_fails(fewer):
            taken = list(fewer.steps)
            at = min(at, len(taken))
    return History(world=history.world, steps=tuple(taken))
