"""Base classes of schemas [jdec-urjc, section 2]: software components with one task.

A schema is a class: `info` declares it, the runtime calls its methods, which in turn
call the inherited methods. `example` is a template.

    class Nod(ActuationSchema[NodParameters]):
        info = SchemaInfo(name="nod", about="Nods.", parameters=NodParameters,
                          needs=("HeadPitch",), period_s=0.02)

        def iterate(self) -> None:
            self.submit("HeadPitch", self.parameters.amplitude * sin(self.time_s))

In each slot the runtime calls, in this order: `perceive` of all due perceptive schemas;
`ready` of all due actuation schemas; then, from the roots downwards, `iterate` of the
due winners, each followed by the competition of its children. Newly activated schemas
are processed in the same slot, so that a whole tree can grow in one. An exception in a
method deactivates this schema and its descendants only.

Time is simulated: each schema is called at its period regardless of its computing time.
A slow schema makes the run slow, but delays no other in simulated time.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.policies import Answer, Demand
from nao_testbed.controllers.arbitration.tokens import Outcome
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.actuators import ChildView, Playing, SchemaContext
from nao_testbed.controllers.schemas.declaration import Kind, SchemaInfo, keep_winner
from nao_testbed.models import Robot
from nao_testbed.models.library import LightPattern, Motion, Sound

P = TypeVar("P")
"""Class of a schema's parameters."""


class Schema(Generic[P]):
    """Common base of perceptive and actuation schemas; derive from one of these.

    An instance exists as long as its runtime, active or not, so that it may keep a
    memory. It must not have an `__init__` with arguments.
    """

    info: ClassVar[SchemaInfo]
    kind: ClassVar[Kind]
    _context: SchemaContext
    """Context, set by the runtime before any method except `__init__` is called."""

    # -- methods to override -----------------------------------------------------------

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: P, robot: Robot
    ) -> None:
        """Reject an activation that cannot succeed; by default accept all.

        Args:
            activation: activation data: its children and needs.
            parameters: its initial parameters.
            robot: robot with its library.

        Raises:
            BadInput: a required part is missing.
            UnknownName: a name is unknown to the robot.
        """
        del activation, parameters, robot

    @classmethod
    def robot_defaults(cls, robot: Robot) -> Mapping[str, Any]:
        """Return the parameters whose default is a property of the robot."""
        del robot
        return {}

    def start(self) -> None:
        """Initialise. Called on activation, or see `ActuationSchema.start`."""

    def stop(self) -> None:
        """Clean up after `start`; commands are not possible here."""

    def on_modulated(self) -> None:
        """Apply new `parameters`; called after a change while active."""

    # -- inputs ------------------------------------------------------------------------

    @property
    def parameters(self) -> P:
        """Present parameters, set by its parent."""
        parameters: P = self._context.parameters
        return parameters

    @property
    def path(self) -> str:
        """Name in the tree, such as `dance/wave`; also the name of its owner."""
        return self._context.path

    @property
    def tick(self) -> int:
        """Present slot."""
        return self._context.tick

    @property
    def time_s(self) -> float:
        """Simulated time of the present slot, in s."""
        return self._context.tick * self._context.tick_s

    @property
    def period_s(self) -> float:
        """Time between two of its iterations, in s."""
        return self._context.period_s

    @property
    def observation(self) -> Observation:
        """Sensor values of this slot."""
        return self._context.observation

    @property
    def robot(self) -> Robot:
        """Robot description that defines the order of the observation's arrays."""
        return self._context.robot

    @property
    def random(self) -> np.random.Generator:
        """Random generator of the instance; equal seeds give equal runs."""
        return self._context.random

    def active_state(self, group: str) -> str | None:
        """Return the active state of one of the robot's sets, such as its posture.

        Raises:
            UnknownName: the robot has no such set.
        """
        return self._context.active_state(group)

    # -- shared variables -------------------------------------------------------------

    def read(self, name: str) -> Any:
        """Return the last value of another schema's output, or its initial value.

        Args:
            name: `schema.variable`, one of `info.reads`.

        Raises:
            UnknownName: the input is not declared, or no such instance is within reach.
        """
        return self._context.read(name)

    def age_s(self, name: str) -> float:
        """Return the time since an output was written, in s; infinite if never.

        It grows while the writing schema is inactive.
        """
        return self._context.age_s(name)

    def write(self, variable: str, value: object) -> None:
        """Write one of its outputs; readers see the value at once.

        Raises:
            UnknownName: the variable is not one of `info.outputs`.
            BadInput: the value is not of the declared type.
        """
        self._context.write(variable, value)


