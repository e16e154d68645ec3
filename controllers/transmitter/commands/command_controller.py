"""The command controller (101): from a command to output commands at the right moment.

    submit -- DB1 -- [prep command -- initial motion -- transmit-enable] -- converters

Where a motion begins in another posture than the present one, a prep command goes to
the motion converter first. It carries the moment at which the transmitter
enables the rest: when the items left take as long as the synchronous data are expected
to take [CN1396856, fig. 24]. So these are there when the initial motion ends,
and nothing of them is on a bus before.

    handle = controller.submit("say hello and wave", token, tick)
    controller.step(tick)  # once a slot, after the behaviours, before the transmitter
"""

from collections.abc import Callable, Iterable, Mapping

from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.state import check_tick
from controllers.arbitration.tokens import Token
from controllers.speech import Voice
from controllers.transmitter.commands.admission import (
    OrderAdmission,
    PostureBelief,
    Tokens,
    group_key,
)
from controllers.transmitter.commands.converter import (
    StreamMaker,
)
from controllers.transmitter.commands.issuing import CommandControllerCfg, Issuing
from controllers.transmitter.commands.joining import Joining, Lending, OrderEndings
from controllers.transmitter.commands.order import (
    OrderHandle,
    OutputCommand,
    OutputSet,
    PendingOrder,
    outputs_of,
)
from controllers.transmitter.events import OrderReceived, WayChosen
from controllers.transmitter.receipt import EndReason, GroupKey, Receipt
from controllers.transmitter.streams import EffectorLeaves, Present
from controllers.transmitter.transmitter import Transmitter
from models import BadInput
from models.library import Library, Motion, Order, Unit

FalseEnd = Callable[[Motion, Mapping[str, float] | None], str]


