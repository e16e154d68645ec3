"""Conditions as a file writes them: one key, and what it claims."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from experiments.scenarios.form.base import (
    BehaviourPath,
    Celsius,
    Name,
    Part,
    Real,
    by_key,
)


class StartedForm(Part):
    """A behaviour begins to act: it won, and has what it needs."""

    started: BehaviourPath
    """A behaviour."""


class StoppedForm(Part):
    """A behaviour that had started may not act any more."""

    stopped: BehaviourPath
    """A behaviour."""


class FailedForm(Part):
    """A behaviour raised an error."""

    failed: BehaviourPath
    """A behaviour."""


class GrantedForm(Part):
    """A request of an owner is granted."""

    granted: BehaviourPath
    """An owner: a behaviour with needs."""


class DeniedForm(Part):
    """A request of an owner is denied."""

    denied: BehaviourPath
    """An owner: a behaviour with needs."""


class TimedOutForm(Part):
    """A request of an owner was not granted within its time."""

    timed_out: BehaviourPath
    """An owner: a behaviour with needs."""


class CancelledForm(Part):
    """A request of an owner was withdrawn."""

    cancelled: BehaviourPath
    """An owner: a behaviour with needs."""


class RevokedForm(Part):
    """Resources are taken away from an owner."""

    revoked: BehaviourPath
    """An owner: a behaviour with needs."""


class HoldsForm(Part):
    """Owners hold resources."""

    holds: Annotated[dict[Name, BehaviourPath | None], Field(min_length=1)]
    """Resource to who holds it whole; null: nobody holds any of it."""


class StateForm(Part):
    """The robot is in a state."""

    state: Name
    """A state resource, such as Sit."""


class DegcAboveForm(Part):
    """Motors are reported to be hot."""

    degc_above: Annotated[dict[Name, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be above."""


class DegcBelowForm(Part):
    """Motors are reported to be cool."""

    degc_below: Annotated[dict[Name, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be below."""


class FallenForm(Part):
    """The robot has fallen."""

    fallen: Literal[True]
    """Always true: the key says it all."""


class ShutDownForm(Part):
    """The protection made the whole robot limp."""

    shut_down: Literal[True]
    """Always true: the key says it all."""


class GroupStartedForm(Part):
    """A synchronous group starts."""

    group_started: Name
    """Its id."""


class GroupEndedForm(Part):
    """A synchronous group is over."""

    group_ended: Name
    """Its id."""
    reason: Name | None = None
    """Why, such as done or deleted; absent: whatever it was."""


class SaidForm(Part):
    """The robot begins to say a text."""

    said: Name
    """The whole text."""


class MotionStartedForm(Part):
    """A motion begins."""

    motion_started: Name
    """Of the library; `dance 2/5` is a part of one between its stable stops."""


class LightStartedForm(Part):
    """A light pattern begins."""

    light_started: Name
    """Of the library."""


class EventForm(Part):
    """A named event of this file takes place."""

    event: Name
    """Its name."""


class OutputForm(Part):
    """An output of a behaviour has a value."""

    output: Annotated[dict[BehaviourPath, Any], Field(min_length=1, max_length=1)]
    """`behaviour.output`, such as fall watch.is_falling, to the value."""


_Limit = Annotated[dict[BehaviourPath, Real], Field(min_length=1, max_length=1)]


class OutputAboveForm(Part):
    """An output of a behaviour is a number above a limit."""

    output_above: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


class OutputBelowForm(Part):
    """An output of a behaviour is a number below a limit."""

    output_below: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


CONDITIONS: Mapping[str, type[Part]] = {
    "started": StartedForm,
    "stopped": StoppedForm,
    "failed": FailedForm,
    "granted": GrantedForm,
    "denied": DeniedForm,
    "timed_out": TimedOutForm,
    "cancelled": CancelledForm,
    "revoked": RevokedForm,
    "holds": HoldsForm,
    "state": StateForm,
    "degc_above": DegcAboveForm,
    "degc_below": DegcBelowForm,
    "fallen": FallenForm,
    "shut_down": ShutDownForm,
    "group_started": GroupStartedForm,
    "group_ended": GroupEndedForm,
    "said": SaidForm,
    "motion_started": MotionStartedForm,
    "light_started": LightStartedForm,
    "event": EventForm,
    "output": OutputForm,
    "output_above": OutputAboveForm,
    "output_below": OutputBelowForm,
}
"""Key to kind."""
LASTING = frozenset(
    {
        *("holds", "state", "degc_above", "degc_below", "fallen", "shut_down"),
        *("output", "output_above", "output_below"),
    }
)
"""Keys of claims that last; the others happen."""

ConditionForm = Annotated[
    Annotated[StartedForm, Tag("StartedForm")]
    | Annotated[StoppedForm, Tag("StoppedForm")]
    | Annotated[FailedForm, Tag("FailedForm")]
    | Annotated[GrantedForm, Tag("GrantedForm")]
    | Annotated[DeniedForm, Tag("DeniedForm")]
    | Annotated[TimedOutForm, Tag("TimedOutForm")]
    | Annotated[CancelledForm, Tag("CancelledForm")]
    | Annotated[RevokedForm, Tag("RevokedForm")]
    | Annotated[HoldsForm, Tag("HoldsForm")]
    | Annotated[StateForm, Tag("StateForm")]
    | Annotated[DegcAboveForm, Tag("DegcAboveForm")]
    | Annotated[DegcBelowForm, Tag("DegcBelowForm")]
    | Annotated[FallenForm, Tag("FallenForm")]
    | Annotated[ShutDownForm, Tag("ShutDownForm")]
    | Annotated[GroupStartedForm, Tag("GroupStartedForm")]
    | Annotated[GroupEndedForm, Tag("GroupEndedForm")]
    | Annotated[SaidForm, Tag("SaidForm")]
    | Annotated[MotionStartedForm, Tag("MotionStartedForm")]
    | Annotated[LightStartedForm, Tag("LightStartedForm")]
    | Annotated[EventForm, Tag("EventForm")]
    | Annotated[OutputForm, Tag("OutputForm")]
    | Annotated[OutputAboveForm, Tag("OutputAboveForm")]
    | Annotated[OutputBelowForm, Tag("OutputBelowForm")],
    by_key("a condition", CONDITIONS),
]
