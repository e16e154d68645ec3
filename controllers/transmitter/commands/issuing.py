"""When output commands are issued, and their way through the converters.

`Enable` says when the transmitter enables the synchronous data after an initial motion.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from controllers.arbitration.events import Event
from controllers.transmitter.commands.converter import (
    CONVERSION_S,
    Converter,
    StreamMaker,
    slots_of,
)
from controllers.transmitter.commands.order import OutputCommand, PendingOrder
from controllers.transmitter.events import (
    CommandIssued,
    Converted,
    PrepSent,
    SyncReceiveEnabled,
    TransmitEnabled,
)
from controllers.transmitter.receipt import Receipt
from controllers.transmitter.streams import Present, name_of
from controllers.transmitter.transmitter import Transmitter
from models import BadInput
from models.library import Unit


class Enable(StrEnum):
    """When the transmitter enables the synchronous data."""

    EXPECTED = "expected"
    """When what is left of the initial motion takes as long as the data are expected to
    take: they are there when it ends, and no earlier."""
    AT_END = "at_end"
    """When the initial motion is over: the delay is dead time."""
    EARLY = "early"
    """Some time before `EXPECTED`: the data wait in the transmitter's memory."""


@dataclass(frozen=True, kw_only=True)
class CommandControllerCfg:
    """Settings of the command controller and the converters."""

    enable: Enable = Enable.EXPECTED
    """When synchronous commands are issued at the end of an initial motion."""
    early_s: float = 0.5
    """How much earlier than expected with `Enable.EARLY`, in s."""
    command_s: float = 0.01
    """Time from a command, or a signal, to the output commands, in s: one slot."""
    conversion_s: Mapping[Unit, float] = field(default_factory=lambda: CONVERSION_S)
    """Expected time of each converter in s, known beforehand."""

    def __post_init__(self) -> None:
        """Refuse times that are none.

        Raises:
            BadInput: a time is negative or not finite, or a unit has none.
        """
        if missing := set(Unit) - set(self.conversion_s):
            raise BadInput(
                f"conversion_s lacks {', '.join(sorted(missing))}; give a time in s "
                "for each unit."
            )
        times = {"early_s": self.early_s, "command_s": self.command_s}
        times |= {f"conversion_s of {u}": t for u, t in self.conversion_s.items()}
        for name, time_s in times.items():
            if not 0.0 <= time_s < float("inf"):
                raise BadInput(f"{name} is {time_s} s; give 0 or a positive time.")


Units = tuple[Unit, ...]


