"""What every schema is [jdec-urjc, section 2]: a piece of software with one task.

A schema is a class: `info` declares it, its methods are called by the runtime, and in
them it calls what it inherits. `example` is one to copy.

    class Nod(ActuationSchema[NodParameters]):
        info = SchemaInfo(name="nod", about="Nods.", parameters=NodParameters,
                          needs=("HeadPitch",), period_s=0.02)

        def iterate(self) -> None:
            self.submit("HeadPitch", self.parameters.amplitude * sin(self.time_s))

In each slot the runtime calls, in this order: `perceive` of all perceptive schemas that
are due; `ready` of all actuation schemas that are; then, from the roots downwards,
`iterate` of the winners that are due, each followed by the competition of its children.
Whom a schema wakes is looked at once in the same slot, so that a whole tree can grow in
one. What a method raises puts this schema and all below it to sleep, and nobody else.

Time is simulated: each schema is called at its period whatever that costs. One that
takes long makes the run slow, but delays no other in simulated time.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.policies import Answer, Demand
from nao_testbed.controllers.arbitration.tokens import Outcome
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.schemas.actuators import ChildView, Playing, SchemaContext
from nao_testbed.controllers.schemas.declaration import Kind, SchemaInfo, keep_winner
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import Robot
from nao_testbed.models.library import LightPattern, Motion, Sound

P = TypeVar("P")
"""Class of a schema's parameters."""


class Schema(Generic[P]):
    """What perceptive and actuation schemas have in common; derive from one of these.

    An instance stays as long as its runtime, asleep or awake, so that it may remember.
    Without an own `__init__`, or with one that takes no argument.
    """

    info: ClassVar[SchemaInfo]
    kind: ClassVar[Kind]
    _context: SchemaContext
    """Set by the runtime before any method is called, but not in `__init__`."""

    # -- what a schema may override ---------------------------------------------------

    @classmethod
    def check_waking(cls, waking: Waking, parameters: P, robot: Robot) -> None:
        """Refuse to be woken so that nothing could come of it; by default never.

        Args:
            waking: how it is to be woken: its children, what it needs.
            parameters: what its modulation is then.
            robot: with its library.

        Raises:
            BadInput: something is missing that it cannot do without.
            UnknownName: something is named that the robot has not.
        """
        del waking, parameters, robot

    def start(self) -> None:
        """Begin. A perceptive one has been woken; see `ActuationSchema.start`."""

    def stop(self) -> None:
        """End what `start` began; nothing can be commanded here."""

    def on_modulated(self) -> None:
        """Take over new `parameters`; called after they have changed while awake."""

    # -- what it knows ----------------------------------------------------------------

    @property
    def parameters(self) -> P:
        """Its present modulation, set by who woke it."""
        parameters: P = self._context.parameters
        return parameters

    @property
    def path(self) -> str:
        """Its name in the tree, such as `dance/wave`; also that of its owner."""
        return self._context.path

    @property
    def tick(self) -> int:
        """The present slot."""
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
        """The sensor variables of this slot."""
        return self._context.observation

    @property
    def robot(self) -> Robot:
        """The description that the observation follows."""
        return self._context.robot

    @property
    def random(self) -> np.random.Generator:
        """Its own source of randomness: the same in each run of one seed."""
        return self._context.random

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set of the robot, such as its posture.

        Raises:
            UnknownName: there is no such set.
        """
        return self._context.active_state(group)

    # -- shared variables -------------------------------------------------------------

    def read(self, name: str) -> Any:
        """Return the last value of another schema's output, or its initial value.

        Args:
            name: `schema.variable`, one of `info.reads`.

        Raises:
            UnknownName: it is not declared, or no such instance is in reach.
        """
        return self._context.read(name)

    def age_s(self, name: str) -> float:
        """Return the time since an output was written, in s; infinite if never.

        It grows while the schema that writes it is asleep.
        """
        return self._context.age_s(name)

    def write(self, variable: str, value: object) -> None:
        """Give an output of its own a value, which all can read at once.

        Raises:
            UnknownName: it is not one of `info.outputs`.
            BadInput: the value is not of the declared type.
        """
        self._context.write(variable, value)


class PerceptiveSchema(Schema[P]):
    """Turns sensor data or simpler stimuli into richer ones.

    Woken it is a WINNER at once: it competes with nobody, and commands nothing.
    `start`, then `perceive` at each period, first in the slot of waking; `stop`.
    """

    kind = Kind.PERCEPTIVE

    def perceive(self) -> None:
        """Read `observation` and others' outputs, and `write` its own."""
        raise NotImplementedError


