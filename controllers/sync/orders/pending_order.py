"""An order on its way through the pipeline, as the command controller remembers it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from controllers.arbitration.tokens import Token
from controllers.sync.orders.content import Content, name_of
from controllers.sync.orders.order_handle import OrderHandle
from controllers.sync.orders.output_set import OutputSet
from controllers.sync.transmitter.sync_tag import SyncTag
from models.library import Motion, Unit

if TYPE_CHECKING:
    from controllers.sync.orders.converter import OutputCommand


@dataclass(kw_only=True, eq=False)
class PendingOrder:
    """What was ordered, by what right, and what of it is under way."""

    handle: OrderHandle
    outputs: OutputSet
    tokens: Mapping[Unit, Token]
    start: str | None = None
    """Posture in which the robot is when it begins; None: no matter."""
    initial: tuple[Motion, ...] = ()
    """From there to where its motion begins."""
    way: tuple[Motion, ...] = ()
    """From there to the posture to which it goes; none where it is there."""
    motor_leaves: frozenset[str] = frozenset()
    """Leaves of its motion, and of the initial one."""
    joins: "PendingOrder | None" = None
    """The order whose motion it joins on to, as long as it waits for that; None: none.

    It is forgotten then: each of an endless row would keep all before it.
    """
    is_interrupt: bool = False
    """Whether it starts at once, and what it disturbs pauses (SY-4)."""
    commands: "list[OutputCommand]" = field(default_factory=list)
    """Those that were issued."""

    @cached_property
    def changes_posture(self) -> bool:
        """Whether it says in which posture it begins or ends."""
        outputs = self.outputs
        return outputs.way_to is not None or outputs.posture_after is not None

    @property
    def posture_after(self) -> str | None:
        """Posture in which its motion ends; None: in no stored one."""
        return self.outputs.posture_after

    @property
    def later_units(self) -> tuple[Unit, ...]:
        """The units that wait for a motion before, where there is one."""
        if self.outputs.is_synchronous:
            return self.outputs.units
        return tuple(unit for unit in self.outputs.units if unit is Unit.MOTION)

    @property
    def free_units(self) -> tuple[Unit, ...]:
        """The units that wait for nothing: independent lights and sounds (SY-15)."""
        return tuple(u for u in self.outputs.units if u not in self.later_units)

    @property
    def first_units(self) -> tuple[Unit, ...] | None:
        """What is issued first of what waits; None: the prep command."""
        return None if self.initial else self.later_units

    def name(self, unit: Unit) -> str:
        """Return the name of what a unit puts out."""
        return name_of(self.content(unit))

    def content(self, unit: Unit) -> Content:
        """Return what a unit puts out."""
        outputs = self.outputs
        if unit is Unit.MOTION:
            return self.way if outputs.motion is None else (outputs.motion,)
        content = outputs.light if unit is Unit.LIGHT else outputs.sound
        assert content is not None, f"{unit} is no unit of {outputs.name!r}"
        return content

    def tag(self, unit: Unit) -> SyncTag | None:
        """Return ID and points for the head of a unit's data (SY-10)."""
        key = self.handle.group
        if key is None:
            return None
        points = self.outputs.points[unit]
        return SyncTag(group=key.group, points=points, preset=key.preset)


def are_one_group(one: PendingOrder, other: PendingOrder) -> bool:
    """Return whether two orders belong to one group."""
    return one.handle.group is not None and one.handle.group == other.handle.group
