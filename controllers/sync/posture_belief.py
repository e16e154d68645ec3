"""In which stored posture the robot is, as the motions say that were sent to it."""

from controllers.sync.receipt import Receipt


class PostureBelief:
    """Follows the motions that lead from posture to posture.

    A motion that came to its end leaves the robot in its last posture; one that broke
    off on the way leaves it nobody knows where.
    """

    def __init__(self, posture: str | None) -> None:
        """Begin in a posture; None: unknown."""
        self._posture = posture
        self._moves: list[tuple[Receipt, str | None]] = []

    def follow(self, receipt: Receipt, end: str | None) -> None:
        """Follow a motion that ends in a posture; None: in no stored one."""
        self._moves.append((receipt, end))

    def tell(self, posture: str | None) -> None:
        """Take what somebody saw; motions under way still count when they end."""
        self._update()
        self._posture = posture

    @property
    def posture(self) -> str | None:
        """Where the robot is; None: unknown, or on its way."""
        self._update()
        on_its_way = any(r.started_tick is not None for r, _ in self._moves)
        return None if on_its_way else self._posture

    def _update(self) -> None:
        over = [move for move in self._moves if move[0].is_over]
        for move in over:
            receipt, end = move
            if receipt.is_done:
                self._posture = end
            elif receipt.started_tick is not None:
                self._posture = None
            self._moves.remove(move)
