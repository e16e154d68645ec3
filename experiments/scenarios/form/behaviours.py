"""Behaviours as a file writes them: schema, parameters, habits as an owner."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from experiments.scenarios.form.base import (
    MANY,
    ONE,
    BehaviourPath,
    Name,
    Part,
    Priority,
    how_many,
)
from models.rows import Seconds

Percent = Annotated[float, Field(gt=0.0, le=100.0, allow_inf_nan=False)]


class PolicyForm(Part):
    """A conflict policy with settings."""

    name: Name
    """Such as pause."""
    within_s: Seconds | None = None
    """Time that it needs to give way, in s (stop, pause)."""
    resume_timeout_s: Seconds | None = None
    """Longest pause, in s (pause)."""
    limit_s: Seconds | None = None
    """Longest time before it is made to stop, in s (callback)."""


AnyPolicy = Annotated[
    Annotated[Name, ONE] | Annotated[PolicyForm, MANY], Discriminator(how_many)
]
"""A name, or a mapping with a name and settings."""


class BehaviourForm(Part):
    """A schema that runs; one with children lets them compete."""

    name: Name
    """Of its own in this file, without a slash."""
    schema_: Annotated[Name, Field(alias="schema")]
    """A registered schema, such as look around."""
    with_: dict[str, Any] = Field(alias="with", default_factory=dict)
    """Its parameters."""
    children: "list[BehaviourForm]" = Field(default_factory=list)
    """In their static order, the first one the highest."""
    needs: list[Name] | None = None
    """Resources that it must have to act; absent: those that its schema declares."""
    optional: list[Name] | None = None
    """Resources that it takes if they are free."""
    rates: dict[Name, Percent] | None = None
    """Cumulative resource, such as CPU, to the rate that it must have, in percent."""
    mode: Literal["use", "reserve"] | None = None
    """Of earlier files; without effect."""
    policy: AnyPolicy | None = None
    """What it answers who wants what it holds: lock, stop, pause or callback."""
    priority: Priority | None = None
    """From 0, low, to 9, high."""
    timeout_s: Seconds | None = None
    """How long it waits for its resources, in s."""
    start_s: Seconds | None = None
    """When it is woken, in s; absent: at 0."""
    start: Literal["waits"] | None = None
    """`waits`: it is woken by an event alone."""
    parent: BehaviourPath | None = None
    """Another behaviour: as an owner, this one is a part of it."""
