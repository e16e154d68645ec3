"""Outputs of a command, and the record of an order in the pipeline.

`OutputSet` is an entry of DB1 with resolved names. `PlacedOrder` is the record of an
order; its sender reads it, and each stage of the pipeline updates it.
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
    """Entry of DB1 with resolved names, or outputs given directly.

    With points, all outputs start in one slot or none does; without points, each output
    starts independently.
    """

    name: str
    motion: Motion | None = None
    to: str | None = None
    """Instead of a motion: target posture, reached by transitions of DB2."""
    light: LightPattern | None = None
    sound: Sound | None = None
    points: Mapping[Unit, int] = field(default_factory=dict)
    """Points of each output, or empty."""
    preset: int = PRESET
    """Sum of points at which the group starts; larger than the sum here if other orders
    join the group."""

    def __post_init__(self) -> None:
        """Validate the outputs and their points.

        Raises:
            BadInput: there is no output, or two outputs use the motors, or the units of
                points and outputs differ, or the points exceed the preset.
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
        """Units of its outputs, in their order on a bus."""
        contents = (self.motion or self.to, self.light, self.sound)
        return tuple(
            unit
            for unit, content in zip(Unit, contents, strict=True)
            if content is not None
        )

    @property
    def way_to(self) -> str | None:
        """Start posture of its motion, or its target; None: no transitions needed."""
        return self.to if self.motion is None else self.motion.start

    @property
    def posture_after(self) -> str | None:
        """Posture in which its motion ends; None: no stored posture."""
        return self.to if self.motion is None else self.motion.end

    @property
    def is_synchronous(self) -> bool:
        """True if its outputs start together."""
        return bool(self.points)

    @cached_property
    def changes_posture(self) -> bool:
        """True if it has a start or end posture."""
        return self.way_to is not None or self.posture_after is not None


