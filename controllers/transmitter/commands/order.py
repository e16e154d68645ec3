"""An order: what it puts out, what its sender keeps, and what is remembered of it.

`OutputSet` is an entry of DB1 with its names looked up; `OrderHandle` says the sender
how far the order has come; `PendingOrder` is the order on its way through the pipeline,
`OutputCommand` what a converter is told of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from controllers.arbitration.tokens import Token
from controllers.transmitter.buses.group import WhyNot
from controllers.transmitter.events import NotOrdered
from controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    Receipt,
    StreamState,
    SyncTag,
)
from controllers.transmitter.streams import Content, name_of
from models import BadInput
from models.library import PRESET, Library, LightPattern, Motion, Order, Sound, Unit


@dataclass(frozen=True, kw_only=True)
class OutputSet:
    """An entry of DB1 with its names looked up, or one made for the occasion.

    With points its outputs start in one instant, or not at all; without, each starts by
    itself.
    """

    name: str
    motion: Motion | None = None
    to: str | None = None
    """In the place of a motion: the posture to which transitions of DB2 lead from where
    the robot is."""
    light: LightPattern | None = None
    sound: Sound | None = None
    points: Mapping[Unit, int] = field(default_factory=dict)
    """Of each output, or empty."""
    preset: int = PRESET
    """Sum of points at which the group starts; less here if others join it."""

    def __post_init__(self) -> None:
        """Refuse a set that could never start.

        Raises:
            BadInput: it has no output, or two for the motors, or points of other units
                than its outputs, or more of them than the preset.
        """
        if not self.units:
            raise BadInput(
                f"command {self.name!r} does nothing; give a motion or posture, light "
                "or sound."
            )
        if self.motion is not None and self.to is not None:
            raise BadInput(
                f"command {self.name!r} has motion {self.motion.name!r} and goes to "
                f"{self.to}; give one of them."
            )
        if self.points and set(self.points) != set(self.units):
            raise BadInput(
                f"command {self.name!r} has points of {', '.join(self.points)} and the "
                f"outputs {', '.join(self.units)}; give points to each output, or none."
            )
        if (total := sum(self.points.values())) > self.preset:
            raise BadInput(
                f"points of command {self.name!r} sum to {total}; accepted: up to its "
                f"preset, {self.preset}."
            )

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that it uses, in their order on a bus."""
        contents = (self.motion or self.to, self.light, self.sound)
        return tuple(
            unit
            for unit, content in zip(Unit, contents, strict=True)
            if content is not None
        )

    @property
    def way_to(self) -> str | None:
        """Posture to which transitions lead, first or all the way; None: none."""
        return self.to if self.motion is None else self.motion.start

    @property
    def posture_after(self) -> str | None:
        """Posture in which its motion ends; None: in no stored one."""
        return self.to if self.motion is None else self.motion.end

    @property
    def is_synchronous(self) -> bool:
        """Whether its outputs start together."""
        return bool(self.points)


def look_up(order: Order, library: Library) -> OutputSet:
    """Return an entry of DB1 with what its names stand for.

    Raises:
        UnknownName: a name is not in the library.
    """
    names = order.outputs
    return OutputSet(
        name=order.name,
        motion=library.motion(names[Unit.MOTION]) if Unit.MOTION in names else None,
        to=order.to,
        light=library.light(names[Unit.LIGHT]) if Unit.LIGHT in names else None,
        sound=library.sound(names[Unit.SOUND]) if Unit.SOUND in names else None,
        points=order.points,
        preset=order.preset,
    )


def outputs_of(command: str | Order | OutputSet, library: Library) -> OutputSet:
    """Return what a command puts out.

    Args:
        command: name of an entry of DB1, an entry like it, or the outputs.
        library: the databases.

    Raises:
        UnknownName: there is no such command, or a name in it is not known.
    """
    if isinstance(command, OutputSet):
        return command
    order = library.order(command) if isinstance(command, str) else command
    return look_up(order, library)