class ActuationSchema(Schema[P]):
    """Commands effectors, or wakes and modulates other schemas.

    Awake it has `ready` called at each period. When it wins, its resources are asked
    for; once it has them, or if it needs none, `start`, then `iterate` at each period,
    which counts from its waking. `stop` follows when it loses, finishes or is put to
    sleep; `on_lost` in its place when its resources were taken away.

    Commands and calls to other schemas do something in `start` and `iterate` alone;
    anywhere else they are refused, and the trace tells so.
    """

    kind = Kind.ACTUATION
    arbitrates_alone: ClassVar[bool] = False
    """Whether `arbitrate` also decides about one child that is ready alone, who else
    wins."""

    # -- what a schema may override ---------------------------------------------------

    @classmethod
    def needs_of(cls, parameters: P, robot: Robot) -> tuple[str, ...]:
        """Return the resources without which it does not act; by default `info.needs`.

        For a schema whose parameters decide: which motion it plays, say. Asked when it
        is woken; one that is the winner keeps what it has. Who wakes it with `needs`
        decides himself.
        """
        del parameters, robot
        return cls.info.needs

    @classmethod
    def optional_of(cls, parameters: P, robot: Robot) -> tuple[str, ...]:
        """Return those that it takes if they are free; by default `info.optional`."""
        del parameters, robot
        return cls.info.optional

    def ready(self) -> bool:
        """Return whether its precondition holds.

        Called at each period while it is awake, also while it is the winner; a winner
        that is not ready any more stands down at once.
        """
        return True

    def start(self) -> None:
        """Begin to act: it has won, and has what it needs. Again after `on_lost`."""

    def iterate(self) -> None:
        """Act: command, wake, modulate, put to sleep, `finish`."""

    def on_lost(self) -> None:
        """Its resources are gone, and all below it sleeps; it waits to have them again.

        It is still the winner; nothing can be commanded here. If its own policy gave
        way for good, as `stop` does, it does not wait: it is over as if it had
        called `finish`, and `stop` is called instead.
        """

    @property
    def has_acted(self) -> bool:
        """Whether it has begun to act since it won."""
        return self._context.has_acted

    def on_demand(self, demand: Demand) -> Answer | None:
        """Answer somebody who asks for its resources; only if its policy is `callback`.

        A dance that is asked for the legs notes it, and finishes at its next stable
        posture. By default it keeps what it has.

        Args:
            demand: who asks, and for what.

        Returns:
            None: it will finish by itself, or not.
        """
        del demand
        return None

    def on_refused(self, outcome: Outcome) -> bool:
        """Return whether to ask anew after a request that failed.

        If not it stands down as if it had called `finish`. By default it asks anew if
        it has acted since it won, so that it comes back after `on_lost`; who never got
        what it needs is done.
        """
        del outcome
        return self.has_acted

    def arbitrate(self, ready: Sequence[str], present: str | None) -> str | None:
        """Choose the winner of several children that are ready.

        By default the present winner stays.

        Args:
            ready: names of at least two, or of one where `arbitrates_alone` says so;
                the highest rank first.
            present: the present winner if it is among them.

        Returns:
            One of them, or None for nobody.
        """
        return keep_winner(ready, present)

    # -- children ---------------------------------------------------------------------

    @property
    def children_given(self) -> tuple[Waking, ...]:
        """Whom it was given to wake, by who woke it."""
        return self._context.children_given

    @property
    def awake(self) -> tuple[str, ...]:
        """Names of its children that are awake, in the order of waking."""
        return self._context.awake()

    def wake(
        self, schema: str, /, *, called: str = "", order: int = 0, **parameters: Any
    ) -> bool:
        """Wake a child, or keep it awake.

        Awake already it gets the parameters and the rank; finished or failed it begins
        anew.

        Args:
            schema: name in the registry.
            called: name of the instance; empty takes the schema's.
            order: rank among its siblings.
            parameters: those that are not named take their defaults.

        Returns:
            Whether it was allowed to.

        Raises:
            UnknownName: there is no such schema, parameter or resource.
            BadInput: a value does not fit, or another schema has that name here.
        """
        return self._context.wake(
            Waking(schema=schema, name=called, order=order, parameters=parameters)
        )

    def wake_child(self, waking: Waking) -> bool:
        """Wake a child with all that can be said of it, such as one it was given."""
        return self._context.wake(waking)

    def modulate(self, name: str, /, **parameters: Any) -> bool:
        """Change parameters of a child; the others stay.

        Raises:
            UnknownName: it has no such child or no such parameter.
            BadInput: a value does not fit.
        """
        return self._context.modulate(name, parameters)

    def sleep(self, name: str, /) -> bool:
        """Put a child to sleep, and all below it; asleep already, nothing changes.

        Raises:
            UnknownName: it has no such child.
        """
        return self._context.sleep(name)

    def child(self, name: str) -> ChildView:
        """Return how a child of its does.

        Raises:
            UnknownName: it never woke one of that name.
        """
        return self._context.child(name)

    def finish(self) -> None:
        """Say that its task is done: it stands down when the present method returns.

        It is not ready again until it is woken anew. A root goes to sleep.
        """
        self._context.finish()

    # -- commands ---------------------------------------------------------------------

    @property
    def obtained(self) -> tuple[str, ...]:
        """Leaves that it has; some of the optional ones may be missing."""
        return self._context.obtained

    def ask_to_leave(self, within_s: float) -> bool:
        """Ask those who need the robot's state, as standing, to let it be left.

        Args:
            within_s: longest time until the robot is in the next state, in s.

        Returns:
            Whether all gave way; also where nobody keeps a state at all.
        """
        return self._context.ask_to_leave(within_s)

    def submit(self, leaf: str, value: Value) -> bool:
        """Command one leaf in this slot; return whether it was accepted."""
        return self._context.submit({leaf: value})

    def submit_all(self, values: Mapping[str, Value]) -> bool:
        """Command several leaves in this slot, all or none."""
        return self._context.submit(values)

    def play(self, motion: str | Motion) -> Playing:
        """Let a motion be played, by its name in the library or as it is given."""
        return self._context.give(
            "play", lambda act, token, tick: act.play(token, motion, tick)
        )

    def light(self, pattern: str | LightPattern) -> Playing:
        """Let a light pattern be shown."""
        return self._context.give(
            "light", lambda act, token, tick: act.light(token, pattern, tick)
        )

    def sound(self, sound: str | Sound) -> Playing:
        """Let a sound be heard, by its name in the library or as it is given."""
        return self._context.give(
            "sound", lambda act, token, tick: act.sound(token, sound, tick)
        )

    def say(self, text: str, volume: float = 1.0) -> Playing:
        """Say a text.

        Args:
            text: what is said.
            volume: fraction of full scale, in [0, 1].
        """
        return self.sound(Sound(name=text, text=text, volume=volume))

    def command(self, name: str, group: str | None = None) -> Playing:
        """Give a command of the library: motion, light and sound as it says.

        Args:
            name: of the command.
            group: what its outputs are known by if they start together; None takes the
                command's name.
        """
        return self._context.give(
            "command", lambda act, token, tick: act.command(token, name, tick, group)
        )

    def interrupt(self, command: str) -> Playing:
        """Join a command on to what it plays, which pauses and then goes on.

        Args:
            command: of the library, with one output and no points.

        Raises:
            UnknownName: the library has no such command.
            BadInput: it has several outputs, or points.
        """
        return self._context.give(
            "interrupt", lambda act, token, tick: act.interrupt(token, command, tick)
        )