def look_up(command: Order | OutputSet, library: Library) -> OutputSet:
    """Return an entry of DB1 with its names resolved; an `OutputSet` is unchanged.

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
"""One token for all units, or one per unit; a unit without a token is refused."""


class OrderStage(StrEnum):
    """Stage of an order in the pipeline, in chronological order.

    Lights and sounds of an independent order are issued at once, even if its motion
    waits.
    """

    RECEIVED = "received"
    """The order is being planned and admitted."""
    FOLLOWING = "following"
    """The order waits until the preceding motion is about to end."""
    PREPARING = "preparing"
    """The initial motion is issued, converted or running."""
    ISSUING = "issuing"
    """The outputs are issued, converted and sent."""
    OVER = "over"
    """The order has ended or was refused, and has left the pipeline."""


@dataclass(kw_only=True, eq=False)
class PlacedOrder:
    """Record of an ordered command.

    Its sender reads it; only the command controller writes it. Changes of the streams'
    receipts are visible in the slot in which they occur.
    """

    number: int
    """Number of the order, from 1."""
    outputs: OutputSet
    tokens: Mapping[Unit, Token]
    """Token of each unit; a unit without one is refused."""
    group: GroupKey | None = None
    """Key of its group; None: independent outputs."""
    is_interrupt: bool = False
    """True if it starts at once and pauses the streams on its leaves."""

    stage: OrderStage = OrderStage.RECEIVED
    refused: NotOrdered | None = None
    """Reason of the refusal; None: accepted."""
    detail: str = ""
    """Text with details of the refusal or failure, for people."""
    initial: Receipt | None = None
    """Receipt of the initial motion; None: no initial motion, or not converted yet."""
    streams: dict[Unit, Receipt] = field(default_factory=dict)
    """Receipts of the converted outputs."""
    closed: EndReason | None = None
    """Reason of an early end; no further output is issued."""
    follows: Receipt | None = None
    """Receipt of the motion that its motion follows: the initial motion, or the motion
    of another order."""

    start: str | None = None
    """Posture of the robot at its start; None: any posture."""
    way: tuple[Motion, ...] = ()
    """Way from `start` to the start of its motion, or to its target posture."""
    motor_leaves: frozenset[str] = frozenset()
    """Leaves of its motion and its way."""
    joins: "PlacedOrder | None" = None
    """Order whose motion it follows, while it waits for that motion; None: no such
    order.

    Cleared afterwards: otherwise each order of a chain would keep all earlier ones in
    memory.
    """
    loans: dict[Token, set[str]] | None = None
    """Loans of its tokens until its turn; None: not determined yet."""

    # -- for its sender ----------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the command."""
        return self.outputs.name

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units of its outputs, in their order on a bus."""
        return self.outputs.units

    @property
    def is_over(self) -> bool:
        """True if the order has ended, for any reason."""
        if self.closed is not None or self.refused is not None:
            return True
        streams = self.streams
        return len(streams) == len(self.units) and all(
            receipt.is_over for receipt in streams.values()
        )

    @property
    def reason(self) -> EndReason | None:
        """Reason of its end: DONE, or that of the first failed output; None: not ended.

        A refused order has the reason REJECTED.
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
        """True if the order ended before all outputs were sent."""
        return self.is_over and self.reason is not EndReason.DONE

    @property
    def state(self) -> StreamState:
        """State of its outputs; they wait during the initial motion."""
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
        """Slot of its first item, not counting the initial motion; None: not yet."""
        ticks = [r.started_tick for r in self.streams.values()]
        return min((tick for tick in ticks if tick is not None), default=None)

    @property
    def ended_tick(self) -> int | None:
        """Slot in which its last stream ended; None: not ended."""
        if not self.is_over:
            return None
        ticks = [r.ended_tick for r in self.streams.values()]
        return max((tick for tick in ticks if tick is not None), default=None)

    @property
    def dead_slots(self) -> int | None:
        """Empty slots between its predecessor's motion and its own start.

        The start is that of the whole group, or of its motion. None: there was no
        preceding motion, or the order has not started.
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
        """Number of slots for which the transmitter had to buffer its data.

        Counted from the reception of the first stream to the start; None: not started.
        """
        if self.started_tick is None:
            return None
        first = min(receipt.received_tick for receipt in self.streams.values())
        return self.started_tick - first

    # -- for the pipeline --------------------------------------------------------------

    @property
    def failure(self) -> tuple[EndReason, str] | None:
        """Reason and detail if a part has failed; None: no failure, or already ended.

        A failed initial motion ends its order; a failed stream ends its group (reading
        24).
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
        """Stage after planning, or after the wait for a predecessor."""
        return OrderStage.PREPARING if self.prep else OrderStage.ISSUING

    @property
    def later_units(self) -> tuple[Unit, ...]:
        """Units that wait for a preceding motion, if there is one."""
        if self.outputs.is_synchronous:
            return self.outputs.units
        return tuple(unit for unit in self.outputs.units if unit is Unit.MOTION)

    @property
    def free_units(self) -> tuple[Unit, ...]:
        """Units that do not wait: independent lights and sounds."""
        return tuple(u for u in self.outputs.units if u not in self.later_units)

    @property
    def prep(self) -> tuple[Motion, ...]:
        """Initial motion: from the present posture to the start of its motion."""
        return () if self.outputs.motion is None else self.way

    @property
    def awaits_turn(self) -> bool:
        """True if the order waits for a preceding motion."""
        return self.stage in {OrderStage.FOLLOWING, OrderStage.PREPARING}

    @property
    def first_units(self) -> tuple[Unit, ...] | None:
        """Waiting units to be issued first; None: the prep command."""
        return None if self.prep else self.later_units

    def content(self, unit: Unit, is_initial: bool = False) -> Content:
        """Return the content of a unit's output, or the initial motion."""
        outputs = self.outputs
        if is_initial:
            return self.prep
        if unit is Unit.MOTION:
            return self.way if outputs.motion is None else (outputs.motion,)
        content = outputs.light if unit is Unit.LIGHT else outputs.sound
        assert content is not None, f"{unit} is not a unit of {outputs.name!r}"
        return content

    def contents(self) -> Iterator[tuple[Unit, Content]]:
        """Yield each unit with its content, the initial motion first."""
        if self.prep:
            yield Unit.MOTION, self.prep
        for unit in self.units:
            yield unit, self.content(unit)

    def tag(self, unit: Unit) -> SyncTag | None:
        """Return the tag with ID and points for a unit's stream."""
        key = self.group
        if key is None:
            return None
        points = self.outputs.points[unit]
        return SyncTag(group=key.group, points=points, preset=key.preset)

    def is_grouped_with(self, other: "PlacedOrder") -> bool:
        """Return True if `other` belongs to the same group, or is this order."""
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
