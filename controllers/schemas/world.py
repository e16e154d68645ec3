"""What all instances of a run share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from controllers.arbitration.manager.ledger import Ledger
from controllers.interface.robot_interface import Observation
from controllers.schemas.activation import Activation
from controllers.schemas.actuators import Actuators, PostureKeeper
from controllers.schemas.agenda import Agenda
from controllers.schemas.endings import Endings
from controllers.schemas.family import Family
from controllers.schemas.instance import Instance
from controllers.schemas.link import SchemaLink
from controllers.schemas.parameters import (
    changed_parameters,
    make_parameters,
    parameters_as_text,
)
from controllers.schemas.registry import Registry, SchemaClass
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.states import State
from controllers.schemas.trace import Modulated, StateChangedTo, Woken
from controllers.schemas.waking import Waking
from models import BadInput, Robot, TestbedError


class World:
    """The robot, the ledger, what is acted through, and all instances."""

    def __init__(
        self,
        robot: Robot,
        ledger: Ledger,
        actuators: Actuators,
        registry: Registry,
        seed: int,
        bind: Callable[[Instance, "World"], SchemaLink],
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
        self.family = Family(ledger, registry)
        self.agenda = Agenda()
        self.endings = Endings(ledger, self.agenda)
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