class PerceptiveSchema(Schema[P]):
    """Schema that converts sensor data or simpler stimuli into richer ones.

    It is a WINNER from its activation on, without competitors, and commands nothing.
    Calls: `start`, then `perceive` at each period, first in the slot of activation;
    `stop`.
    """

    kind = Kind.PERCEPTIVE

    def perceive(self) -> None:
        """Read `observation` and other schemas' outputs, and `write` its own."""
        raise NotImplementedError


class ActuationSchema(Schema[P]):
    """Schema that commands effectors, or activates and modulates other schemas.

    While it is active, `ready` is called at each period. When it wins, its resources
    are requested. Once they are granted, or if it needs none, `start` is called, then
    `iterate` at each period counted from its activation. `stop` follows when it loses,
    finishes or is deactivated; `on_lost` replaces it when its resources are revoked.

    Commands and calls to other schemas are allowed only in `start` and `iterate`; in
    other methods they are refused and recorded in the trace.
    """

    kind = Kind.ACTUATION
    arbitrates_single: ClassVar[bool] = False
    """True: `arbitrate` also decides about a single ready child, which otherwise
    wins."""

    # -- what a schema may override ---------------------------------------------------

    @classmethod
    def needs_of(cls, parameters: P, robot: Robot) -> tuple[str, ...]:
        """Return the required resources; by default `info.needs`.

        Override it if the parameters determine the resources, as for the motion to
        play. Called on activation; a winner keeps its resources. `needs` of the
        activation data override the result.
        """
        del parameters, robot
        return cls.info.needs

    @classmethod
    def optional_of(cls, parameters: P, robot: Robot) -> tuple[str, ...]:
        """Return resources to take if they are free; by default `info.optional`."""
        del parameters, robot
        return cls.info.optional

    def ready(self) -> bool:
        """Return True if its precondition holds.

        Called at each period while it is active, also while it is the winner; a winner
        that is no longer ready stops at once.
        """
        return True

    def start(self) -> None:
        """Start to act as a winner with its resources. Repeated after `on_lost`."""

    def iterate(self) -> None:
        """Act: command, activate, modulate, deactivate, `finish`."""

    def on_lost(self) -> None:
        """React to the loss of its resources; its descendants are deactivated.

        The schema is still the winner and waits for its resources; commands are not
        possible here. If its own policy released them permanently, like the policy
        `stop`, the schema ends as after `finish`, and `stop` is called instead.
        """

    @property
    def has_acted(self) -> bool:
        """Return True if it has started to act since it won."""
        return self._context.has_acted

    def on_demand(self, demand: Demand) -> Answer | None:
        """Answer a request for its resources; only with the policy `callback`.

        By default the schema keeps its resources. A dance, for example, records a
        request for its legs, and finishes at its next stable posture.

        Args:
            demand: the requester and the resources.

        Returns:
            Answer, or None: no answer yet; the schema may finish by itself.
        """
        del demand
        return None

    def on_refused(self, outcome: Outcome) -> bool:
        """Return True to repeat a request that failed.

        With False the schema stops as after `finish`. By default the request is
        repeated if the schema has acted since it won, for recovery after `on_lost`;
        otherwise the schema ends.
        """
        del outcome
        return self.has_acted

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Choose the winner of several ready children.

        By default the present winner stays.

        Args:
            ready: at least two names, or one with `arbitrates_single`; the highest
                rank first.
            present: the present winner if it is among them.

        Returns:
            One of them, or None for no winner.
        """
        return keep_winner(ready, present)

    # -- children ---------------------------------------------------------------------

    @property
    def children_given(self) -> tuple[Activation, ...]:
        """Activation data of its children, from its parent."""
        return self._context.children_given

    @property
    def awake(self) -> tuple[str, ...]:
        """Names of its active children in the order of activation."""
        return self._context.awake()

    def wake(
        self, schema: str, /, *, called: str = "", order: int = 0, **parameters: Any
    ) -> bool:
        """Activate a child, or keep it active.

        An active child gets the parameters and the rank; a finished or failed child
        restarts.

        Args:
            schema: name in the registry.
            called: name of the instance; empty: the schema's.
            order: rank among its siblings.
            parameters: values by name; the others take their defaults.

        Returns:
            True if the call was allowed.

        Raises:
            UnknownName: the schema, a parameter or a resource is unknown.
            BadInput: a value is invalid, or another schema has that name here.
        """
        return self._context.wake(
            Activation(schema=schema, name=called, order=order, parameters=parameters)
        )

    def wake_child(self, activation: Activation) -> bool:
        """Activate a child with full activation data, such as a given one."""
        return self._context.wake(activation)

    def modulate(self, name: str, /, **parameters: Any) -> bool:
        """Change parameters of a child; other parameters keep their values.

        Raises:
            UnknownName: the child or a parameter does not exist.
            BadInput: a value is invalid.
        """
        return self._context.modulate(name, parameters)

    def sleep(self, name: str, /) -> bool:
        """Deactivate a child and its descendants; no effect if it is inactive.

        Raises:
            UnknownName: the child does not exist.
        """
        return self._context.sleep(name)

    def child(self, name: str) -> ChildView:
        """Return the view of a child.

        Raises:
            UnknownName: it never activated a child with that name.
        """
        return self._context.child(name)

    def finish(self) -> None:
        """Mark its task as done: it stops when the present method returns.

        It is not ready again until its next activation. A root is deactivated.
        """
        self._context.finish()

    # -- commands ---------------------------------------------------------------------

    @property
    def obtained(self) -> tuple[str, ...]:
        """Granted leaves; optional ones may be missing."""
        return self._context.obtained

    def ask_to_leave(self, within_s: float) -> bool:
        """Ask the owners that need the robot's state, such as Stand, to release it.

        Args:
            within_s: maximum time until the robot is in the next state, in s.

        Returns:
            True if all released it, or if no owner needs a state.
        """
        return self._context.ask_to_leave(within_s)

    def submit(self, leaf: str, value: Value) -> bool:
        """Command one leaf in this slot; return True if it was accepted."""
        return self._context.submit({leaf: value})

    def submit_all(self, values: Mapping[str, Value]) -> bool:
        """Command several leaves in this slot, all or none."""
        return self._context.submit(values)

    def play(self, motion: str | Motion) -> Playing:
        """Play a motion, by its library name or as data."""
        return self._context.place_order(
            "play", lambda act, token, tick: act.play(token, motion, tick)
        )

    def light(self, pattern: str | LightPattern) -> Playing:
        """Show a light pattern."""
        return self._context.place_order(
            "light", lambda act, token, tick: act.light(token, pattern, tick)
        )

    def sound(self, sound: str | Sound) -> Playing:
        """Play a sound, by its library name or as data."""
        return self._context.place_order(
            "sound", lambda act, token, tick: act.sound(token, sound, tick)
        )

    def say(self, text: str, volume: float = 1.0) -> Playing:
        """Speak a text.

        Args:
            text: text to speak.
            volume: share of full scale, in [0, 1].
        """
        return self.sound(Sound(name=text, text=text, volume=volume))

    def command(self, name: str, group: str | None = None) -> Playing:
        """Submit a command of the library with its motion, light and sound.

        Args:
            name: name of the command.
            group: group name of the outputs, which start together; None: the command's
                name.
        """
        return self._context.place_order(
            "command", lambda act, token, tick: act.command(token, name, tick, group)
        )

    def interrupt(self, command: str) -> Playing:
        """Insert a command into the present output, which pauses and then continues.

        Args:
            command: command of the library, with one output and no points.

        Raises:
            UnknownName: the library has no such command.
            BadInput: it has several outputs, or points.
        """
        return self._context.place_order(
            "interrupt", lambda act, token, tick: act.interrupt(token, command, tick)
        )
