"""What a scenario does to its robot: an action, and what triggers it.

An event at a time takes place at the beginning of its slot, before anybody acts. One
on a condition takes place once: at the beginning of the slot after that in which the
condition first comes true, or later by a delay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.scenarios.plan.conditions import Condition

Vector3 = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class AtTick:
    """At a time."""

    tick: int


@dataclass(frozen=True, kw_only=True)
class WhenTrue:
    """After a condition came true for the first time."""

    condition: Condition
    after_ticks: int = 0
    """More slots to wait."""


Trigger = AtTick | WhenTrue


@dataclass(frozen=True, kw_only=True)
class StartBehaviour:
    """Wake a behaviour of the top level; awake already, it goes on."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class StopBehaviour:
    """Put a behaviour of the top level to sleep, with all below it."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class Say:
    """Say a text, as an independent command of an owner of its own (SY-15).

    It waits while somebody else has the loudspeaker.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class Push:
    """A force on a link at its centre of mass, in world axes."""

    link: str
    newton: Vector3
    ticks: int
    """For so many slots, the present one first."""


@dataclass(frozen=True, kw_only=True)
class SetTemperature:
    """Give a joint's motor a temperature; it goes on from there."""

    joint: str
    degc: float


@dataclass(frozen=True, kw_only=True)
class BreakParts:
    """Parts fail: no torque, and nobody's (RM-44)."""

    parts: tuple[str, ...]
    """Resources, as named."""


@dataclass(frozen=True, kw_only=True)
class RepairParts:
    """Parts that an event broke work again (RM-45)."""

    parts: tuple[str, ...]
    """By the names with which they were broken."""


@dataclass(frozen=True, kw_only=True)
class ChangeBody:
    """The robot is another model from now on: what it lacks is nobody's (RM-41)."""

    body: str


@dataclass(frozen=True, kw_only=True)
class SetGround:
    """Another ground; None leaves a value as it is."""

    friction: float | None = None
    """Coulomb coefficient."""
    slope_deg: float | None = None
    """Rises by this angle towards +x."""


@dataclass(frozen=True, kw_only=True)
class UseController:
    """Another stiffness controller from now on."""

    controller: str
    """As `nao-testbed heat --controllers` names it."""


@dataclass(frozen=True, kw_only=True)
class DeleteGroup:
    """Delete a synchronous group: waiting, it never starts; running, it ends whole."""

    group: str


@dataclass(frozen=True, kw_only=True)
class Modulate:
    """Change parameters of a behaviour that is awake; asleep, it stays as it is."""

    behaviour: str
    """Its path."""
    parameters: Mapping[str, Any]
    """Name to value; the others stay."""


Action = (
    StartBehaviour
    | StopBehaviour
    | Say
    | Push
    | SetTemperature
    | BreakParts
    | RepairParts
    | ChangeBody
    | SetGround
    | UseController
    | DeleteGroup
    | Modulate
)


@dataclass(frozen=True, kw_only=True)
class ScenarioEvent:
    """An action and its trigger."""

    trigger: Trigger
    action: Action
    name: str | None
    """By which conditions speak of it."""
    text: str
    """As in the file, on one line."""
    line: int
    """Of the file."""
