"""Runtime of schemas: a forest of behaviours, one step per device slot.

    runtime = SchemaRuntime(robot, ledger, actuators)
    runtime.add(Activation(schema="choose", name="life", children=(...)))
    runtime.wake("life", tick)
    runtime.step(tick, robot.read())  # in every slot, before the gate's flush

Each root is a separate level: it wins whenever it is ready, independently of the other
roots; reservations resolve their conflicts over the robot. Below a root at most one
sibling wins. A schema reads an `Observation` and acts through `Actuators`, on
a real robot and in simulation alike.
"""

# ruff: noqa: D102  # documented in `Schema`

from collections.abc import Callable, Mapping
from math import inf
from typing import Any
from zlib import crc32

import numpy as np

from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.activation import (
    Activation,
    changed_parameters,
    parameters_as_text,
)
from nao_testbed.controllers.schemas.actuators import (
    Actuators,
    ChildView,
    NotStarted,
    Playing,
    PostureKeeper,
)
from nao_testbed.controllers.schemas.declaration import Cell, State, find_cell
from nao_testbed.controllers.schemas.events import (
    Modulated,
    NotWinner,
    StateChangedTo,
    Woken,
)
from nao_testbed.controllers.schemas.registry import Registry
from nao_testbed.controllers.schemas.runtime.deactivation import Agenda
from nao_testbed.controllers.schemas.runtime.instance import Instance
from nao_testbed.controllers.schemas.runtime.instances import Instances, SchemaLimits
from nao_testbed.controllers.schemas.runtime.lifecycle import Lifecycle
from nao_testbed.models import BadInput, Robot, UnknownName


