"""Runs schemas: a forest of behaviours, one step a device slot.

    runtime = SchemaRuntime(robot, ledger, actuators)
    runtime.add(Waking(schema="choose", name="life", children=(...)))
    runtime.wake("life", tick)
    runtime.step(tick, robot.read())  # in every slot, before the gate's flush

Each root is a level of its own: it wins whenever it is ready, whatever the other roots
do; what they want of the robot the reservations settle. Below a root at most one
sibling wins. The robot and its simulator are the same to a schema: it sees an
`Observation` and acts through `Actuators` (JD-17).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.state import check_tick
from controllers.interface.robot_interface import Observation
from controllers.schemas.actuators import Actuators, ChildView, PostureKeeper
from controllers.schemas.declaration import State
from controllers.schemas.registry import Registry
from controllers.schemas.runtime.context import InstanceContext, World
from controllers.schemas.runtime.instance import Instance
from controllers.schemas.waking import Waking
from models import BadInput, Robot, UnknownName


class SchemaRuntime:
    """All schemas of one robot.

    Single-threaded and deterministic. What a schema raises ends this schema and what is
    below it (`SchemaFailed` in the trace, `error` of its view); `step` never raises it.
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
    ) -> None:
        """Begin without schemas.

        Args:
            robot: the description that the observations follow.
            ledger: grants what winners need; its listeners are told what happens.
            actuators: what winners act through.
            registry: knows the schemas; None takes those of the installation.
            seed: of the randomness of schemas.
            posture: is asked before a schema leaves a state of the robot; None:
                nobody needs to be asked.
        """
        self._world = World(
            robot,
            ledger,
            actuators,
            registry or Registry(),
            seed,
            InstanceContext,
            posture,
        )
        self._added: dict[str, Waking] = {}
        """Roots as they were added."""

    # -- behaviours -------------------------------------------------------------------

    def add(self, waking: Waking, *, part_of: str | None = None) -> None:
        """Let a root be known, asleep; its name is that of its owner.

        Args:
            waking: which schema, and all that it is given.
            part_of: owner that it is a part of: another root, for instance.

        Raises:
            UnknownName: there is no such schema, parameter, resource or owner.
            BadInput: a value does not fit, or the name is taken.
        """
        if waking.name in self._world.family.roots:
            raise BadInput(
                f"there is a behaviour {waking.name!r} already; give this one another "
                "name."
            )
        self._world.make(waking, None, part_of)
        self._added[waking.name] = waking

    def wake(
        self, name: str, tick: int, values: Mapping[str, Any] | None = None
    ) -> None:
        """Wake a root: from the next step on it checks, wins, acts.

        Awake already, it gets the parameters.

        Args:
            name: as it was added.
            tick: now.
            values: parameters that differ from those with which it was added.

        Raises:
            UnknownName: there is no such root or parameter.
            BadInput: a value does not fit.
        """
        self._world.endings.tick = tick
        waking = self._added[self._root(name).name]
        given = {**waking.parameters, **(values or {})}
        self._world.wake(replace(waking, parameters=given), None)

    def sleep(self, name: str, tick: int) -> None:
        """Put a root to sleep, and all below it.

        Raises:
            UnknownName: there is no such root.
        """
        self._world.endings.tick = tick
        self._world.endings.put_to_sleep(self._root(name))

    def modulate(self, path: str, values: Mapping[str, Any], tick: int) -> None:
        """Change parameters of any instance from outside, as a person at a page does.

        Raises:
            UnknownName: there is no such instance or parameter.
            BadInput: a value does not fit.
        """
        self._world.endings.tick = tick
        self._world.modulate(self._world.family.find(path), values)

    # -- time -------------------------------------------------------------------------

    def step(self, tick: int, observation: Observation) -> None:
        """Let all that is due in a slot happen.

        Args:
            tick: now, of the ledger.
            observation: the newest one.
        """
        check_tick(tick)
        world, activation = self._world, self._world.activation
        world.endings.tick = tick
        world.observation = observation
        activation.note_losses()
        due = world.agenda.take(tick)
        for one in due:
            if one.is_perceptive:
                activation.perceive(one)
        actuation = [one for one in due if not one.is_perceptive]
        for one in actuation:
            activation.check(one)
        if world.newborn:
            activation.look_at_newborn(world.newborn)
        activation.run_turns(actuation)

    # -- looking ----------------------------------------------------------------------

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all instances that there ever were, in the order of their making."""
        return tuple(one.path for one in self._world.family.instances)

    @property
    def winners(self) -> tuple[str, ...]:
        """Paths of the actuation schemas that are winners."""
        return tuple(
            one.path
            for one in self._world.family.instances
            if one.state is State.WINNER and not one.is_perceptive
        )

    @property
    def is_quiet(self) -> bool:
        """Whether all sleep."""
        return not any(one.is_awake for one in self._world.family.roots.values())

    def may_act(self, path: str) -> bool:
        """Whether an instance has started: as winner, with what it needs.

        Raises:
            UnknownName: there is none of this path.
        """
        return self._world.family.find(path).is_acting

    def view(self, path: str) -> ChildView:
        """Return how an instance does.

        Raises:
            UnknownName: there is none of this path.
        """
        return self._world.family.find(path).view()

    def value(self, path: str, variable: str) -> Any:
        """Return an output of an instance, for logs and pages.

        Raises:
            UnknownName: there is no such instance or output.
        """
        cells = self._world.family.find(path).cells
        if variable not in cells:
            raise UnknownName("Output", variable, cells, f"what {path!r} offers")
        return cells[variable].value

    def _root(self, name: str) -> Instance:
        roots = self._world.family.roots
        if name not in roots:
            raise UnknownName("Behaviour", name, roots, "the roots of this run")
        return roots[name]
