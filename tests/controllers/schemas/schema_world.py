"""Test setup for schemas: a robot that records commands, and all events.

Test schemas are made by `actuation` and `perceptive` from functions that get the schema
as their argument.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Granted,
    Rejected,
)
from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.schemas import (
    Activation,
    ActuationSchema,
    PerceptiveSchema,
    SchemaInfo,
    State,
)
from nao_testbed.controllers.schemas.events import StateChangedTo
from nao_testbed.controllers.schemas.registry import Registry
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.models import Robot
from nao_testbed.models.library import LightPattern, Motion, Sound
from tests.controllers.arbitration.gate_setup import World

E = TypeVar("E", bound=Event)
Does = Callable[[Any], object]


def nothing(schema: object) -> None:
    del schema


def actuation(
    name: str,
    *,
    ready: Does = lambda schema: True,
    start: Does = nothing,
    iterate: Does = nothing,
    stop: Does = nothing,
    on_lost: Does = nothing,
    on_modulated: Does = nothing,
    arbitrate: Callable[[Sequence[str], str | None], str | None] | None = None,
    **declared: Any,
) -> type[ActuationSchema[Any]]:
    """Return an actuation schema; `declared` are fields of `SchemaInfo`."""
    declared.setdefault("period_s", 0.01)
    body: dict[str, Any] = {
        "info": SchemaInfo(name=name, about="Of a test.", **declared),
        "ready": ready,
        "start": start,
        "iterate": iterate,
        "stop": stop,
        "on_lost": on_lost,
        "on_modulated": on_modulated,
    }
    if arbitrate is not None:
        body["arbitrate"] = lambda self, names, now: arbitrate(names, now)
    return type(name, (ActuationSchema,), body)


def perceptive(
    name: str,
    *,
    perceive: Does = nothing,
    start: Does = nothing,
    stop: Does = nothing,
    **declared: Any,
) -> type[PerceptiveSchema[Any]]:
    """Return a perceptive schema."""
    declared.setdefault("period_s", 0.01)
    body: dict[str, Any] = {
        "info": SchemaInfo(name=name, about="Of a test.", **declared),
        "perceive": perceive,
        "start": start,
        "stop": stop,
    }
    return type(name, (PerceptiveSchema,), body)


@dataclass
class Ordered:
    """Recorded order; only `end` ends it."""

    what: str
    token: Token | None
    tick: int
    is_over: bool = False
    has_failed: bool = False
    reason: str = ""

    def end(self) -> None:
        self.is_over = True


class Acts:
    """Actuators on a gate; orders are only recorded."""

    def __init__(self, world: World) -> None:
        self._gate = world.gate
        self.orders: list[Ordered] = []

    def submit(self, token: Token | None, leaf: str, value: Value) -> Rejected | None:
        return self._gate.submit(token, leaf, value)

    def submit_all(
        self, token: Token | None, values: Mapping[str, Value]
    ) -> Rejected | None:
        return self._gate.submit_all(token, values)

    def _order(self, what: object, token: Token | None, tick: int) -> Ordered:
        name = what if isinstance(what, str) else getattr(what, "name", "")
        self.orders.append(Ordered(str(name), token, tick))
        return self.orders[-1]

    def play(self, token: Token | None, motion: str | Motion, tick: int) -> Ordered:
        return self._order(motion, token, tick)

    def light(
        self, token: Token | None, pattern: str | LightPattern, tick: int
    ) -> Ordered:
        return self._order(pattern, token, tick)

    def sound(self, token: Token | None, sound: str | Sound, tick: int) -> Ordered:
        return self._order(sound, token, tick)

    def command(
        self, token: Token | None, name: str, tick: int, group: str | None = None
    ) -> Ordered:
        return self._order(name, token, tick)

    def interrupt(self, token: Token | None, name: str, tick: int) -> Ordered:
        return self._order(name, token, tick)


class Stage:
    """Base of setups that run schemas in slots; subclasses define `slot`."""

    runtime: SchemaRuntime
    ledger: Ledger
    events: list[Event]
    tick: int

    def slot(self, count: int = 1) -> Self:
        """Run device slots."""
        raise NotImplementedError

    def begin(self, schema: str, *, name: str = "", **given: Any) -> Self:
        """Add a root and wake it; it is first checked in the next slot."""
        self.runtime.add(Activation(schema=schema, name=name, **given))
        self.runtime.wake(name or schema, self.tick + 1)
        return self

    def take(self, owner: str, *names: str, **habits: Any) -> Token | None:
        """Request resources for another owner; None if not granted at once."""
        tick = max(self.tick, 0)
        self.ledger.add_owner(Owner(name=owner, **habits), tick)
        request = Request(owner=owner, resources=names, timeout_s=0.0)
        outcome = self.ledger.request(request, tick).outcome
        return outcome.token if outcome else None

    def hold(self, owner: str, *names: str, **habits: Any) -> Token:
        """Take resources for another owner; they must be granted at once."""
        token = self.take(owner, *names, **habits)
        assert token is not None, f"{owner} was not granted {names}"
        return token

    def state(self, path: str) -> State:
        return self.runtime.view(path).state

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class SchemaWorld(Stage):
    """Runtime on a robot that obeys at once, run slot by slot."""

    world: World
    acts: Acts
    runtime: SchemaRuntime
    ledger: Ledger
    tick: int = -1
    events: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, robot: Robot, *kinds: type, seed: int = 0, **how: Any) -> "SchemaWorld":
        world = World.of(robot)
        acts = Acts(world)
        registry = Registry({kind.info.name: kind for kind in kinds})  # type: ignore[attr-defined]
        how = {"registry": registry, "seed": seed, **how}
        runtime = SchemaRuntime(robot, world.ledger, acts, **how)
        return cls(world, acts, runtime, world.ledger, events=world.events)

    def slot(self, count: int = 1) -> Self:
        for _ in range(count):
            self.tick += 1
            seen = replace(self.world.robot.read(), time_s=self.tick * 0.01)
            self.runtime.step(self.tick, seen)
            self.ledger.advance(self.tick)
            self.world.gate.flush(self.tick)
        return self

    def release(self, token: Token) -> None:
        self.ledger.release(token, max(self.tick, 0))

    def states(self, path: str) -> list[tuple[int, State]]:
        """Return tick and state of each change of an instance."""
        return [
            (event.tick, event.state)
            for event in self.told(StateChangedTo)
            if event.path == path
        ]

    def executed_by(self) -> dict[int, set[str]]:
        """Return tick to the owners whose commands were written."""
        owners = {event.token: event.owner for event in self.told(Granted)}
        found: dict[int, set[str]] = {}
        for event in self.told(Executed):
            found.setdefault(event.tick, set()).add(owners[event.token])
        return found
