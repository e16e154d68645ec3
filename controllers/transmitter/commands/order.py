"""The record that goes through the pipeline: outputs of a command, and its order.

`OutputSet` is an entry of DB1 with its names resolved. `PlacedOrder` is the record of
an order, read by its sender and updated by the pipeline, stage by stage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
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

    @cached_property
    def changes_posture(self) -> bool:
        """True if it names the posture in which it begins or ends."""
        return self.way_to is not None or self.posture_after is not None


def look_up(command: Order | OutputSet, library: Library) -> OutputSet:
    """Return an entry of DB1 with what its names stand for; outputs as they are.

    Raises:
        UnknownName: a name is not in the library.
    """
    if isinstance(command, OutputSet):
        return command
    names = command.outputs
    return OutputSet(
        name=command.name,
        motion=library.motion(names[Unit.MOTION]) if Unit.MOTION in names else None,
        to=command.to,
        light=library.light(names[Unit.LIGHT]) if Unit.LIGHT in names else None,
        sound=library.sound(names[Unit.SOUND]) if Unit.SOUND in names else None,
        points=command.points,
        preset=command.preset,
    )


Tokens = Token | Mapping[Unit, Token]
"""One token for all units, or one for each; a unit without one is refused."""


class OrderStage(StrEnum):
    """Position of an order in the pipeline, in the order in which they happen.

    Lights and sounds of an independent order are issued at once, whatever its motion
    waits for.
    """

    RECEIVED = "received"
    """It is being planned and admitted."""
    FOLLOWING = "following"
    """It waits until the motion of the order before is about to end."""
    PREPARING = "preparing"
    """Its initial motion is issued, converted, or on its way."""
    ISSUING = "issuing"
    """Its outputs are issued, converted and sent; or all are with the transmitter."""
    OVER = "over"
    """It has ended or was refused, and has left the pipeline."""


@dataclass(kw_only=True, eq=False)
class PlacedOrder:
    """A command that was ordered, until it is over.

    Its sender looks; only the command controller writes. What the streams' receipts say
    shows at once, in the slot in which it happens.
    """

    number: int
    """Of the order, counted from 1."""
    outputs: OutputSet
    tokens: Mapping[Unit, Token]
    """Token of each unit; a unit without one is refused."""
    group: GroupKey | None = None
    """None: its outputs are independent."""
    is_interrupt: bool = False
    """Whether it starts at once, and what it disturbs pauses."""

    stage: OrderStage = OrderStage.RECEIVED
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

    # -- what the pipeline asks -------------------------------------------------------

    @property
    def failure(self) -> tuple[EndReason, str] | None:
        """Reason and detail if a part has failed; None: none has, or it is over.

        A failed initial motion ends what should follow it; a stream of a group ends the
        group (reading 24).
        """
        initial = self.initial
        if self.is_over:
            return None
        if initial is not None and initial.is_over and not initial.is_done:
            why = f"its initial motion has ended: {initial.reason}. {initial.detail}"
            return EndReason.DELETED, why.strip()
        for part in self.streams.values() if self.group is not None else ():
            if part.reason not in {None, EndReason.DONE}:
                why = part.detail or str(part.refused or part.reason)
                return part.reason or EndReason.DELETED, why
        return None

    @property
    def next_stage(self) -> OrderStage:
        """OrderStage after it was planned, or follows no other any more."""
        return OrderStage.PREPARING if self.prep else OrderStage.ISSUING

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
    def awaits_turn(self) -> bool:
        """True if it waits for a motion before its own."""
        return self.stage in {OrderStage.FOLLOWING, OrderStage.PREPARING}

    @property
    def first_units(self) -> tuple[Unit, ...] | None:
        """Units to be issued first among the waiting ones; None: the prep command."""
        return None if self.prep else self.later_units

    def content(self, unit: Unit, is_initial: bool = False) -> Content:
        """Return what a unit puts out, or the initial motion."""
        outputs = self.outputs
        if is_initial:
            return self.prep
        if unit is Unit.MOTION:
            return self.way if outputs.motion is None else (outputs.motion,)
        content = outputs.light if unit is Unit.LIGHT else outputs.sound
        assert content is not None, f"{unit} is no unit of {outputs.name!r}"
        return content

    def contents(self) -> Iterator[tuple[Unit, Content]]:
        """Yield each unit with its output, the initial motion first."""
        if self.prep:
            yield Unit.MOTION, self.prep
        for unit in self.units:
            yield unit, self.content(unit)

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
