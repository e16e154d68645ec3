"""What perceptive and actuation schemas have in common."""

from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from controllers.interface.robot_interface import Observation
from controllers.schemas.info import SchemaInfo
from controllers.schemas.link import SchemaLink
from controllers.schemas.states import Kind
from controllers.schemas.waking import Waking
from models import Robot

P = TypeVar("P")
"""Class of a schema's parameters."""


class Schema(Generic[P]):
    """What perceptive and actuation schemas have in common; derive from one of these.

    An instance stays as long as its runtime, asleep or awake, so that it may remember
    (JD-2). Without an own `__init__`, or with one that takes no argument.
    """

    info: ClassVar[SchemaInfo]
    kind: ClassVar[Kind]
    _link: SchemaLink
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
        """Its present modulation, set by who woke it (JD-2)."""
        parameters: P = self._link.parameters
        return parameters

    @property
    def path(self) -> str:
        """Its name in the tree, such as `dance/wave`; also that of its owner."""
        return self._link.path

    @property
    def tick(self) -> int:
        """The present slot."""
        return self._link.tick

    @property
    def time_s(self) -> float:
        """Simulated time of the present slot, in s."""
        return self._link.tick * self._link.tick_s

    @property
    def period_s(self) -> float:
        """Time between two of its iterations, in s (JD-20)."""
        return self._link.period_s

    @property
    def observation(self) -> Observation:
        """The sensor variables of this slot (JD-16)."""
        return self._link.observation

    @property
    def robot(self) -> Robot:
        """The description that the observation follows."""
        return self._link.robot

    @property
    def random(self) -> np.random.Generator:
        """Its own source of randomness: the same in each run of one seed."""
        return self._link.random

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set of the robot, such as its posture.

        Raises:
            UnknownName: there is no such set.
        """
        return self._link.active_state(group)

    # -- shared variables (JD-21) -----------------------------------------------------

    def read(self, name: str) -> Any:
        """Return the last value of another schema's output, or its initial value.

        Args:
            name: `schema.variable`, one of `info.reads`.

        Raises:
            UnknownName: it is not declared, or no such instance is in reach.
        """
        return self._link.read(name)

    def age_s(self, name: str) -> float:
        """Return the time since an output was written, in s; infinite if never.

        It grows while the schema that writes it is asleep.
        """
        return self._link.age_s(name)

    def write(self, variable: str, value: object) -> None:
        """Give an output of its own a value, which all can read at once.

        Raises:
            UnknownName: it is not one of `info.outputs`.
            BadInput: the value is not of the declared type.
        """
        self._link.write(variable, value)
