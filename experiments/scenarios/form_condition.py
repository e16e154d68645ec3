"""Conditions as a file writes them: one key, and what it claims."""

from typing import Annotated, Literal

from pydantic import Field

from experiments.scenarios.form_base import Celsius, Name, Part, Path, by_key, tag


class StartedForm(Part):
    """A behaviour begins to act: it won, and has what it needs."""

    started: Path
    """A behaviour."""


class StoppedForm(Part):
    """A behaviour that had started may not act any more."""

    stopped: Path
    """A behaviour."""


class FailedForm(Part):
    """A behaviour raised an error."""

    failed: Path
    """A behaviour."""


class GrantedForm(Part):
    """A request of an owner is granted."""

    granted: Path
    """An owner: a behaviour with needs."""


class DeniedForm(Part):
    """A request of an owner is denied."""

    denied: Path
    """An owner: a behaviour with needs."""


class TimedOutForm(Part):
    """A request of an owner was not granted within its time."""

    timed_out: Path
    """An owner: a behaviour with needs."""


class CancelledForm(Part):
    """A request of an owner was withdrawn."""

    cancelled: Path
    """An owner: a behaviour with needs."""


class RevokedForm(Part):
    """Resources are taken away from an owner."""

    revoked: Path
    """An owner: a behaviour with needs."""


class HoldsForm(Part):
    """Owners hold resources."""

    holds: Annotated[dict[Name, Path | None], Field(min_length=1)]
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


class EventForm(Part):
    """A named event of this file takes place."""

    event: Name
    """Its name."""


CONDITIONS = (
    *("started", "stopped", "failed"),
    *("granted", "denied", "timed_out", "cancelled", "revoked"),
    *("holds", "state", "degc_above", "degc_below", "fallen", "shut_down"),
    *("group_started", "group_ended", "said", "event"),
)
"""The keys, one for each kind."""

ConditionForm = Annotated[
    Annotated[StartedForm, tag("started")]
    | Annotated[StoppedForm, tag("stopped")]
    | Annotated[FailedForm, tag("failed")]
    | Annotated[GrantedForm, tag("granted")]
    | Annotated[DeniedForm, tag("denied")]
    | Annotated[TimedOutForm, tag("timed_out")]
    | Annotated[CancelledForm, tag("cancelled")]
    | Annotated[RevokedForm, tag("revoked")]
    | Annotated[HoldsForm, tag("holds")]
    | Annotated[StateForm, tag("state")]
    | Annotated[DegcAboveForm, tag("degc_above")]
    | Annotated[DegcBelowForm, tag("degc_below")]
    | Annotated[FallenForm, tag("fallen")]
    | Annotated[ShutDownForm, tag("shut_down")]
    | Annotated[GroupStartedForm, tag("group_started")]
    | Annotated[GroupEndedForm, tag("group_ended")]
    | Annotated[SaidForm, tag("said")]
    | Annotated[EventForm, tag("event")],
    by_key("a condition", CONDITIONS),
]
