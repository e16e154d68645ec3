"""In which stored posture the robot is, as the motions say that were sent to it."""

from collections.abc import Callable, Mapping

from controllers.sync.transmitter.receipt import Receipt


class PostureBelief:
    """Follows the motions that lead from posture to posture.

    A motion that came to its end leaves the robot in its last posture; one that broke
    off on the way leaves it nobody knows where. Who sees the robot in another state
    since then, such as on its back, is right.
    """

    def __init__(
        self,
        posture: str | None,
        states: Mapping[str, str | None] | None = None,
        seen: Callable[[], str | None] | None = None,
    ) -> None:
        """Begin in a posture.

        Args:
            posture: None: unknown.
            states: posture to the state that a robot in it is in; None: none known.
            seen: returns the state in which the robot is seen, None while it is in none
                or on its way; None: nobody looks.
        """
        self._states = states or {}
        self.seen = seen or (lambda: None)
        """Returns the state in which the robot is seen; None: in none, on its way."""
        self._moves: list[tuple[Receipt, str | None]] = []
        self._posture = posture
        self._seen_before = self.seen()

    def follow(self, receipt: Receipt, end: str | None) -> None:
        """Follow a motion that ends in a posture; None: in no stored one."""
        self._moves.append((receipt, end))

    def tell(self, posture: str | None) -> None:
        """Take what somebody knows; motions under way still count when they end."""
        self.update()
        self._believe(posture)

    @property
    def posture(self) -> str | None:
        """Where the robot is; None: unknown, or on its way."""
        self.update()
        on_its_way = any(r.started_tick is not None for r, _ in self._moves)
        return None if on_its_way else self._posture

    def update(self) -> None:
        """Take note of motions that have ended, and of what is seen."""
        for move in [move for move in self._moves if move[0].is_over]:
            receipt, end = move
            if receipt.is_done:
                self._believe(end)
            elif receipt.started_tick is not None:
                self._believe(None)
            self._moves.remove(move)
        if self._posture is None:
            return
        seen, state = self.seen(), self._states.get(self._posture)
        if seen is None or seen == self._seen_before:
            return
        if state is not None and seen != state:
            self._posture = None
        self._seen_before = seen

    def _believe(self, posture: str | None) -> None:
        """Believe in a posture; the state in which it is seen may lag behind."""
        self._posture = posture
        self._seen_before = self.seen()
