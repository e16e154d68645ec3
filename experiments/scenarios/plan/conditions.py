"""Conditions: claims about a run that are true or false after each slot.

Some last (`Holds`, `InState`, `Hot`): true in every slot in which it is so. Others
happen (`Started`, `Said`, `Ended`): true in just the slots in which it happened. A
condition *comes true* in a slot in which it is true and was not in the slot before; one
that happens comes true each time. Events wait for that, expectations count it.

Behaviours and owners are named by their path, such as `life/dance`; who is at the top
has its name alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controllers.resources.words import OutcomeKind
from models.library import Unit


@dataclass(frozen=True, kw_only=True)
class Started:
    """Happens: a behaviour acts for the first time since it slept.

    It has become WINNER, and has its token if it needs one.
    """

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Happens: a behaviour that had started may not act any more.

    It lost, finished, was put to sleep, failed, or lost its token.
    """

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class SchemaFailed:
    """Happens: a behaviour raised an error, and sleeps since."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class RequestEnded:
    """Happens: a request of an owner ended this way."""

    owner: str
    kind: OutcomeKind


@dataclass(frozen=True, kw_only=True)
class LostLeaves:
    """Happens: an owner had resources taken away, by whom or what ever."""

    owner: str


@dataclass(frozen=True, kw_only=True)
class Holds:
    """Lasts: these owners hold these leaves; a leaf with None nobody holds."""

    holders: Mapping[str, str | None]
    """Leaf to owner."""


@dataclass(frozen=True, kw_only=True)
class InState:
    """Lasts: a state resource is the active one of its set."""

    state: str
    """Leaf of the tree, such as `Sit`."""


@dataclass(frozen=True, kw_only=True)
class Hot:
    """Lasts: all these motors are reported to be hotter, or colder, than a limit."""

    limits_degc: Mapping[str, float]
    """Joint to limit in °C."""
    is_above: bool
    """Whether the temperatures must be above the limits, or below them."""


@dataclass(frozen=True, kw_only=True)
class Fallen:
    """Lasts: the robot has fallen, as `SimulatedRobot.has_fallen` tells."""


@dataclass(frozen=True, kw_only=True)
class ShutDown:
    """Lasts: the protection has made the whole robot limp."""


@dataclass(frozen=True, kw_only=True)
class GroupStarted:
    """Happens: the first items of a synchronous group go out."""

    group: str


@dataclass(frozen=True, kw_only=True)
class GroupEnded:
    """Happens: a group is over, whether done, deleted, expired, rejected or revoked."""

    group: str
    reason: str | None = None
    """One of `controllers.sync`'s words, such as `done` or `deleted`; None: any."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """Happens: the loudspeaker begins to say a text."""

    text: str
    """All of it, as it was ordered."""


@dataclass(frozen=True, kw_only=True)
class StreamBegins:
    """Happens: a motion or a light pattern begins.

    What is played in parts, as a dance is, begins with its first part; the motions of a
    way between postures begin with the way.
    """

    unit: Unit
    name: str


@dataclass(frozen=True, kw_only=True)
class EventHappened:
    """Happens: a named event of this scenario takes place."""

    name: str


@dataclass(frozen=True, kw_only=True)
class OutputIs:
    """Lasts: a behaviour is awake, and an output of it has a value."""

    path: str
    """Of the behaviour."""
    variable: str
    """Name of the output."""
    value: object


@dataclass(frozen=True, kw_only=True)
class OutputBeyond:
    """Lasts: a behaviour is awake, and an output of it is a number beyond a limit."""

    path: str
    """Of the behaviour."""
    variable: str
    """Name of the output."""
    limit: float
    """In the unit of the output."""
    is_above: bool
    """Whether the output must be above the limit, or below it."""


Condition = (
    Started
    | Stopped
    | SchemaFailed
    | RequestEnded
    | LostLeaves
    | Holds
    | InState
    | Hot
    | Fallen
    | ShutDown
    | GroupStarted
    | GroupEnded
    | Said
    | StreamBegins
    | EventHappened
    | OutputIs
    | OutputBeyond
)
