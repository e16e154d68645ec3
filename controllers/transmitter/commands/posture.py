"""Estimate of the robot's posture from sent motions and observation."""

from collections.abc import Callable, Mapping

from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.controllers.transmitter.receipt import Receipt
from nao_testbed.controllers.transmitter.streams import Present
from nao_testbed.models.library import Motion

FalseEnd = Callable[[Motion, Mapping[str, float] | None], str]
"""Function of a motion and the present set-points (or None); returns why the motion
would not end in its end posture, empty if it would."""


class PostureBelief:
    """Estimate of the robot's posture from the sent motions.

    A completed motion leaves the robot in its last posture; an interrupted one leaves
    the posture unknown. A later observation of another state, such as lying on the
    back, takes precedence.
    """

    def __init__(
        self,
        posture: str | None,
        states: Mapping[str, str | None] | None = None,
        seen: Callable[[], str | None] | None = None,
        *,
        false_end: FalseEnd | None = None,
        motors: Mapping[str, str] | None = None,
    ) -> None:
        """Create an estimate.

        Args:
            posture: initial posture; None: unknown.
            states: posture to the state of a robot in it; None: no states known.
            seen: returns the observed state, None between states; None: not observed.
            false_end: check of a motion's end posture; None: every end is accepted.
            motors: motor to its leaf.
        """
        self.states = states or {}
        self.false_end = false_end or (lambda _motion, _here: "")
        self._motors = motors or {}
        self.seen = seen or (lambda: None)
        """Function that returns the observed state; None: between states."""
        self._moves: list[tuple[Receipt, str | None]] = []
        self._posture = posture
        self._seen_before = self.seen()

    def follow(self, receipt: Receipt, end: str | None) -> None:
        """Track a motion that ends in a posture; None: in no stored posture."""
        self._moves.append((receipt, end))

    def set_posture(self, posture: str | None) -> None:
        """Set the observed posture; running motions still update it when they end."""
        self.update()
        self._believe(posture)

    @property
    def posture(self) -> str | None:
        """Posture of the robot; None: unknown, or between postures."""
        self.update()
        on_its_way = any(r.started_tick is not None for r, _ in self._moves)
        return None if on_its_way else self._posture

    def update(self) -> None:
        """Update the estimate from ended motions and the observed state."""
        for move in [move for move in self._moves if move[0].is_over]:
            receipt, end = move
            if receipt.is_done:
                self._believe(end)
            elif receipt.started_tick is not None:
                self._believe(None)
            self._moves.remove(move)
        if self._posture is None:
            return
        seen, state = self.seen(), self.states.get(self._posture)
        if seen is None or seen == self._seen_before:
            return
        if state is not None and seen != state:
            self._posture = None
        self._seen_before = seen

    def start_error(
        self, order: PlacedOrder, is_initial: bool, present: Present
    ) -> str:
        """Return why a motion of an order cannot start; empty if it can.

        Either the robot is not in the start posture, or the motion would not end in its
        end posture from the present set-points.

        Args:
            order: order with its motion and initial motion.
            is_initial: True: check the initial motion; False: the order's own motion.
            present: present set-points.
        """
        motion = order.outputs.motion
        if motion is not None and motion.start is None:
            at = {motor: present[leaf] for motor, leaf in self._motors.items()}
            return self.false_end(motion, at) if motion.end else ""
        if order.start is not None:
            start = order.start if motion is None or is_initial else motion.start
            here = self.posture
            return "" if start in (None, here) else wrong_start_text(start, here)
        state = self.states.get((motion.start if motion else None) or "")
        seen = self.seen()
        if motion is None or state is None or seen in (None, state):
            return ""
        return f"it begins in {motion.start}, but the sensors show the robot in {seen}"

    def _believe(self, posture: str | None) -> None:
        """Set the estimate; the observed state may lag behind it."""
        self._posture = posture
        self._seen_before = self.seen()


def wrong_start_text(start: str | None, here: str | None) -> str:
    """Return the error text for a robot outside the start posture."""
    where = f"the robot is now in {here}" if here else "its present posture is unknown"
    return f"it begins in {start}, but {where}"
