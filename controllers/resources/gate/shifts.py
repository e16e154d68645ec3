"""Shifts of the set-points, by who holds the stiffness.

They are no commands: what behaviours commanded stays in force, and goes out with the
shift on top.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from controllers.resources.gate.outputs import Outputs
from controllers.resources.gate.slot import Line
from controllers.resources.ledger import Ledger
from controllers.resources.tokens import Token

FloatArray = NDArray[np.float64]


class Shifts:
    """The shifts of one device slot; `take` them, then `put`."""

    __slots__ = ("_authorise", "_limited", "_lines", "_outputs", "_waiting")

    def __init__(
        self,
        ledger: Ledger,
        outputs: Outputs,
        lines: Sequence[Line],
        limited: Sequence[NDArray[np.intp]],
    ) -> None:
        """Begin with none.

        Args:
            ledger: says whose stiffness it is.
            outputs: of the gate.
            lines: of all stiffness leaves.
            limited: (n,) the joints of each.
        """
        self._authorise = ledger.authorise
        self._outputs = outputs
        self._lines = lines
        self._limited = limited
        self._waiting: list[tuple[Token | None, FloatArray]] = []

    def take(self, token: Token | None, shift: FloatArray) -> None:
        """Keep a shift (n_joints,) in rad, ours now, until the slot goes out."""
        self._waiting.append((token, shift))

    def put(self) -> None:
        """Put the shift of joints whose stiffness its token covers now."""
        if not self._waiting:
            return
        shift = self._outputs.shift.copy()
        for token, wanted in self._waiting:
            for line, joints in zip(self._lines, self._limited, strict=True):
                if self._authorise(token, line.name) is None:
                    shift[joints] = wanted[joints]
        self._waiting.clear()
        self._outputs.move_shift(shift)
