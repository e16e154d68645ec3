"""Pipeline of a command: from its name to timed output commands.

    submit   once, in the call                                  order.stage after it
    resolve  look up motion, light and sound in the library     RECEIVED
    plan     the motion that it follows, the way to its start
    admit    a token for every leaf, or it is refused           OVER
    enter    report it, lend what waits, schedule the rest      FOLLOWING | PREPARING
    step     once a slot, oldest first                               | ISSUING
    follow   wait until the motion before is about to end       PREPARING | ISSUING
    enable   wait until its initial motion is about to end      ISSUING
    issue    what is due; replan if the posture has changed
    convert  each output to a stream, in the converter's time
    send     the stream to the transmitter
    settle   at the end of the transmitter's slot
    end      report and remove what is done or has failed       OVER

If a motion begins in another posture than the present one, a prep command is first sent
to the motion converter. It has the number of remaining items at which the transmitter
enables the synchronous data: these items take as long as the expected conversion
[CN1396856, fig. 24]. The data are therefore ready when the initial motion ends, and are
not sent earlier.

    order = controller.submit("say hello and wave", token, tick)
    controller.step(tick)  # once a slot, after the behaviours, before the transmitter
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.buses.group import UNIT_ORDER
from nao_testbed.controllers.transmitter.commands.converter import Converters
from nao_testbed.controllers.transmitter.commands.order import (
    OrderStage,
    OutputSet,
    PlacedOrder,
    Tokens,
)
from nao_testbed.controllers.transmitter.commands.planning import Planner
from nao_testbed.controllers.transmitter.commands.posture import PostureBelief
from nao_testbed.controllers.transmitter.commands.rights import Rights
from nao_testbed.controllers.transmitter.commands.timing import (
    CommandControllerCfg,
    slots_of,
)
from nao_testbed.controllers.transmitter.events import (
    CommandIssued,
    Converted,
    OrderEnded,
    OrderReceived,
    PathChosen,
    PrepSent,
    SyncReceiveEnabled,
    TransmitEnabled,
)
from nao_testbed.controllers.transmitter.receipt import EndReason, GroupKey
from nao_testbed.controllers.transmitter.speech import Voice
from nao_testbed.controllers.transmitter.streams import (
    EffectorLeaves,
    Stream,
    name_of,
)
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput
from nao_testbed.models.library import Library, Order, Unit

Units = tuple[Unit, ...]


class Conversion(NamedTuple):
    """Running conversion of an output."""

    ready_tick: int
    order: PlacedOrder
    unit: Unit
    is_initial: bool
    """True for the initial motion of the order."""


class CommandController:
    """Controller that issues the output commands of orders and chains their motions.

    An order follows another one without a gap if both move the same motors or change
    the posture, and the token of the other order is valid. Independent lights and
    sounds do not wait. An order ends as a whole: done, failed in a part, or ended by a
    caller.
    """

    def __init__(
        self,
        library: Library,
        *,
        effectors: EffectorLeaves,
        transmitter: Transmitter,
        voice: Voice,
        ledger: Ledger,
        belief: PostureBelief,
        cfg: CommandControllerCfg | None = None,
        delays: Mapping[Unit, float] | None = None,
    ) -> None:
        """Create the controller with its three converters.

        Args:
            library: the databases.
            effectors: leaves of the robot.
            transmitter: transmitter that receives the streams.
            voice: converter of texts to speech.
            ledger: ledger that checks tokens and emits events; its tick is a slot.
            belief: estimate of the robot's posture.
            cfg: settings; None: the defaults.
            delays: true durations of the conversions in s; None: as expected.
        """
        cfg = cfg or CommandControllerCfg()
        slot_s = ledger.cfg.tick_s
        self._lead = partial(cfg.lead, slot_s=slot_s)
        self._command_slots = slots_of(cfg.command_s, slot_s)
        self.library = library
        self.belief = belief
        self._emit = ledger.emit
        self._transmitter = transmitter
        self._orders: list[PlacedOrder] = []
        """Orders under way, oldest first."""
        self._enabled: list[PlacedOrder] = []
        """Orders whose initial motion has at most `signal_at` items left."""
        self._due: deque[tuple[int, PlacedOrder, Units | None]] = deque()
        """Tick, order, and units to issue; units None: the prep command."""
        self._converting: list[Conversion] = []
        delays = delays or cfg.conversion_s
        self._delays = {unit: slots_of(delays[unit], slot_s) for unit in Unit}
        self._converters = Converters(effectors, voice, slot_s)
        self._rights = Rights(self._converters, ledger, self._orders)
        self._planner = Planner(library, self._converters, self._rights, belief)
        transmitter.on_settled.append(self._end)

    # -- the pipeline ------------------------------------------------------------------

    def submit(
        self,
        command: str | Order | OutputSet,
        tokens: Tokens,
        tick: int,
        *,
        group: str | None = None,
        prepares: bool = True,
    ) -> PlacedOrder:
        """Submit an order, and return its record.

        Args:
            command: name of a command of the library, an entry of that type, or
                outputs.
            tokens: one token for all leaves of the outputs and of the initial motion,
                or one per unit.
            tick: present slot.
            group: ID of the group, for orders that start together; None: the command's
                name, with a number appended if that group is under way.
            prepares: True: move to the start of the motion first and follow the motion
                under way; False: begin at once, or fail.

        Raises:
            UnknownName: the command, or a name in it, is not in the library or the
                robot.
            BadInput: the outputs are inconsistent, or the motion does not end in its
                end posture.
        """
        order = self._planner.resolve(command, tokens)
        order.group = self._group_key(order.outputs, group, tick)
        return self._take(order, self._orders if prepares else None, tick)

    def _take(
        self, order: PlacedOrder, under_way: Sequence[PlacedOrder] | None, tick: int
    ) -> PlacedOrder:
        """Run the stages of `submit`."""
        self._planner.plan(order, under_way)
        self._rights.admit(order)
        self._enter(order, tick)
        return order

    def step(self, tick: int) -> None:
        """Issue due outputs, and pass converted streams to the transmitter.

        Called once per slot, after the behaviours and before the transmitter's step.
        """
        check_tick(tick)
        self.belief.update()
        if self._orders:
            self._follow(tick)
            self._enable(tick)
            self._issue(tick)
            self._convert(tick)

    # -- further calls of senders ------------------------------------------------------

    def interrupt(
        self,
        command: str | Order | OutputSet,
        token: Token,
        tick: int,
        *,
        delete: Iterable[GroupKey] = (),
    ) -> PlacedOrder:
        """Interrupt running outputs: the new output starts as soon as it is converted.

        Running streams that share a leaf with it pause, groups as a whole; after the
        interrupt they return to their position and continue.

        Args:
            command: name of a command of the library, an entry of that type, or
                outputs.
            token: token of a reservation of all leaves of the output.
            tick: present slot.
            delete: groups that end at once.

        Raises:
            UnknownName: the command, or a name in it, is unknown.
            BadInput: the command has several outputs, or points.
        """
        order = self._planner.resolve(command, token, is_interrupt=True)
        self._take(order, None, tick)
        if order.refused is None:
            for key in delete:
                self.delete_group(key, tick)
        return order

    def withdraw(self, order: PlacedOrder, tick: int) -> None:
        """End an order with all outputs and its initial motion."""
        if order in self._orders and not order.is_over:
            if order.initial is not None:
                self._transmitter.withdraw(order.initial, tick)
            self._close(order, EndReason.DELETED, "its sender withdrew it", tick)

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group in any stage; a running initial motion is completed.

        Returns:
            True if there was such a group.
        """
        orders = [x for x in self._orders if x.group == key and not x.is_over]
        found = self._transmitter.delete_group(key, tick)
        for order in orders:
            self._close(order, EndReason.DELETED, "its group was deleted", tick)
        return found or bool(orders)

    # -- stages of submit --------------------------------------------------------------

    def _group_key(
        self, outputs: OutputSet, group: str | None, tick: int
    ) -> GroupKey | None:
        """Return the key of an order's group; None for independent outputs."""
        if not outputs.is_synchronous:
            return None
        if group is not None:
            return GroupKey(outputs.preset, group)
        taken = {order.group for order in self._orders}
        count, key = 1, GroupKey(outputs.preset, outputs.name)
        while key in taken or self._transmitter.is_under_way(key, tick):
            count += 1
            key = GroupKey(outputs.preset, f"{outputs.name} {count}")
        return key

    def _enter(self, order: PlacedOrder, tick: int) -> None:
        """Report an order; if admitted, lend its leaves and schedule its outputs."""
        joins, motion, states = order.joins, order.outputs.motion, self.belief.states
        begins = order.start or (motion.start if motion else None)
        self._emit(
            OrderReceived(
                tick=tick,
                **order.head,
                name=order.name,
                units=order.units,
                follows=joins.number if joins else None,
                refused=order.refused,
                begins=None if joins else states.get(begins or ""),
                ends=states.get(order.outputs.posture_after or ""),
            )
        )
        if order.refused is not None:
            order.stage = OrderStage.OVER
            return
        order.stage = OrderStage.FOLLOWING if joins else order.next_stage
        at_once = order.free_units if order.awaits_turn else order.units
        self._rights.recall_units(order, at_once, tick)
        self._orders.append(order)
        self._rights.lend(order, tick)
        self._schedule(order, order.free_units, tick)
        if joins is None:
            self._schedule(order, order.first_units, tick)

    def _schedule(self, order: PlacedOrder, units: Units | None, tick: int) -> None:
        """Schedule outputs (None: the prep command) after the controller's delay."""
        if units != ():
            self._due.append((tick + self._command_slots, order, units))

    # -- stages of step ----------------------------------------------------------------

    def _follow(self, tick: int) -> None:
        """Schedule an order when its predecessor's motion is about to end.

        At that time the remaining items take as long as the expected conversion of the
        order's data, as with an initial motion.
        """
        for order in self._orders:
            before = order.joins
            if before is None or order.is_over:
                continue
            receipt = before.streams.get(Unit.MOTION)
            is_over = before.is_over if receipt is None else receipt.is_over
            if is_over and not (receipt and receipt.is_done):
                why = f"{before.name!r}, which it follows, was not completed"
                self._close(order, EndReason.DELETED, why, tick)
                continue
            left = receipt.items_left if receipt else None
            first = order.first_units
            if left is None or left > self._lead(first or (Unit.MOTION,)):
                continue
            order.follows, order.joins = receipt, None
            order.stage = order.next_stage
            if not order.awaits_turn:
                self._rights.recall(order, tick)
            self._schedule(order, first, tick)

    def _on_signal(self, order: PlacedOrder, tick: int) -> None:
        """Record at a slot's end that the initial motion has few enough items left."""
        del tick
        self._enabled.append(order)

    def _enable(self, tick: int) -> None:
        """Schedule the orders whose initial motion has few enough items left.

        The signals go from the transmitter to the motion converter, and from there to
        the command controller.
        """
        for order in self._enabled:
            if not order.is_over:
                stream = order.initial.number if order.initial else 0
                self._emit(
                    TransmitEnabled(tick=tick, order=order.number, stream=stream)
                )
                self._emit(SyncReceiveEnabled(tick=tick, order=order.number))
                order.stage = OrderStage.ISSUING
                self._rights.recall(order, tick)
                self._schedule(order, order.later_units, tick)
        self._enabled.clear()

    def _issue(self, tick: int) -> None:
        """Issue the due outputs after a check of the robot's posture."""
        while self._due and self._due[0][0] <= tick:
            _, order, units = self._due.popleft()
            moves = units is None or Unit.MOTION in units
            if moves and not order.is_over and order.follows is None:
                self._replan(order, tick)
                units = order.first_units
            if order.is_over:
                continue
            for unit in (Unit.MOTION,) if units is None else units:
                ready_tick, is_initial = tick + self._delays[unit], units is None
                self._converting.append(Conversion(ready_tick, order, unit, is_initial))
                self._emit(
                    PrepSent(
                        tick=tick,
                        **order.head,
                        start=order.start or "",
                        end=order.outputs.way_to or "",
                        motions=tuple(motion.name for motion in order.prep),
                        signal_at=self._lead(order.later_units),
                    )
                    if is_initial
                    else CommandIssued(
                        tick=tick,
                        **order.head,
                        unit=unit,
                        name=name_of(order.content(unit)),
                        points=order.outputs.points[unit] if order.group else 0,
                    )
                )

    def _replan(self, order: PlacedOrder, tick: int) -> None:
        """Plan again if the robot's posture has changed; end an order without a way.

        A successor begins at the expected end of its predecessor; an order without a
        start posture needs no preparation.
        """
        here, goal = self.belief.posture, order.outputs.way_to
        if goal is None or order.start is None or here == order.start:
            return
        if why := self._planner.replan(order, here):
            self._close(order, EndReason.CANNOT_BEGIN, why, tick)
            return
        self._emit(
            PathChosen(
                tick=tick,
                order=order.number,
                start=order.start,
                end=goal,
                motions=tuple(motion.name for motion in order.way),
                begins=self.belief.states.get(order.start),
            )
        )
        order.stage = order.next_stage
        change = self._rights.lend if order.prep else self._rights.recall
        change(order, tick)

    def _convert(self, tick: int) -> None:
        """Convert the outputs whose conversion time has passed, unit by unit."""
        if not self._converting:
            return
        ready = [x for x in self._converting if x.ready_tick <= tick]
        self._converting = [x for x in self._converting if x.ready_tick > tick]
        for one in sorted(ready, key=lambda x: UNIT_ORDER[x.unit]):
            order = one.order
            if order.closed is None:
                content = order.content(one.unit, one.is_initial)
                try:
                    stream = self._converters.make(content, order.tokens[one.unit])
                except BadInput as error:
                    self._close(order, EndReason.CANNOT_BEGIN, str(error), tick)
                else:
                    self._send(stream, one, name_of(content), tick)

    def _send(self, stream: Stream, one: Conversion, name: str, tick: int) -> None:
        """Send a stream to the transmitter, and store its receipt."""
        _, order, unit, is_initial = one
        moves, later = unit is Unit.MOTION, order.later_units
        check = partial(self.belief.start_error, order, is_initial) if moves else None
        if order.is_interrupt:
            receipt = self._transmitter.interrupt(stream, tick, start_check=check)
        else:
            receipt = self._transmitter.receive(
                stream,
                None if is_initial else order.tag(unit),
                tick,
                after=order.follows if unit in later else None,
                signal_at=self._lead(later) if is_initial else None,
                on_signal=partial(self._on_signal, order) if is_initial else None,
                start_check=check,
            )
        self._emit(
            Converted(
                tick=tick,
                order=order.number,
                unit=unit,
                name=name,
                stream=receipt.number,
                is_initial=is_initial,
            )
        )
        if is_initial:
            order.initial = order.follows = receipt
            self.belief.follow(receipt, order.outputs.way_to)
            return
        order.streams[unit] = receipt
        if moves and order.outputs.changes_posture:
            self.belief.follow(receipt, order.outputs.posture_after)

    # -- end ---------------------------------------------------------------------------

    def _end(self, tick: int) -> None:
        """End the orders that failed in a slot; report and remove ended orders.

        Called when the transmitter has settled the slot.
        """
        for order in tuple(self._orders):
            if failure := order.failure:
                self._close(order, *failure, tick)
            if order.reason is None:
                continue
            self._emit(
                OrderEnded(
                    tick=tick,
                    **order.head,
                    name=order.name,
                    reason=order.reason,
                    detail=order.detail,
                )
            )
            order.stage = OrderStage.OVER
            self._rights.recall(order, tick)
            self._orders.remove(order)

    def _close(
        self, order: PlacedOrder, reason: EndReason, why: str, tick: int
    ) -> None:
        """Stop issuing, converting and sending the outputs of an order.

        An initial motion that the transmitter has received is completed, since an
        interrupted one would leave the posture unknown.
        """
        order.closed, order.detail = reason, why
        for receipt in order.streams.values():
            self._transmitter.withdraw(receipt, tick)