class SchemaRuntime:
    """All schemas of one robot.

    Single-threaded and deterministic. An error of a schema ends this schema and its
    children (`SchemaFailed` in the trace, `error` of its view); `step` never raises it.
    """

    def __init__(
        self,
        robot: Robot,
        ledger: Ledger,
        actuators: Actuators,
        *,
        registry: Registry | None = None,
        seed: int = 0,
        posture: PostureKeeper | None = None,
        limits: SchemaLimits | None = None,
    ) -> None:
        """Create a runtime without schemas.

        Args:
            robot: robot of the observations.
            ledger: ledger that grants resources to winners and emits events.
            actuators: interface through which winners act.
            registry: available schemas; None: those of the installation.
            seed: seed of the schemas' random numbers.
            posture: called before a schema leaves a state of the robot; None: no
                permission is needed.
            limits: largest size of hierarchies; None: the defaults.
        """
        self.robot = robot
        self.ledger = ledger
        self.actuators = actuators
        self.seed = seed
        self.posture = posture
        self.observation: Observation | None = None
        self.instances = Instances(
            ledger, registry or Registry(), robot, limits or SchemaLimits()
        )
        self.agenda = Agenda()
        self.lifecycle = Lifecycle(ledger, self.agenda, self.instances.instances)
        self._newly_awake: list[Instance] = []
        """Roots activated since the last slot."""
        self._activations = 0
        self._added: dict[str, Activation] = {}
        """Roots in the order in which they were added."""

    # -- behaviours -------------------------------------------------------------------

    def add(self, activation: Activation, *, part_of: str | None = None) -> None:
        """Register an inactive root; its name is also the name of its owner.

        Args:
            activation: schema, name, parameters and resources.
            part_of: owner that contains it, for instance another root.

        Raises:
            UnknownName: a schema, parameter, resource or owner does not exist.
            BadInput: a value is invalid for its parameter, or the name is taken.
        """
        if activation.name in self.instances.roots:
            raise BadInput(
                f"behaviour {activation.name!r} already exists; use another name."
            )
        self._bind(self.instances.make(activation, None, part_of)[0])
        self._added[activation.name] = activation

    def wake(
        self, name: str, tick: int, values: Mapping[str, Any] | None = None
    ) -> None:
        """Activate a root from the next step on.

        If the root is already active, only its parameters change.

        Args:
            name: name of the root.
            tick: present tick.
            values: parameters that differ from those of `add`.

        Raises:
            UnknownName: there is no such root or parameter.
            BadInput: a value is invalid for its parameter.
        """
        self.lifecycle.tick = tick
        activation = self._added[self._root(name).name]
        given = {**activation.parameters, **(values or {})}
        self.activate(activation.changed(parameters=given), None)

    def sleep(self, name: str, tick: int) -> None:
        """Deactivate a root and its descendants.

        Raises:
            UnknownName: no root has this name.
        """
        self.lifecycle.tick = tick
        self.lifecycle.deactivate(self._root(name))

    def modulate(self, path: str, values: Mapping[str, Any], tick: int) -> None:
        """Change parameters of any instance from outside, for example from a web page.

        Raises:
            UnknownName: there is no such instance or parameter.
            BadInput: a value is invalid for its parameter.
        """
        self.lifecycle.tick = tick
        self.change(self.instances.find(path), values)

    # -- below the roots --------------------------------------------------------------

    def activate(self, activation: Activation, parent: Instance | None) -> Instance:
        """Activate an instance, or update the modulation and rank of an active one.

        Raises:
            UnknownName, BadInput: the activation data are invalid; nothing has changed.
        """
        one, parameters = self.instances.make(activation, parent)
        self._bind(one)
        newly_awake = self._newly_awake if parent is None else parent.newly_awake
        if one.is_awake:
            self._modulate(one, parameters)
            if one.is_awake and one.is_done:
                one.is_done = False
                newly_awake.append(one)
        else:
            self._activations += 1
            one.sequence = self._activations
            one.is_done, one.error, one.parameters = False, "", parameters
            if one not in newly_awake:
                newly_awake.append(one)
            self._emit_activated(one)
        if parent is not None:
            parent.rank()
        return one

    def change(self, one: Instance, values: Mapping[str, Any]) -> None:
        """Change parameters of an instance; other parameters keep their values.

        Raises:
            UnknownName, BadInput: the schema rejects them; nothing has changed.
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
            self.lifecycle.emit(Modulated, one, parameters=text)
        self.lifecycle.attempt(one, "on_modulated", one.schema.on_modulated)

    def _emit_activated(self, one: Instance) -> None:
        one.state = State.WINNER if one.is_perceptive else State.CHECKING
        if not self.ledger.listeners:
            return
        self.lifecycle.emit(
            Woken,
            one,
            schema=one.info.name,
            kind=one.schema.kind,
            parent=None if one.parent is None else one.parent.path,
            parameters=parameters_as_text(one.parameters),
        )
        self.lifecycle.emit(StateChangedTo, one, state=one.state)

    def _bind(self, one: Instance) -> None:
        if not hasattr(one.schema, "_context"):
            one.schema._context = InstanceContext(one, self)

    # -- time -------------------------------------------------------------------------

    def step(self, tick: int, observation: Observation) -> None:
        """Run everything that is due in a slot.

        Args:
            tick: present tick of the ledger.
            observation: newest observation.
        """
        check_tick(tick)
        lifecycle = self.lifecycle
        self.lifecycle.tick = tick
        self.observation = observation
        lifecycle.handle_losses()
        due = self.agenda.take(tick)
        for one in due:
            if one.is_perceptive:
                lifecycle.perceive(one)
        actuation = [one for one in due if not one.is_perceptive]
        for one in actuation:
            lifecycle.check(one)
        if self._newly_awake:
            lifecycle.run_first_iterations(self._newly_awake)
        lifecycle.run_turns(actuation)

    # -- queries -----------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """The present slot."""
        return self.lifecycle.tick

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all instances so far, in the order of creation."""
        return tuple(one.path for one in self.instances.instances)

    @property
    def winners(self) -> tuple[str, ...]:
        """Paths of the actuation schemas that are winners."""
        return tuple(
            one.path
            for one in self.instances.instances
            if one.state is State.WINNER and not one.is_perceptive
        )

    @property
    def is_quiet(self) -> bool:
        """True if no instance is active."""
        return not any(one.is_awake for one in self.instances.roots.values())

    def may_act(self, path: str) -> bool:
        """Return True if an instance has started as a winner with its resources.

        Raises:
            UnknownName: no instance has this path.
        """
        return self.instances.find(path).is_acting

    def view(self, path: str) -> ChildView:
        """Return the state of an instance.

        Raises:
            UnknownName: no instance has this path.
        """
        return self.instances.find(path).view()

    def value(self, path: str, variable: str) -> Any:
        """Return an output of an instance, for logs and pages.

        Raises:
            UnknownName: there is no such instance or output.
        """
        cells = self.instances.find(path).cells
        if variable not in cells:
            raise UnknownName("Output", variable, cells, f"the outputs of {path!r}")
        return cells[variable].value

    def _root(self, name: str) -> Instance:
        roots = self.instances.roots
        if name not in roots:
            raise UnknownName("Behaviour", name, roots, "the roots of this run")
        return roots[name]


