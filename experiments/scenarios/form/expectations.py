"""Expectations as a file writes them; what each means, `expectations` says exactly."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Discriminator, Field, Tag, model_validator

from experiments.scenarios.form.base import (
    MANY,
    ONE,
    BehaviourPath,
    Celsius,
    Name,
    Part,
    Real,
    by_key,
    how_many,
)
from experiments.scenarios.form.condition import ConditionForm
from models.rows import Seconds

Times = Annotated[int, Field(ge=0)]


class HappensExpectation(Part):
    """Something comes true, in the whole run or in a part of it."""

    happens: ConditionForm
    """What comes true."""
    at_s: Seconds | None = None
    """At this time, in s."""
    within_s: Seconds | None = None
    """With `at_s`: by how much it may be off, in s; absent: not by a slot."""
    from_s: Seconds | None = None
    """Not before, in s."""
    to_s: Seconds | None = None
    """Not after, in s."""
    after: ConditionForm | None = None
    """In or after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: at most so many slots later."""
    times: Annotated[int, Field(ge=1)] | None = None
    """Exactly so often; absent: at least once."""

    @model_validator(mode="after")
    def _has_one_window(self) -> "HappensExpectation":
        is_between = self.from_s is not None or self.to_s is not None
        ways = (self.at_s is not None) + is_between + (self.after is not None)
        if ways > 1:
            raise ValueError("give at_s, or from_s and to_s, or after: only one way")
        if self.within_s is not None and self.at_s is None:
            raise ValueError("within_s goes with at_s")
        if self.within_slots is not None and self.after is None:
            raise ValueError("within_slots goes with after")
        return self


class NeverExpectation(Part):
    """Something does not come true, in the whole run or in a part of it."""

    never: ConditionForm
    """What does not come true."""
    from_s: Seconds | None = None
    """From this time on, in s."""
    to_s: Seconds | None = None
    """Up to this time, in s."""
    after: ConditionForm | None = None
    """In and after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: for so many slots."""

    @model_validator(mode="after")
    def _has_one_window(self) -> "NeverExpectation":
        is_between = self.from_s is not None or self.to_s is not None
        if is_between and self.after is not None:
            raise ValueError("give from_s and to_s, or after: only one way")
        if self.within_slots is not None and self.after is None:
            raise ValueError("within_slots goes with after")
        return self


class OrderExpectation(Part):
    """Conditions come true one after the other, or in one slot."""

    order: Annotated[list[ConditionForm], Field(min_length=2)]
    """What comes true, in this order."""


Names = Annotated[list[Name], Field(min_length=1)]
NameOrNames = Annotated[
    Annotated[Name, ONE] | Annotated[Names, MANY], Discriminator(how_many)
]


class TemperatureExpectation(Part):
    """Motors stay below or above a temperature."""

    joint: NameOrNames
    """Joints or groups of joints, such as HeadYaw, Legs or Body."""
    degc_below: Celsius | None = None
    """In °C, in every slot."""
    degc_above: Celsius | None = None
    """In °C, in every slot."""
    from_s: Seconds | None = None
    """From this time on, in s."""
    to_s: Seconds | None = None
    """Up to this time, in s."""

    @model_validator(mode="after")
    def _says_something(self) -> "TemperatureExpectation":
        if self.degc_below is None and self.degc_above is None:
            raise ValueError("give degc_below, degc_above or both")
        return self


class GroupExpectation(Part):
    """A synchronous group starts as one."""

    group: Name
    """Its id."""
    starts_after: Name | None = None
    """`initial motion`, or the id of another group."""
    empty_slots: Times | None = None
    """With `starts_after`: exactly so many slots without an item in between."""
    skew_slots: Times = 0
    """Exactly so many slots between the first items of its streams."""

    @model_validator(mode="after")
    def _counts_from_something(self) -> "GroupExpectation":
        if self.empty_slots is not None and self.starts_after is None:
            raise ValueError("empty_slots goes with starts_after")
        return self


Range = Annotated[list[Times], Field(min_length=2, max_length=2)]
CountForm = Annotated[
    Annotated[Times, ONE] | Annotated[Range, MANY], Discriminator(how_many)
]
"""A number, or the lowest and the highest."""


class CountsExpectation(Part):
    """How often something happened to an owner in the run."""

    owner: BehaviourPath
    """A behaviour with needs."""
    executed: CountForm | None = None
    """Its commands that were written to a device: a number, or [lowest, highest]."""
    refused: CountForm | None = None
    """Its commands that the gate refused."""
    granted: CountForm | None = None
    """Its requests that were granted."""
    demanded: CountForm | None = None
    """Times that it was told that somebody wants what it holds."""

    @model_validator(mode="after")
    def _counts_something(self) -> "CountsExpectation":
        if len(self.model_fields_set) < 2:
            raise ValueError("give executed, refused, granted or demanded")
        return self


class AtTimeExpectation(Part):
    """All this is so at one time."""

    at_s: Seconds
    """In s."""
    holds: dict[Name, BehaviourPath | None] = Field(default_factory=dict, min_length=1)
    """Resource to who holds it whole; null: nobody holds any of it."""
    waiters: dict[Name, list[BehaviourPath]] = Field(default_factory=dict, min_length=1)
    """Resource to all who wait for it, in the order of being served."""
    state: Name | None = None
    """A state resource that is active."""
    running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may act."""
    not_running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may not act."""
    posture: Name | None = None
    """Stored posture that every joint is near."""
    within_deg: Annotated[Real, Field(gt=0.0, le=90.0)] = 5.0
    """With `posture`: how near, in degrees."""

    @model_validator(mode="after")
    def _says_something(self) -> "AtTimeExpectation":
        if not self.model_fields_set - {"at_s", "within_deg"}:
            raise ValueError(
                "give what is so then: holds, waiters, state, running, not_running or "
                "posture"
            )
        return self


EXPECTATIONS: Mapping[str, type[Part]] = {
    "happens": HappensExpectation,
    "never": NeverExpectation,
    "order": OrderExpectation,
    "joint": TemperatureExpectation,
    "group": GroupExpectation,
    "owner": CountsExpectation,
    "at_s": AtTimeExpectation,  # the last: another kind may have it too
}
"""Key to kind."""

AnyExpectation = Annotated[
    Annotated[HappensExpectation, Tag("HappensExpectation")]
    | Annotated[NeverExpectation, Tag("NeverExpectation")]
    | Annotated[OrderExpectation, Tag("OrderExpectation")]
    | Annotated[TemperatureExpectation, Tag("TemperatureExpectation")]
    | Annotated[GroupExpectation, Tag("GroupExpectation")]
    | Annotated[CountsExpectation, Tag("CountsExpectation")]
    | Annotated[AtTimeExpectation, Tag("AtTimeExpectation")],
    by_key("an expectation", EXPECTATIONS),
]
