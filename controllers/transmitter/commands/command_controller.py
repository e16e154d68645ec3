"""The command controller (101): from a command to output commands at the right moment.

    submit -- DB1 -- [prep command -- initial motion -- transmit-enable] -- converters

Where a motion begins in another posture than the present one, a prep command goes to
the motion converter first. It carries the moment at which the transmitter
enables the rest: when the items left take as long as the synchronous data are expected
to take [CN1396856, fig. 24]. So these are there when the initial motion ends,
and nothing of them is on a bus before.

    order = controller.submit("say hello and wave", token, tick)
    controller.step(tick)  # once a slot, after the behaviours, before the transmitter

Orders end when the transmitter has settled their last slot.
"""

from collections.abc import Callable, Iterable, Mapping

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.speech import Voice
from nao_testbed.controllers.transmitter.commands.admission import (
    FalseEnd,
    OrderAdmission,
    PostureBelief,
    group_key,
)
from nao_testbed.controllers.transmitter.commands.converter import StreamMaker
from nao_testbed.controllers.transmitter.commands.issuing import (
    CommandControllerCfg,
    Issuing,
)
from nao_testbed.controllers.transmitter.commands.lending import Lending
from nao_testbed.controllers.transmitter.commands.order import (
    OutputSet,
    PlacedOrder,
    outputs_of,
)
from nao_testbed.controllers.transmitter.events import OrderEnded, OrderReceived
from nao_testbed.controllers.transmitter.receipt import EndReason, GroupKey
from nao_testbed.controllers.transmitter.streams import EffectorLeaves
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.models import BadInput
from nao_testbed.models.library import Library, Order, Unit

Tokens = Token | Mapping[Unit, Token]
"""One token for all units, or one for each; a unit without one is refused."""


