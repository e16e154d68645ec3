"""An instance's side of the runtime: what its schema may see and do, and when."""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any
from zlib import crc32

import numpy as np

from controllers.arbitration.gate.writers import Value
from controllers.arbitration.tokens import Token
from controllers.interface.robot_interface import Observation
from controllers.schemas.actuators import Actuators, NeverPlayed, Playing
from controllers.schemas.instance import Instance
from controllers.schemas.link import ChildView
from controllers.schemas.trace import NotWinner
from controllers.schemas.variables import Cell, find_cell
from controllers.schemas.waking import Waking
from controllers.schemas.world import World
from models import BadInput, Robot, UnknownName


class Bound:
    """The link of one instance to what all of them share."""

    def __init__(self, one: Instance, world: World) -> None:
        """Join them.

        Args:
            one: the instance.
            world: of the run.
        """
        self._one = one
        self._world = world
        self._cells: dict[str, Cell] = {}
        self._count = -1
        self._random: np.random.Generator | None = None
        self.path = one.path
        self.period_s = one.period_ticks * world.ledger.cfg.tick_s
        self.tick_s = world.ledger.cfg.tick_s
        self.robot: Robot = world.robot

    # -- what it sees -----------------------------------------------------------------

    @property
    def tick(self) -> int:
        """The present slot."""
        return self._world.tick

    @property
    def observation(self) -> Observation:
        """The newest sensor values."""
        observation = self._world.observation
        if observation is None:
            raise BadInput(f"{self.path!r} asks for sensor values before the first.")
        return observation

    @property
    def random(self) -> np.random.Generator:
        """A generator of this instance's own."""
        if self._random is None:
            seed = (self._world.seed, crc32(self.path.encode()))
            self._random = np.random.default_rng(seed)
        return self._random

    @property
    def parameters(self) -> Any:
        """The present ones."""
        return self._one.parameters

    @property
    def children_given(self) -> tuple[Waking, ...]:
        """Whom it was given to wake."""
        return self._one.waking.children

    @property
    def obtained(self) -> tuple[str, ...]:
        """Leaves that it has now."""
        claim = self._one.claim
        return claim.obtained if claim is not None and self._one.is_acting else ()

    @property
    def has_acted(self) -> bool:
        """Whether it has acted since it won."""
        return self._one.has_acted

    def read(self, name: str) -> Any:
        """Return the value of another's output."""
        return self._cell(name).value

    def age_s(self, name: str) -> float:
        """Return how old it is."""
        written = self._cell(name).written
        return inf if written is None else (self.tick - written) * self.tick_s

    def write(self, variable: str, value: object) -> None:
        """Give an own output a value."""
        find_cell(self._one.cells, variable, self.path).write(value, self.tick)

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set."""
        return self._world.ledger.active_state(group)

    def _cell(self, name: str) -> Cell:
        family = self._world.family
        if self._count != len(family.instances):  # a nearer one may be there now
            self._cells.clear()
            self._count = len(family.instances)
        cell = self._cells.get(name)
        if cell is None:
            cell = self._cells[name] = family.cell(self._one, name)
        return cell

    # -- its children -----------------------------------------------------------------

    def wake(self, waking: Waking) -> bool:
        """Wake a child."""
        if not self._may("wake"):
            return False
        self._world.wake(waking, self._one)
        return True

    def modulate(self, name: str, values: Mapping[str, Any]) -> bool:
        """Change a child's parameters."""
        if not self._may("modulate"):
            return False
        self._world.modulate(self._child(name), values)
        return True

    def sleep(self, name: str) -> bool:
        """Put a child to sleep."""
        if not self._may("sleep"):
            return False
        self._world.endings.put_to_sleep(self._child(name))
        return True

    def child(self, name: str) -> ChildView:
        """Return how a child does."""
        return self._child(name).view()

    def awake(self) -> tuple[str, ...]:
        """Return who is awake, in the order of waking."""
        awake = [one for one in self._one.children.values() if one.is_awake]
        return tuple(one.name for one in sorted(awake, key=lambda one: one.woken))

    def finish(self) -> None:
        """Note that it is done."""
        if self._may("finish"):
            self._one.finishes = True

    def _child(self, name: str) -> Instance:
        children = self._one.children
        if name not in children:
            raise UnknownName("Child", name, children, f"what {self.path!r} has woken")
        return children[name]

    # -- its commands -----------------------------------------------------------------

    def ask_to_leave(self, within_s: float) -> bool:
        """Ask for the active state to be left."""
        if not self._may("ask_to_leave"):
            return False
        keeper = self._world.posture
        return keeper is None or keeper.ask_to_leave(self.path, self.tick, within_s)

    def submit(self, values: Mapping[str, Value]) -> bool:
        """Command leaves in this slot."""
        if not self._may("submit"):
            return False
        actuators, token = self._world.actuators, self._token
        if len(values) == 1:
            ((leaf, value),) = values.items()
            return actuators.submit(token, leaf, value) is None
        return actuators.submit_all(token, values) is None

    def give(
        self, what: str, order: Callable[[Actuators, Token | None, int], Playing]
    ) -> Playing:
        """Give an order; it ends with the instance's authority."""
        if not self._may(what):
            return NeverPlayed(f"{self.path!r} is not the winner, or lacks its token")
        playing = order(self._world.actuators, self._token, self.tick)
        self._one.remember(playing)
        return playing

    @property
    def _token(self) -> Token | None:
        claim = self._one.claim
        return None if claim is None else claim.token

    def _may(self, what: str) -> bool:
        one, ledger = self._one, self._world.ledger
        if one.may_act and one.is_acting:
            return True
        if ledger.listeners:
            ledger.tell(NotWinner(tick=self.tick, path=one.path, what=what))
        return False
