"""A stream: what one output command puts out, one item in each slot.

The converters make streams, the transmitter plays them [CN1396856, fig. 18]. Items of
one number in the streams of a group belong to one instant (SY-12). A slot takes 10 ms;
item k leaves in the slot of the start plus k.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from controllers.arbitration.gate.writers import Value
from controllers.arbitration.tokens import Token
from models import TestbedError
from models.library import Unit

SLOT_S = 0.01
"""A device slot, one tick of the ledger, in s."""

Present = Mapping[str, float]
"""Leaf of a motor to its set-point in force, in rad (`Gate.present`)."""

Item = Mapping[str, Value]
"""Leaf to what it is commanded in one slot; empty where nothing changes."""

NO_PARTS: Mapping[int, str] = MappingProxyType({})
"""Of a stream that is one whole."""


class CannotBegin(TestbedError):
    """A stream cannot begin from the present state of the robot; nothing was sent."""

    def __init__(self, label: str, reason: str) -> None:
        """Say which stream, and why."""
        self.label = label
        self.reason = reason
        super().__init__(f"{label!r} cannot begin: {reason}")


class Stream(Protocol):
    """What one output command puts out. It is played once."""

    @property
    def unit(self) -> Unit:
        """The kind of effector, which gives its place within an instant."""

    @property
    def label(self) -> str:
        """Name for people: that of the motion, light pattern or sound."""

    @property
    def token(self) -> Token:
        """Proof of a reservation that covers all its leaves."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """Every leaf that its items may command, sorted."""

    @property
    def parts(self) -> Mapping[int, str]:
        """Of a way of several motions: the first item of each, to its name."""

    def begin(self, present: Present) -> int:
        """Prepare all items; the transmitter calls it in the slot of the start.

        Args:
            present: set-points from which the motors start.

        Returns:
            The number of items, at least 1.

        Raises:
            CannotBegin: it cannot start from there.
        """

    def item(self, k: int) -> Item:
        """Return what goes out at instant `k`, from 0; after `begin`.

        The mapping is read-only and good until the next call.
        """

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Return items that lead from `present` to where item `k` can follow.

        The transmitter plays them when an interrupt is over, before item `k`. Empty
        where item `k` can follow at once, as for lights and sounds always.
        """