class CommandController:
    """Controller that issues the output commands of orders and joins their motions.

    An order follows an order under way without a gap if both move the same motors or
    change the posture, as long as the token of the other is valid. Independent lights
    and sounds do not wait. Orders end as a whole: done, failed in a part, or ended by a
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
        cfg: CommandControllerCfg | None = None,
        delays: Mapping[Unit, float] | None = None,
        posture: str | None = None,
        states: Mapping[str, str | None] | None = None,
        seen_state: Callable[[], str | None] | None = None,
        false_end: FalseEnd | None = None,
    ) -> None:
        """Create the controller with its three converters.

        Args:
            library: the databases.
            effectors: leaves of the robot.
            transmitter: gets the streams.
            voice: says texts.
            ledger: knows tokens, tells events, and counts in slots.
            cfg: settings; None: the defaults.
            delays: true times of the conversions, in s; None: as expected.
            posture: initial posture of the robot; None: unknown.
            states: posture to its state; None: none has one.
            seen_state: returns the observed state, None between two states; it takes
                precedence over the commands that were sent. None: not observed.
            false_end: returns why a motion did not end in its named posture, given the
                motor angles or None; empty: it did. None: every end is accepted.
        """
        cfg = cfg or CommandControllerCfg()
        maker = StreamMaker(effectors, voice, ledger.cfg.tick_s)
        self.library = library
        self._tell = ledger.tell
        self._transmitter = transmitter
        self._count = 0
        self._orders: list[PlacedOrder] = []
        """Under way, oldest first."""
        self._belief = PostureBelief(
            posture, states, seen_state, false_end=false_end, motors=effectors.motors
        )
        self._admission = OrderAdmission(library, maker, ledger)
        self._lending = Lending(maker, ledger, self._orders)
        self._issuing = Issuing(
            cfg,
            delays=delays or cfg.conversion_s,
            maker=maker,
            transmitter=transmitter,
            ledger=ledger,
            admission=self._admission,
            belief=self._belief,
            lending=self._lending,
        )
        transmitter.on_settled.append(self._end_orders)

    # -- what senders call ------------------------------------------------------------

    def submit(
        self,
        command: str | Order | OutputSet,
        tokens: Tokens,
        tick: int,
        *,
        group: str | None = None,
        prepares: bool = True,
    ) -> PlacedOrder:
        """Take an order; look at it for what becomes of it.

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
        taken = {order.group for order in self._orders}
        key = group_key(outputs, group, taken, self._transmitter, tick)
        order = self._new(outputs, key, tokens)
        under_way = self._orders if prepares else None
        self._admission.admit(order, self._belief.posture, under_way)
        self._accept(order, tick)
        return order

    def interrupt(
        self,
        command: str | Order | OutputSet,
        token: Token,
        tick: int,
        *,
        delete: Iterable[GroupKey] = (),
    ) -> PlacedOrder:
        """Interrupt the running outputs: the output starts as soon as it is converted.

        Running streams that share a leaf with it pause, groups as a whole; after it
        they return to their position and continue.

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
        order = self._new(outputs, None, token, is_interrupt=True)
        self._admission.admit(order, self._belief.posture, None)
        self._accept(order, tick)
        if order.refused is None:
            for key in delete:
                self.delete_group(key, tick)
        return order

    def withdraw(self, order: PlacedOrder, tick: int) -> None:
        """End an order with all of its outputs, and its initial motion too."""
        if order in self._orders and not order.is_over:
            if order.initial is not None:
                self._transmitter.withdraw(order.initial, tick)
            self._close(order, EndReason.DELETED, "its sender withdrew it", tick)

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group, wherever its data are; an initial motion goes on to its end.

        Returns:
            Whether there was one.
        """
        orders = [x for x in self._orders if x.group == key and not x.is_over]
        found = self._transmitter.delete_group(key, tick)
        for order in orders:
            self._close(order, EndReason.DELETED, "its group was deleted", tick)
        return found or bool(orders)

    @property
    def present_posture(self) -> str | None:
        """Posture in which the robot is; None: unknown, or on its way."""
        return self._belief.posture

    def tell_posture(self, posture: str | None) -> None:
        """Set the observed posture, by the name of a stored one; None: none of them."""
        self._belief.tell(posture)

    def step(self, tick: int) -> None:
        """Issue due outputs, and pass converted streams to the transmitter.

        Called once per slot, after the behaviours and before the transmitter's step.
        """
        check_tick(tick)
        self._belief.update()
        if self._orders:
            self._issuing.step(self._orders, tick)

    # -- inside -----------------------------------------------------------------------

    def _end_orders(self, tick: int) -> None:
        """End the orders that failed in a slot, and remove finished ones."""
        for order in tuple(self._orders):
            self._end_failed(order, tick)
            if order.is_over:
                self._lending.end(order, tick)
                self._orders.remove(order)

    def _outputs_of(self, command: str | Order | OutputSet) -> OutputSet:
        """Return what a command puts out, if its motion ends where it says."""
        outputs = outputs_of(command, self.library)
        motion = outputs.motion
        if motion and motion.start and (why := self._belief.false_end(motion, None)):
            raise BadInput(
                f"motion {motion.name!r}: {why}. Bring it there, or leave `end` out."
            )
        return outputs

    def _new(
        self,
        outputs: OutputSet,
        key: GroupKey | None,
        tokens: Tokens,
        *,
        is_interrupt: bool = False,
    ) -> PlacedOrder:
        self._count += 1
        if not isinstance(tokens, Mapping):
            tokens = dict.fromkeys(outputs.units, tokens)
        return PlacedOrder(
            number=self._count,
            outputs=outputs,
            group=key,
            tokens=tokens,
            is_interrupt=is_interrupt,
        )

    def _accept(self, order: PlacedOrder, tick: int) -> None:
        """Emit the event of an order, and begin it if possible."""
        joins, motion, states = order.joins, order.outputs.motion, self._belief.states
        begins = order.start or (motion.start if motion else None)
        self._tell(
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
        if order.refused is None:
            waits = order.prep or joins is not None
            at_once = order.free_units if waits else order.units
            self._lending.give(order, at_once, tick)
            self._orders.append(order)
            self._lending.begin(order, tick)
            self._issuing.plan(order, order.free_units, tick)
            if joins is None:
                self._issuing.plan(order, order.first_units, tick)

    def _end_failed(self, order: PlacedOrder, tick: int) -> None:
        """End an order of which a part has failed, and tell of one that is over.

        A failed initial motion ends what should follow it; a stream of a group ends the
        group (reading 24).
        """
        initial = order.initial
        if order.is_over:
            pass
        elif initial is not None and initial.is_over and not initial.is_done:
            why = f"its initial motion has ended: {initial.reason}. {initial.detail}"
            self._close(order, EndReason.DELETED, why.strip(), tick)
        elif order.group is not None:
            for part in order.streams.values():
                if part.reason not in {None, EndReason.DONE}:
                    why = part.detail or str(part.refused or part.reason)
                    self._close(order, part.reason or EndReason.DELETED, why, tick)
                    break
        if order.reason is not None:
            self._tell(
                OrderEnded(
                    tick=tick,
                    **order.head,
                    name=order.name,
                    reason=order.reason,
                    detail=order.detail,
                )
            )

    def _close(
        self, order: PlacedOrder, reason: EndReason, why: str, tick: int
    ) -> None:
        order.close(reason, why, tick, self._transmitter)