class InstanceContext:
    """Context of one instance: its access to the runtime."""

    def __init__(self, one: Instance, runtime: SchemaRuntime) -> None:
        """Connect an instance to its runtime."""
        self._one = one
        self._runtime = runtime
        self._cells: dict[str, Cell] = {}
        self._count = -1
        self._random: np.random.Generator | None = None
        self.path = one.path
        self.period_s = one.period_ticks * runtime.ledger.cfg.tick_s
        self.tick_s = runtime.ledger.cfg.tick_s
        self.robot: Robot = runtime.robot

    # -- inputs ------------------------------------------------------------------------

    @property
    def tick(self) -> int:
        return self._runtime.tick

    @property
    def observation(self) -> Observation:
        observation = self._runtime.observation
        if observation is None:
            raise BadInput(f"{self.path!r} reads sensors before the first observation.")
        return observation

    @property
    def random(self) -> np.random.Generator:
        if self._random is None:
            seed = (self._runtime.seed, crc32(self.path.encode()))
            self._random = np.random.default_rng(seed)
        return self._random

    @property
    def parameters(self) -> Any:
        return self._one.parameters

    @property
    def children_given(self) -> tuple[Activation, ...]:
        return self._one.activation.children

    @property
    def obtained(self) -> tuple[str, ...]:
        outcome = self._one.outcome if self._one.is_acting else None
        return () if outcome is None else outcome.obtained

    @property
    def has_acted(self) -> bool:
        return self._one.has_acted

    def read(self, name: str) -> Any:
        return self._cell(name).value

    def age_s(self, name: str) -> float:
        written = self._cell(name).written
        return inf if written is None else (self.tick - written) * self.tick_s

    def write(self, variable: str, value: object) -> None:
        find_cell(self._one.cells, variable, self.path).write(value, self.tick)

    def active_state(self, group: str) -> str | None:
        return self._runtime.ledger.active_state(group)

    def _cell(self, name: str) -> Cell:
        instances = self._runtime.instances
        if self._count != len(instances.instances):  # a new, nearer instance may exist
            self._cells.clear()
            self._count = len(instances.instances)
        cell = self._cells.get(name)
        if cell is None:
            cell = self._cells[name] = instances.cell(self._one, name)
        return cell

    # -- children ----------------------------------------------------------------------

    def wake(self, activation: Activation) -> bool:
        if not self._is_permitted("wake"):
            return False
        self._runtime.activate(activation, self._one)
        return True

    def modulate(self, name: str, values: Mapping[str, Any]) -> bool:
        if not self._is_permitted("modulate"):
            return False
        self._runtime.change(self._child(name), values)
        return True

    def sleep(self, name: str) -> bool:
        if not self._is_permitted("sleep"):
            return False
        self._runtime.lifecycle.deactivate(self._child(name))
        return True

    def child(self, name: str) -> ChildView:
        return self._child(name).view()

    def awake(self) -> tuple[str, ...]:
        awake = [one for one in self._one.children.values() if one.is_awake]
        return tuple(one.name for one in sorted(awake, key=lambda one: one.sequence))

    def finish(self) -> None:
        if self._is_permitted("finish"):
            self._one.finishes = True

    def _child(self, name: str) -> Instance:
        children = self._one.children
        if name not in children:
            raise UnknownName("Child", name, children, f"the children of {self.path!r}")
        return children[name]

    # -- commands ----------------------------------------------------------------------

    def ask_to_leave(self, within_s: float) -> bool:
        if not self._is_permitted("ask_to_leave"):
            return False
        keeper = self._runtime.posture
        return keeper is None or keeper.ask_to_leave(self.path, self.tick, within_s)

    def submit(self, values: Mapping[str, Value]) -> bool:
        if not self._is_permitted("submit"):
            return False
        actuators, token = self._runtime.actuators, self._token
        if len(values) == 1:
            ((leaf, value),) = values.items()
            return actuators.submit(token, leaf, value) is None
        return actuators.submit_all(token, values) is None

    def place_order(
        self, what: str, order: Callable[[Actuators, Token | None, int], Playing]
    ) -> Playing:
        if not self._is_permitted(what):
            return NotStarted(f"{self.path!r} is not the winner, or has no token")
        playing = order(self._runtime.actuators, self._token, self.tick)
        self._one.keep_order(playing)
        return playing

    @property
    def _token(self) -> Token | None:
        outcome = self._one.outcome
        return None if outcome is None else outcome.token

    def _is_permitted(self, what: str) -> bool:
        one = self._one
        if one.may_act and one.is_acting:
            return True
        self._runtime.lifecycle.emit(NotWinner, one, what=what)
        return False
