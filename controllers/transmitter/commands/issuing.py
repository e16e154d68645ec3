"""Issue times of the outputs of orders, and their conversion.

`Enable` selects when the transmitter enables the synchronous data after an initial
motion.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.transmitter.buses.group import UNIT_ORDER
from nao_testbed.controllers.transmitter.commands.admission import (
    OrderAdmission,
    PostureBelief,
    elsewhere,
)
from nao_testbed.controllers.transmitter.commands.converter import (
    CONVERSION_S,
    StreamMaker,
    slots_of,
)
from nao_testbed.controllers.transmitter.commands.lending import Lending
from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.controllers.transmitter.events import (
    CommandIssued,
    Converted,
    PrepSent,
    SyncReceiveEnabled,
    TransmitEnabled,
    WayChosen,
)
from nao_testbed.controllers.transmitter.receipt import EndReason, Receipt
from nao_testbed.controllers.transmitter.streams import Content, Stream, name_of
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput
from nao_testbed.models.library import Unit


class Enable(StrEnum):
    """Time at which the transmitter enables the synchronous data."""

    EXPECTED = "expected"
    """When the rest of the initial motion takes as long as the expected conversion: the
    data are ready when it ends, and no earlier."""
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


class OutputCommand(NamedTuple):
    """Output command that the converter of a unit works on."""

    ready_tick: int
    order: PlacedOrder
    unit: Unit
    is_initial: bool
    """Whether it is a prep command: the motions lead to where the order begins."""

    @property
    def content(self) -> Content:
        """Output to be converted."""
        order = self.order
        return order.prep if self.is_initial else order.content(self.unit)


class Issuing:
    """Issues prep commands and output commands in their time, oldest first.

    The signals of [CN1396856, fig. 24] are: transmitter to motion converter
    (`TransmitEnabled`), motion converter to command controller (`SyncReceiveEnabled`),
    which then issues the commands.
    """

    def __init__(
        self,
        cfg: CommandControllerCfg,
        *,
        delays: Mapping[Unit, float],
        maker: StreamMaker,
        transmitter: Transmitter,
        ledger: Ledger,
        admission: OrderAdmission,
        belief: PostureBelief,
        lending: Lending,
    ) -> None:
        """Create an issuer without orders.

        Args:
            cfg: expected times, and when to issue.
            delays: true times of the conversions, in s.
            maker: makes the streams.
            transmitter: receives the streams.
            ledger: receives events, and counts in slots.
            admission: chooses another way if the robot's posture has changed.
            belief: estimate of the robot's posture.
            lending: loans that are recalled at an order's turn.
        """
        slot_s = ledger.cfg.tick_s
        self._cfg = cfg
        self._slot_s = slot_s
        self._delays = {unit: slots_of(delays[unit], slot_s) for unit in Unit}
        self._command_slots = slots_of(cfg.command_s, slot_s)
        self._maker = maker
        self._transmitter = transmitter
        self._tell = ledger.tell
        self._admission = admission
        self._belief = belief
        self._lending = lending
        self._enabled: list[PlacedOrder] = []
        """Those of whose initial motion little enough is left."""
        self._due: deque[tuple[int, PlacedOrder, Units | None]] = deque()
        """Tick, order, and the units to issue; None: the prep command."""
        self._at_work: list[OutputCommand] = []

    def plan(self, order: PlacedOrder, units: Units | None, tick: int) -> None:
        """Issue output commands, or the prep command, after the controller's time.

        Args:
            order: what it is for.
            units: which outputs; None: the initial motion.
            tick: now.
        """
        if units != ():
            self._due.append((tick + self._command_slots, order, units))

    def step(self, orders: Sequence[PlacedOrder], tick: int) -> None:
        """Issue the due outputs of some orders, and pass on the converted streams."""
        for order in orders:
            if order.joins is not None and not order.is_over:
                self._join(order, order.joins, tick)
        for order in self._enabled:
            if not order.is_over:
                self._tell_enabled(order, tick)
                self._lending.end(order, tick)
                self.plan(order, order.later_units, tick)
        self._enabled.clear()
        while self._due and self._due[0][0] <= tick:
            _, order, units = self._due.popleft()
            moves = units is None or Unit.MOTION in units
            if moves and not order.is_over and order.follows is None:
                self._look_again(order, tick)
                units = order.first_units
            if order.is_over:
                continue
            if units is None:
                self._send_prep(order, tick)
            else:
                for unit in units:
                    self._issue(order, unit, tick)
        if self._at_work:
            self._hand_over(tick)

    # -- the moment -------------------------------------------------------------------

    def _lead(self, units: Iterable[Unit]) -> int:
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

    def _join(self, order: PlacedOrder, before: PlacedOrder, tick: int) -> None:
        """Start an order when its predecessor's motion is about to end.

        That is when the remaining items take as long as the expected conversion of its
        own data, as with an initial motion.
        """
        receipt = before.streams.get(Unit.MOTION)
        is_over = before.is_over if receipt is None else receipt.is_over
        if is_over and not (receipt and receipt.is_done):
            why = f"{before.name!r}, which it follows, did not come to its end"
            order.close(EndReason.DELETED, why, tick, self._transmitter)
            return
        left = receipt.items_left if receipt else None
        first = order.first_units
        if left is None or left > self._lead(first or (Unit.MOTION,)):
            return
        order.follows, order.joins = receipt, None
        if first is not None:
            self._lending.end(order, tick)
        self.plan(order, first, tick)

    def _look_again(self, order: PlacedOrder, tick: int) -> None:
        """Re-plan if the robot's posture has changed; end the order if there is no way.

        A successor begins at the expected end of its predecessor; an order without a
        start posture needs no preparation.
        """
        here, goal = self._belief.posture, order.outputs.way_to
        if goal is None or order.start is None or here == order.start:
            return
        why = elsewhere(order.start, here)
        if here is not None:
            no_way = self._admission.choose_anew(order, here)
            why = f"{why}: {no_way}"
            if not no_way:
                self._tell_anew(order, here, goal, tick)
                return
        why = f"{why}; give the command again."
        order.close(EndReason.CANNOT_BEGIN, why, tick, self._transmitter)

    def _tell_anew(self, order: PlacedOrder, here: str, goal: str, tick: int) -> None:
        """Emit the event of a new way; lend or recall resources for it."""
        self._tell(
            WayChosen(
                tick=tick,
                order=order.number,
                start=here,
                end=goal,
                motions=tuple(motion.name for motion in order.way),
                begins=self._belief.states.get(here),
            )
        )
        if order.prep:
            self._lending.begin(order, tick)
        else:
            self._lending.end(order, tick)

    # -- issuing and converting -------------------------------------------------------

    def _send_prep(self, order: PlacedOrder, tick: int) -> None:
        self._take(order, Unit.MOTION, tick, is_initial=True)
        self._tell(
            PrepSent(
                tick=tick,
                **order.head,
                start=order.start or "",
                end=order.outputs.way_to or "",
                motions=tuple(motion.name for motion in order.prep),
                signal_at=self._lead(order.later_units),
            )
        )

    def _issue(self, order: PlacedOrder, unit: Unit, tick: int) -> None:
        self._take(order, unit, tick)
        points = order.outputs.points[unit] if order.group else 0
        name = name_of(order.content(unit))
        self._tell(
            CommandIssued(tick=tick, **order.head, unit=unit, name=name, points=points)
        )

    def _take(
        self, order: PlacedOrder, unit: Unit, tick: int, *, is_initial: bool = False
    ) -> None:
        ready_tick = tick + self._delays[unit]
        self._at_work.append(OutputCommand(ready_tick, order, unit, is_initial))

    def _enable(self, order: PlacedOrder, tick: int) -> None:
        """Hear the transmitter at a slot's end: from the next on so much is left."""
        del tick
        self._enabled.append(order)

    def _tell_enabled(self, order: PlacedOrder, tick: int) -> None:
        stream = order.initial.number if order.initial else 0
        self._tell(TransmitEnabled(tick=tick, order=order.number, stream=stream))
        self._tell(SyncReceiveEnabled(tick=tick, order=order.number))

    def _hand_over(self, tick: int) -> None:
        """Pass the converted streams to the transmitter, unit by unit."""
        ready = [x for x in self._at_work if x.ready_tick <= tick]
        self._at_work = [x for x in self._at_work if x.ready_tick > tick]
        for command in sorted(ready, key=lambda x: UNIT_ORDER[x.unit]):
            if command.order.closed is None:
                self._convert(command, tick)

    def _convert(self, command: OutputCommand, tick: int) -> None:
        """Hand the stream of an output to the transmitter, or end its order."""
        _, order, unit, is_initial = command
        try:
            stream = self._maker.make(command.content, order.tokens[unit])
        except BadInput as error:
            order.close(EndReason.CANNOT_BEGIN, str(error), tick, self._transmitter)
            return
        receipt = self._send(stream, command, tick)
        self._tell(
            Converted(
                tick=tick,
                order=order.number,
                unit=unit,
                name=name_of(command.content),
                stream=receipt.number,
                is_initial=is_initial,
            )
        )
        if is_initial:
            order.initial = order.follows = receipt
            self._belief.follow(receipt, order.outputs.way_to)
            return
        order.streams[unit] = receipt
        if unit is Unit.MOTION and order.changes_posture:
            self._belief.follow(receipt, order.outputs.posture_after)

    def _send(self, stream: Stream, command: OutputCommand, tick: int) -> Receipt:
        _, order, unit, is_initial = command
        moves = unit is Unit.MOTION
        why_not = partial(self._belief.why_not, order, is_initial) if moves else None
        if order.is_interrupt:
            return self._transmitter.interrupt(stream, tick, why_not=why_not)
        return self._transmitter.receive(
            stream,
            None if is_initial else order.tag(unit),
            tick,
            after=order.follows if unit in order.later_units else None,
            signal_at=self._lead(order.later_units) if is_initial else None,
            on_signal=partial(self._enable, order) if is_initial else None,
            why_not=why_not,
        )
