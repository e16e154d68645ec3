"""What all instances of a run share, and what one of them may see and do, and when.

`World` holds the robot, the ledger, what is acted through, and all instances;
`InstanceContext` is one instance's side of it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any
from zlib import crc32

import numpy as np

from controllers.arbitration.gate.writers import Value
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.tokens import Token
from controllers.interface.robot_interface import Observation
from controllers.schemas.actuators import (
    Actuators,
    ChildView,
    NeverPlayed,
    Playing,
    PostureKeeper,
    SchemaContext,
)
from controllers.schemas.declaration import Cell, State, find_cell
from controllers.schemas.events import Modulated, NotWinner, StateChangedTo, Woken
from controllers.schemas.registry import Registry, SchemaClass
from controllers.schemas.runtime.activation import Activation
from controllers.schemas.runtime.deactivation import Agenda, Deactivation
from controllers.schemas.runtime.instance import Instance
from controllers.schemas.runtime.instances import Instances
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.waking import (
    Waking,
    changed_parameters,
    make_parameters,
    parameters_as_text,
)
from models import BadInput, Robot, TestbedError, UnknownName


class World:
    """The robot, the ledger, what is acted through, and all instances."""

    def __init__(
        self,
        robot: Robot,
        ledger: Ledger,
        actuators: Actuators,
        registry: Registry,
        seed: int,
        bind: Callable[[Instance, "World"], SchemaContext],
        posture: PostureKeeper | None = None,
    ) -> None:
        """Begin without instances; `bind` makes the link of a new one."""
        self.posture = posture
        self.robot = robot
        self.ledger = ledger
        self.actuators = actuators
        self.registry = registry
        self.seed = seed
        self._bind = bind
        self.observation: Observation | None = None
        self.family = Instances(ledger, registry)
        self.agenda = Agenda()
        self.endings = Deactivation(ledger, self.agenda)
        self.activation = Activation(
            ledger, self.agenda, self.endings, self.family.instances
        )
        self.newborn: list[Instance] = []
        """Roots that were woken since they were last looked at."""
        self._wakings = 0

    @property
    def tick(self) -> int:
        """The present slot."""
        return self.endings.tick

    def make(
        self, waking: Waking, parent: Instance | None, part_of: str | None = None
    ) -> Instance:
        """Return an instance that fits a waking, asleep if it is new.

        Raises:
            UnknownName, BadInput: it cannot be woken so; nothing has changed.
        """
        kind = self.registry.find(waking.schema)
        parameters = make_parameters(kind.info, waking.parameters)
        takes = with_needs(kind, waking, parameters, self.robot)
        check_waking(kind, takes, parameters, self.robot)
        one = self.family.make(waking, parent, part_of, takes)
        if not hasattr(one.schema, "_link"):
            one.schema._link = self._bind(one, self)
            one.parameters = parameters
        return one

    def wake(self, waking: Waking, parent: Instance | None) -> Instance:
        """Wake an instance, or keep it awake with new modulation and rank.

        Raises:
            UnknownName, BadInput: it cannot be woken so; nothing has changed.
        """
        one = self.make(waking, parent)
        parameters = make_parameters(one.info, waking.parameters)
        newborn = self.newborn if parent is None else parent.newborn
        if one.is_awake:
            self._modulate(one, parameters)
            if one.is_awake and one.is_done:
                one.is_done = False
                newborn.append(one)
        else:
            self._wakings += 1
            one.woken = self._wakings
            one.is_done, one.error, one.parameters = False, "", parameters
            if one not in newborn:
                newborn.append(one)
            self._tell_woken(one)
        if parent is not None:
            parent.rank()
        return one

    def modulate(self, one: Instance, values: Mapping[str, Any]) -> None:
        """Change parameters of an instance; the others stay.

        Raises:
            UnknownName, BadInput: the schema does not take them; nothing has changed.
        """
        self._modulate(one, changed_parameters(one.info, one.parameters, values))

    def _modulate(self, one: Instance, parameters: Any) -> None:
        if parameters == one.parameters:
            return
        one.parameters = parameters
        if not one.is_awake:
            return
        if self.ledger.listeners:
            text = parameters_as_text(parameters)
            self.ledger.tell(Modulated(tick=self.tick, path=one.path, parameters=text))
        self.endings.attempt(one, "on_modulated", one.schema.on_modulated)

    def _tell_woken(self, one: Instance) -> None:
        one.state = State.WINNER if one.is_perceptive else State.CHECKING
        if not self.ledger.listeners:
            return
        self.ledger.tell(
            Woken(
                tick=self.tick,
                path=one.path,
                schema=one.info.name,
                kind=one.schema.kind,
                parent=None if one.parent is None else one.parent.path,
                parameters=parameters_as_text(one.parameters),
            )
        )
        self.ledger.tell(StateChangedTo(tick=self.tick, path=one.path, state=one.state))


def check_waking(
    kind: SchemaClass, waking: Waking, parameters: Any, robot: Robot
) -> None:
    """Let a schema refuse how it is to be woken.

    Raises:
        UnknownName, BadInput: it does, or it cannot say.
    """
    with _has_to_say(kind, "whether it may be woken so"):
        kind.check_waking(waking, parameters, robot)


def with_needs(
    kind: SchemaClass, waking: Waking, parameters: object, robot: Robot
) -> Waking:
    """Return a waking that names what its schema needs with its parameters.

    Raises:
        UnknownName, BadInput: they name what there is not, or it cannot say.
    """
    if not issubclass(kind, ActuationSchema) or waking.needs is not None:
        return waking
    optional = waking.optional
    with _has_to_say(kind, "what it needs"):
        needs = kind.needs_of(parameters, robot)
        optional = kind.optional_of(parameters, robot) if optional is None else optional
    return replace(waking, needs=needs, optional=optional)


@contextmanager
def _has_to_say(kind: SchemaClass, what: str) -> Iterator[None]:
    """Make of whatever a schema raises that may be another package's a `BadInput`."""
    try:
        yield
    except TestbedError:
        raise
    except Exception as error:
        raise BadInput(
            f"schema {kind.info.name!r} cannot say {what}: "
            f"{type(error).__name__}: {error}."
        ) from error


class InstanceContext:
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