@dataclass(kw_only=True, slots=True, eq=False)
class OrderHandle:
    """The state of one order. Its sender looks; only the command controller writes.

    What the streams' receipts say shows at once, in the slot in which it happens.
    """

    number: int
    """Of the order, counted from 1."""
    name: str
    units: tuple[Unit, ...]
    """The units that it uses, in their order on a bus."""
    group: GroupKey | None
    """None: its outputs are independent."""
    refused: NotOrdered | None = None
    """Why nothing of it is done; None: it is."""
    detail: str = ""
    """More about why it was refused or failed, for people."""
    initial: Receipt | None = None
    """Of the initial motion; None: there is none, or it is not converted yet."""
    streams: dict[Unit, Receipt] = field(default_factory=dict)
    """Of the outputs that are converted."""
    closed: EndReason | None = None
    """Why it ended before all of its outputs were converted."""
    follows: Receipt | None = None
    """Of the motion that it joins on to: an initial one, or that of another order."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, for whatever reason."""
        if self.closed is not None or self.refused is not None:
            return True
        streams = self.streams
        return len(streams) == len(self.units) and all(
            receipt.is_over for receipt in streams.values()
        )

    @property
    def reason(self) -> EndReason | None:
        """Why it ended: DONE, or why the first of its outputs failed; None: it has not.

        A refused order is REJECTED.
        """
        if not self.is_over:
            return None
        if self.refused is not None:
            return EndReason.REJECTED
        reasons = [r.reason for r in self.streams.values()]
        failed = [x for x in reasons if x is not None and x is not EndReason.DONE]
        return next(iter(failed), self.closed or EndReason.DONE)

    @property
    def has_failed(self) -> bool:
        """Whether it is over, and not because all of it went out."""
        return self.is_over and self.reason is not EndReason.DONE

    @property
    def state(self) -> StreamState:
        """What its own outputs do; an initial motion counts as waiting."""
        if self.is_over:
            return StreamState.ENDED
        states = [receipt.state for receipt in self.streams.values()]
        for state in (StreamState.PAUSED, StreamState.RUNNING):
            if state in states:
                return state
        waits = self.started_tick is None
        return StreamState.WAITING if waits else StreamState.RUNNING

    @property
    def started_tick(self) -> int | None:
        """Slot of its first item, without an initial motion; None: not yet."""
        ticks = [r.started_tick for r in self.streams.values()]
        return min((tick for tick in ticks if tick is not None), default=None)

    @property
    def ended_tick(self) -> int | None:
        """Slot in which the last of its streams ended; None: it is not over."""
        if not self.is_over:
            return None
        ticks = [r.ended_tick for r in self.streams.values()]
        return max((tick for tick in ticks if tick is not None), default=None)

    @property
    def dead_slots(self) -> int | None:
        """Empty slots between the motion before it and what joins on to it.

        That is all of a group, else its motion. None where there is no motion before
        it, or nothing has started.
        """
        before = self.follows
        motion = self.streams.get(Unit.MOTION)
        if self.group is not None:
            start = self.started_tick
        else:
            start = motion.started_tick if motion else None
        if before is None or before.ended_tick is None or start is None:
            return None
        return start - before.ended_tick - 1

    @property
    def held_slots(self) -> int | None:
        """Slots for which the transmitter had to remember its data.

        From the first stream's receipt to the start; None: it has not started.
        """
        if self.started_tick is None:
            return None
        first = min(receipt.received_tick for receipt in self.streams.values())
        return self.started_tick - first


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
    """Whether it starts at once, and what it disturbs pauses."""
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
        """The units that wait for nothing: independent lights and sounds."""
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
        """Return ID and points for the head of a unit's data."""
        key = self.handle.group
        if key is None:
            return None
        points = self.outputs.points[unit]
        return SyncTag(group=key.group, points=points, preset=key.preset)


def are_one_group(one: PendingOrder, other: PendingOrder) -> bool:
    """Return whether two orders belong to one group."""
    return one.handle.group is not None and one.handle.group == other.handle.group


@dataclass(kw_only=True, slots=True, eq=False)
class OutputCommand:
    """What the command controller tells a converter."""

    order: PendingOrder
    """What it belongs to."""
    unit: Unit
    name: str
    """Of the motion, light pattern or sound."""
    content: Content
    token: Token
    tag: SyncTag | None
    """ID and points, at the head of the data; None: independent."""
    is_initial: bool = False
    """Whether it is a prep command: the motions lead to where the order begins."""
    after: Receipt | None = None
    """Of the motion that it joins on to."""
    signal_at: int | None = None
    """Of a prep command: items left at which transmission is enabled."""
    on_signal: Callable[[int], None] | None = None
    why_not: WhyNot | None = None
    """Says in the slot of the start why it cannot begin; empty: it can."""
    is_cancelled: bool = False
    """Whether it is not wanted any more."""