class Issuing:
    """Issues prep commands and output commands in their time, oldest first.

    The signals of [CN1396856, fig. 24] are: transmitter to motion converter
    (`TransmitEnabled`), motion converter to command controller (`SyncReceiveEnabled`),
    which then issues the commands.
    """

    def __init__(
        self,
        *,
        cfg: CommandControllerCfg,
        delays: Mapping[Unit, float],
        maker: StreamMaker,
        transmitter: Transmitter,
        slot_s: float,
        tell: Callable[[Event], None],
        on_stream: Callable[[PendingOrder, OutputCommand, Receipt], None],
        on_failure: Callable[[PendingOrder, BadInput, int], None],
        on_enabled: Callable[[PendingOrder, int], None],
        on_motion_due: Callable[[PendingOrder, int], None],
        why_not: Callable[[OutputCommand, Present], str],
    ) -> None:
        """Build it with the converters of the three units.

        Args:
            cfg: expected times, and when to issue.
            delays: true times of the conversions, in s.
            maker: makes the streams.
            transmitter: gets them.
            slot_s: length of a slot, in s.
            tell: takes events.
            on_stream: called when the transmitter has got a stream of an order.
            on_failure: called with the error and the tick when none can be made.
            on_enabled: called before the commands after an initial motion are issued.
            on_motion_due: called before an order's first motion is issued; may end the
                order, or change where it begins.
            why_not: says in the slot of a motion's start why it cannot begin.
        """
        self._cfg = cfg
        self._slot_s = slot_s
        self._tell = tell
        self._on_stream = on_stream
        self._on_failure = on_failure
        self._on_enabled = on_enabled
        self._on_motion_due = on_motion_due
        self._why_not = why_not
        self._command_slots = slots_of(cfg.command_s, slot_s)
        self._signals: list[PendingOrder] = []
        self._count = 0
        self._due: list[tuple[int, int, PendingOrder, Units | None]] = []
        """Tick, count, and the units to issue; None: the prep command."""
        self._converters = {
            unit: Converter(
                unit=unit,
                make=maker.make,
                transmitter=transmitter,
                conversion_s=delays[unit],
                slot_s=slot_s,
                on_converted=self._converted,
            )
            for unit in Unit
        }

    def plan(self, order: PendingOrder, units: Units | None, tick: int) -> None:
        """Issue output commands, or the prep command, after the controller's time.

        Args:
            order: what it is for.
            units: which outputs; None: the initial motion.
            tick: now.
        """
        if units != ():
            self._count += 1
            at = tick + self._command_slots
            heapq.heappush(self._due, (at, self._count, order, units))

    def lead(self, units: Iterable[Unit]) -> int:
        """Return the items left of a motion at which outputs are to be planned.

        With `Enable.EXPECTED`: as many as the data are expected to take from the signal
        to the transmitter. The slowest converter counts.
        """
        if self._cfg.enable is Enable.AT_END:
            return 0
        times = self._cfg.conversion_s
        slots = max(slots_of(times[unit], self._slot_s) for unit in units)
        if self._cfg.enable is Enable.EARLY:
            slots += slots_of(self._cfg.early_s, self._slot_s)
        return self._command_slots + slots

    def step(self, tick: int) -> None:
        """Issue what is due, and hand over what is converted."""
        for order in self._signals:
            if not order.handle.is_over:
                self._tell(SyncReceiveEnabled(tick=tick, order=order.handle.number))
                self._on_enabled(order, tick)
                self.plan(order, order.later_units, tick)
        self._signals.clear()
        while self._due and self._due[0][0] <= tick:
            _, _, order, units = heapq.heappop(self._due)
            is_first = order.handle.follows is None
            if not order.handle.is_over and is_first and _moves(units):
                self._on_motion_due(order, tick)
                units = order.first_units
            if order.handle.is_over:
                continue
            if units is None:
                self._send_prep(order, tick)
            else:
                for unit in units:
                    self._issue(order, unit, tick)
        for converter in self._converters.values():
            converter.step(tick)

    def _send_prep(self, order: PendingOrder, tick: int) -> None:
        key = order.handle.group
        signal_at = self.lead(order.later_units)
        self._take(
            OutputCommand(
                order=order,
                unit=Unit.MOTION,
                name=name_of(order.initial),
                content=order.initial,
                token=order.tokens[Unit.MOTION],
                tag=None,
                is_initial=True,
                after=order.handle.follows,
                signal_at=signal_at,
                on_signal=partial(self._enabled, order),
            ),
            tick,
        )
        self._tell(
            PrepSent(
                tick=tick,
                order=order.handle.number,
                group=key.group if key else None,
                preset=key.preset if key else None,
                start=order.start or "",
                end=order.outputs.way_to or "",
                motions=tuple(motion.name for motion in order.initial),
                signal_at=signal_at,
            )
        )

    def _issue(self, order: PendingOrder, unit: Unit, tick: int) -> None:
        tag = order.tag(unit)
        waits = unit in order.later_units
        command = OutputCommand(
            order=order,
            unit=unit,
            name=order.name(unit),
            content=order.content(unit),
            token=order.tokens[unit],
            tag=tag,
            after=order.handle.follows if waits else None,
        )
        self._take(command, tick)
        self._tell(
            CommandIssued(
                tick=tick,
                order=order.handle.number,
                unit=unit,
                name=command.name,
                group=tag.group if tag else None,
                preset=tag.preset if tag else None,
                points=tag.points if tag else 0,
            )
        )

    def _take(self, command: OutputCommand, tick: int) -> None:
        if command.unit is Unit.MOTION:
            command.why_not = partial(self._why_not, command)
        command.order.commands.append(command)
        self._converters[command.unit].take(command, tick)

    def _enabled(self, order: PendingOrder, tick: int) -> None:
        """Hear the transmitter: of the initial motion so much is left."""
        number = order.handle.number
        initial = order.handle.initial
        stream = initial.number if initial else 0
        self._tell(TransmitEnabled(tick=tick, order=number, stream=stream))
        self._signals.append(order)

    def _converted(
        self, command: OutputCommand, result: Receipt | BadInput, tick: int
    ) -> None:
        order = command.order
        if isinstance(result, BadInput):
            self._on_failure(order, result, tick)
            return
        self._tell(
            Converted(
                tick=tick,
                order=order.handle.number,
                unit=command.unit,
                name=command.name,
                stream=result.number,
                is_initial=command.is_initial,
            )
        )
        self._on_stream(order, command, result)


def _moves(units: Units | None) -> bool:
    """Whether a motion is among what is issued; None: the prep command."""
    return units is None or Unit.MOTION in units
