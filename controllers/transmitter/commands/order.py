"""Outputs of a command, and the order: a command that is being carried out.

`OutputSet` is an entry of DB1 with its names resolved. `PlacedOrder` is the record of
an order, read by its sender and updated by the command controller.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.events import NotOrdered
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    Receipt,
    StreamState,
    SyncTag,
)
from nao_testbed.controllers.transmitter.streams import Content
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput
from nao_testbed.models.library import (
    PRESET,
    Library,
    LightPattern,
    Motion,
    Order,
    Sound,
    Unit,
)


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

    @cached_property
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
        """True if its outputs start together."""
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


@dataclass(kw_only=True, eq=False)
class PlacedOrder:
    """A command that was ordered, until it is over.

    Its sender looks; only the command controller writes. What the streams' receipts say
    shows at once, in the slot in which it happens.
    """

    number: int
    """Of the order, counted from 1."""
    outputs: OutputSet
    group: GroupKey | None
    """None: its outputs are independent."""
    tokens: Mapping[Unit, Token]
    """Token of each unit; a unit without one is refused."""
    is_interrupt: bool = False
    """Whether it starts at once, and what it disturbs pauses."""

    refused: NotOrdered | None = None
    """Why nothing of it is done; None: it is."""
    detail: str = ""
    """More about why it was refused or failed, for people."""
    initial: Receipt | None = None
    """Of the initial motion; None: there is none, or it is not converted yet."""
    streams: dict[Unit, Receipt] = field(default_factory=dict)
    """Of the outputs that are converted."""
    closed: EndReason | None = None
    """Reason for its end before all outputs were done; nothing more is issued."""
    follows: Receipt | None = None
    """Of the motion that it joins on to: an initial one, or that of another order."""

    start: str | None = None
    """Posture in which the robot is when it begins; None: no matter."""
    way: tuple[Motion, ...] = ()
    """From there to where its motion begins, or to the posture to which it goes."""
    motor_leaves: frozenset[str] = frozenset()
    """Leaves of its motion, and of the way."""
    joins: "PlacedOrder | None" = None
    """The order whose motion it joins on to, as long as it waits for that; None: none.

    It is forgotten then: each of an endless row would keep all before it.
    """
    awaits_turn: bool = False
    """Whether it waits for a motion before its own."""
    loans: dict[Token, set[str]] | None = None
    """What its tokens have lent until its turn; None: nothing was looked for."""

    # -- what its sender asks ---------------------------------------------------------

    @property
    def name(self) -> str:
        """Of the command."""
        return self.outputs.name

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that it uses, in their order on a bus."""
        return self.outputs.units

    @property
    def is_over(self) -> bool:
        """True if it has ended, for any reason."""
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
        """True if it has ended before all of its outputs were sent."""
        return self.is_over and self.reason is not EndReason.DONE

    @property
    def state(self) -> StreamState:
        """State of its own outputs; during the initial motion they wait."""
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
        """Empty slots between its predecessor's motion and its own start.

        The start is that of the whole group, or of its motion. None without a preceding
        motion, or before the start.
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

    # -- what leads it to its end -----------------------------------------------------

    def close(
        self, reason: EndReason, why: str, tick: int, transmitter: Transmitter
    ) -> None:
        """End the order: stop issuing, converting and sending its outputs.

        An initial motion that the transmitter has already received is completed, since
        the posture would be unknown half way.
        """
        self.closed, self.detail = reason, why
        for receipt in self.streams.values():
            transmitter.withdraw(receipt, tick)

    @cached_property
    def changes_posture(self) -> bool:
        """True if it names the posture in which it begins or ends."""
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
    def prep(self) -> tuple[Motion, ...]:
        """The initial motion, from where the robot is to where its own begins."""
        return () if self.outputs.motion is None else self.way

    @property
    def first_units(self) -> tuple[Unit, ...] | None:
        """Units to be issued first among the waiting ones; None: the prep command."""
        return None if self.prep else self.later_units

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
        key = self.group
        if key is None:
            return None
        points = self.outputs.points[unit]
        return SyncTag(group=key.group, points=points, preset=key.preset)

    def is_grouped_with(self, other: "PlacedOrder") -> bool:
        """Return True if an order, possibly this one, belongs to its group."""
        return self is other or (self.group is not None and self.group == other.group)

    @property
    def head(self) -> dict[str, Any]:
        """Common fields of its events."""
        key = self.group
        return {
            "order": self.number,
            "group": key.group if key else None,
            "preset": key.preset if key else None,
        }