class CommandController:
    """Issues the output commands of orders, and joins them on to what goes before.

    An order whose motion shares motors with that of an order under way, or changes the
    posture as that one does, follows it without a gap, as long as the token of
    the other is alive. Independent lights and sounds wait for nothing.
    """

    def __init__(
        self,
        library: Library,
        *,
        effectors: EffectorLeaves,
        transmitter: Transmitter,
        voice: Voice,
        ledger: Ledger,
        cfg: CommandControllerCfg | None = None,
        delays: Mapping[Unit, float] | None = None,
        posture: str | None = None,
        states: Mapping[str, str | None] | None = None,
        seen_state: Callable[[], str | None] | None = None,
        false_end: FalseEnd | None = None,
    ) -> None:
        """Build it, with its three converters.

        Args:
            library: the databases.
            effectors: leaves of the robot.
            transmitter: gets the streams.
            voice: says texts.
            ledger: knows tokens, tells events, and counts in slots.
            cfg: settings; None: the defaults.
            delays: true times of the conversions, in s; None: as expected.
            posture: in which the robot is; None: unknown.
            states: posture to its state; None: none has one.
            seen_state: returns the state that is seen now, None on the way between two:
                a robot on its back does not stand, whatever was sent to it. None:
                nobody looks.
            false_end: says what keeps a motion from ending in the posture that it
                names, given where the motors are, or None; empty: nothing. None: a
                motion is believed.
        """
        cfg = cfg or CommandControllerCfg()
        slot_s = ledger.cfg.tick_s
        maker = StreamMaker(effectors, voice, slot_s)
        self.library = library
        self._tell = ledger.tell
        self._endings = OrderEndings(transmitter, ledger.tell)
        self._transmitter = transmitter
        self._states = states or {}
        self._false_end = false_end or (lambda _motion, _here: "")
        self._motors = effectors.motors
        self._belief = PostureBelief(posture, states, seen_state)
        self._admission = OrderAdmission(library, maker, ledger)
        self._lending = Lending(maker, ledger)
        self._issuing = Issuing(
            cfg=cfg,
            delays=delays or cfg.conversion_s,
            maker=maker,
            transmitter=transmitter,
            slot_s=slot_s,
            tell=ledger.tell,
            on_stream=self._has_stream,
            on_failure=self._not_converted,
            on_enabled=self._lending.end,
            on_motion_due=self._look_again,
            why_not=self._why_not,
        )
        self._count = 0
        self._orders: list[PendingOrder] = []
        """Under way, oldest first."""
        self._joining = Joining(self._issuing, self._endings, self._lending)

    # -- what senders call ------------------------------------------------------------

    def submit(
        self,
        command: str | Order | OutputSet,
        tokens: Tokens,
        tick: int,
        *,
        group: str | None = None,
        prepares: bool = True,
    ) -> OrderHandle:
        """Take an order; look at its handle for what becomes of it.

        Args:
            command: name of a command of the library, an entry like it, or outputs.
            tokens: proof of reservations: one for all leaves of its outputs and of the
                initial motion, or one for each unit.
            tick: now.
            group: ID of its group, for outputs of several orders that start together;
                None: its name, with a number behind it while that group is under way.
            prepares: whether to go the way to where its motion begins, and to follow
                the motion under way; otherwise it begins at once, or cannot begin.

        Raises:
            UnknownName: there is no such command, or a name in it is not known to the
                library or the robot.
            BadInput: the outputs do not fit together, or its motion does not end in the
                posture that it names.
        """
        outputs = self._outputs_of(command)
        taken = {order.handle.group for order in self._orders}
        key = group_key(outputs, group, taken, self._transmitter, tick)
        handle = self._new_handle(outputs, key)
        if prepares:
            order = self._admission.admit_after(
                handle, outputs, tokens, tuple(self._orders), self._belief.posture
            )
        else:
            order = self._admission.admit(handle, outputs, tokens, self._belief.posture)
        self._accept(order, tick)
        return handle

    def interrupt(
        self,
        command: str | Order | OutputSet,
        token: Token,
        tick: int,
        *,
        delete: Iterable[GroupKey] = (),
    ) -> OrderHandle:
        """Join one output on to what runs: it starts as soon as it is converted.

        What runs and shares a leaf with it pauses, a group whole, goes back to where it
        was when it is over, and goes on.

        Args:
            command: name of a command of the library, an entry like it, or outputs.
            token: proof of a reservation of all leaves of its output.
            tick: now.
            delete: groups that end at once.

        Raises:
            UnknownName: there is no such command, or a name in it is not known.
            BadInput: it has several outputs, or points.
        """
        outputs = self._outputs_of(command)
        if len(outputs.units) != 1 or outputs.is_synchronous:
            raise BadInput(
                f"command {outputs.name!r} cannot interrupt: it has the outputs "
                f"{', '.join(outputs.units)}; give one that has a single one, and no "
                "points."
            )
        handle = self._new_handle(outputs, None)
        order = self._admission.admit(handle, outputs, token, self._belief.posture)
        order.is_interrupt = True
        self._accept(order, tick)
        if handle.refused is None:
            for key in delete:
                self.delete_group(key, tick)
        return handle

    def withdraw(self, handle: OrderHandle, tick: int) -> None:
        """End an order with all of its outputs, and its initial motion too."""
        for order in self._orders:
            if order.handle is handle and not handle.is_over:
                if handle.initial is not None:
                    self._transmitter.withdraw(handle.initial, tick)
                self._endings.close(
                    order, EndReason.DELETED, "its sender withdrew it", tick
                )

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group, wherever its data are; an initial motion goes on to its end.

        Returns:
            Whether there was one.
        """
        orders = [
            order
            for order in self._orders
            if order.handle.group == key and not order.handle.is_over
        ]
        found = self._transmitter.delete_group(key, tick)
        for order in orders:
            self._endings.close(order, EndReason.DELETED, "its group was deleted", tick)
        return found or bool(orders)

    @property
    def present_posture(self) -> str | None:
        """Posture in which the robot is; None: unknown, or on its way."""
        return self._belief.posture

    def tell_posture(self, posture: str | None) -> None:
        """Take what somebody saw: the name of a stored posture; None: none of them."""
        self._belief.tell(posture)

    def step(self, tick: int) -> None:
        """Issue what is due, and hand over what is converted.

        Called once a slot, after the behaviours and before the transmitter's step.
        """
        check_tick(tick)
        self._belief.update()
        if not self._orders:
            return
        self._joining.step(tick)
        self._issuing.step(tick)
        for order in tuple(self._orders):
            if self._endings.watch(order, tick):
                self._orders.remove(order)
                self._lending.end(order, tick)

    # -- inside -----------------------------------------------------------------------

    def _outputs_of(self, command: str | Order | OutputSet) -> OutputSet:
        """Return what a command puts out, if its motion ends where it says."""
        outputs = outputs_of(command, self.library)
        motion = outputs.motion
        if motion and motion.start and (why := self._false_end(motion, None)):
            raise BadInput(
                f"motion {motion.name!r}: {why}. Bring it there, or leave `end` out."
            )
        return outputs

    def _new_handle(self, outputs: OutputSet, key: GroupKey | None) -> OrderHandle:
        self._count += 1
        return OrderHandle(
            number=self._count, name=outputs.name, units=outputs.units, group=key
        )

    def _accept(self, order: PendingOrder, tick: int) -> None:
        """Tell of an order, and begin what can begin."""
        handle, joins = order.handle, order.joins
        key, motion = handle.group, order.outputs.motion
        begins = order.start or (motion.start if motion else None)
        self._tell(
            OrderReceived(
                tick=tick,
                order=handle.number,
                name=handle.name,
                group=key.group if key else None,
                preset=key.preset if key else None,
                units=handle.units,
                follows=joins.handle.number if joins else None,
                refused=handle.refused,
                begins=None if joins else self._states.get(begins or ""),
                ends=self._states.get(order.posture_after or ""),
            )
        )
        if handle.refused is None:
            waits = order.initial or joins is not None
            at_once = order.free_units if waits else handle.units
            self._lending.give(order, at_once, tick)
            self._lending.begin(order, self._orders, tick)
            self._orders.append(order)
            self._issuing.plan(order, order.free_units, tick)
            if joins is not None:
                self._joining.add(order)
            else:
                self._issuing.plan(order, order.first_units, tick)

    def _look_again(self, order: PendingOrder, tick: int) -> None:
        """Choose the way anew for a robot that is elsewhere by now, or end the order.

        What follows another motion begins at the expected end of that.
        """
        here, goal = self._belief.posture, order.outputs.way_to
        if order.handle.follows is not None or here == order.start or goal is None:
            return
        if order.start is None:
            return  # it prepares nothing
        why = self._elsewhere(order.start, here)
        if here is not None:
            no_way = self._admission.choose_anew(order, here)
            why = f"{why}: {no_way}"
            if not no_way:
                self._tell_anew(order, here, goal, tick)
                return
        self._endings.close(
            order, EndReason.CANNOT_BEGIN, f"{why}; give the command again.", tick
        )

    def _tell_anew(self, order: PendingOrder, here: str, goal: str, tick: int) -> None:
        """Tell of another way, and lend or recall as it asks for."""
        moves = order.initial or order.way
        self._tell(
            WayChosen(
                tick=tick,
                order=order.handle.number,
                start=here,
                end=goal,
                motions=tuple(motion.name for motion in moves),
                begins=self._states.get(here),
            )
        )
        if order.initial:
            self._lending.begin(order, self._orders, tick)
        else:
            self._lending.end(order, tick)

    def _why_not(self, command: OutputCommand, present: Present) -> str:
        """Return why a motion cannot start: the robot is not where it begins.

        Or it would not end where it says, from where the motors are.
        """
        order, motion = command.order, command.order.outputs.motion
        if motion is not None and motion.start is None:
            at = {motor: present[leaf] for motor, leaf in self._motors.items()}
            return self._false_end(motion, at) if motion.end else ""
        if order.start is not None:
            is_own = motion is not None and not command.is_initial
            start = motion.start if motion and is_own else order.start
            here = self._belief.posture
            return "" if start in (None, here) else self._elsewhere(start, here)
        state = self._states.get((motion.start if motion else None) or "")
        seen = self._belief.seen()
        if motion is None or state is None or seen in (None, state):
            return ""
        return f"it begins in {motion.start}, and the robot is seen in {seen}"

    @staticmethod
    def _elsewhere(start: str | None, here: str | None) -> str:
        where = here or "no known posture"
        return f"it begins in {start}, and the robot is in {where} now"

    def _has_stream(
        self, order: PendingOrder, command: OutputCommand, receipt: Receipt
    ) -> None:
        handle = order.handle
        if command.is_initial:
            handle.initial = handle.follows = receipt
            self._belief.follow(receipt, order.outputs.way_to)
            return
        handle.streams[command.unit] = receipt
        if command.unit is Unit.MOTION and order.changes_posture:
            self._belief.follow(receipt, order.posture_after)

    def _not_converted(self, order: PendingOrder, error: BadInput, tick: int) -> None:
        self._endings.close(order, EndReason.CANNOT_BEGIN, str(error), tick)
