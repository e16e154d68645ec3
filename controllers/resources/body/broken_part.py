"""`brokenArm`: a broken part is occupied so that no behaviour uses it (RM-44, RM-45).

A fault is found by a self-test, a person, or injected by an experiment; here it is
told, with the parts that it is about, and told again when it is repaired. Faults may
overlap: the left arm, and one joint of it. A leaf is as broken as its worst fault, and
free again when its last one is repaired.
"""

from collections.abc import Iterable

from controllers.resources.body.virtual_owner import (
    BROKEN_ARM,
    Occupation,
    VirtualOwner,
    strictest,
)
from controllers.resources.ledger import Ledger
from models import BadInput, UnknownName

BROKEN = Occupation(effort_cap=0.0, is_total=True)
"""Limp: a drive that failed may do harm with any effort."""


class BrokenPart:
    """Occupies the parts of one or more faults."""

    def __init__(self, ledger: Ledger, name: str = BROKEN_ARM) -> None:
        """Take every part as whole.

        Args:
            ledger: gets the parts occupied.
            name: of the virtual owner, as the document calls it.
        """
        self._ledger = ledger
        self._owner = VirtualOwner(ledger, name)
        self._faults: dict[str, Occupation] = {}

    @property
    def faults(self) -> tuple[str, ...]:
        """The parts that are told to be broken, in the order of their injection."""
        return tuple(self._faults)

    @property
    def broken(self) -> tuple[str, ...]:
        """The leaves that it occupies, sorted."""
        return tuple(sorted(self._owner.occupied))

    def inject(
        self, parts: Iterable[str], tick: int, occupation: Occupation = BROKEN
    ) -> None:
        """Note that parts are broken; told again, a part is broken in the new way.

        Args:
            parts: resources, such as `LElbowRoll` or `Left arm`.
            tick: now.
            occupation: limp and nobody's, or usable with less effort.

        Raises:
            UnknownName: there is no such resource; nothing changes.
            BadInput: no part is named, or the tick is over; nothing changes.
        """
        names = tuple(parts)
        if not names:
            raise BadInput("A fault names no part; name at least one resource.")
        for name in names:
            self._ledger.tree.leaves(name)
        self._follow(self._faults | dict.fromkeys(names, occupation), tick)

    def repair(self, parts: Iterable[str], tick: int) -> None:
        """Note that faults are repaired, by the names under which they were told.

        Raises:
            UnknownName: no such fault was told; nothing changes.
            BadInput: the tick is over; nothing changes.
        """
        names = tuple(parts)
        for name in names:
            if name not in self._faults:
                raise UnknownName("Fault", name, self._faults, "the list of faults")
        kept = {part: o for part, o in self._faults.items() if part not in names}
        self._follow(kept, tick)

    def _follow(self, faults: dict[str, Occupation], tick: int) -> None:
        """Occupy what faults are about; then these are the faults."""
        by_leaf: dict[str, list[Occupation]] = {}
        for part, occupation in faults.items():
            for leaf in self._ledger.tree.leaves(part):
                by_leaf.setdefault(leaf, []).append(occupation)
        wanted = {leaf: strictest(all_of) for leaf, all_of in by_leaf.items()}
        self._owner.occupy(wanted, tick)
        self._faults = faults
