"""A virtual owner: a cause that occupies parts of the body and never runs (RM-40).

Its name says the cause: `RobotModel`, `hotEngine`, `brokenArm`, `energySaving`. What
it occupies whole nobody else is granted; what it occupies in part stays usable with
the effort capped (RM-46).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controllers.resources.ledger import Ledger
from models import BadInput
from models.real_numbers import is_fraction, short

ROBOT_MODEL, HOT_ENGINE, BROKEN_ARM = "RobotModel", "hotEngine", "brokenArm"
"""The virtual owners of the document (RM-41, RM-43, RM-44)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occupation:
    """How a virtual owner occupies a leaf."""

    effort_cap: float | None
    """Largest stiffness of its joints, in [0, 1]; None does not cap."""
    is_total: bool
    """Whether nobody else may use it."""

    def __post_init__(self) -> None:
        """Refuse a cap that is no stiffness.

        Raises:
            BadInput: it is outside [0, 1].
        """
        cap = self.effort_cap
        if cap is not None and not is_fraction(cap):
            raise BadInput(f"effort cap is {short(cap)}; give a stiffness from 0 to 1.")


class VirtualOwner:
    """Keeps the ledger in step with what a cause occupies."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        """Occupy nothing yet.

        Args:
            ledger: where real owners learn of it.
            name: says the cause; no real owner has it from now on.

        Raises:
            BadInput: a real owner has it.
        """
        ledger.add_virtual_owner(name, ledger.tick)
        self.name = name
        self._ledger = ledger
        self._occupied: dict[str, Occupation] = {}

    @property
    def occupied(self) -> Mapping[str, Occupation]:
        """What it occupies, by leaf: what the ledger took (a read-only view)."""
        return MappingProxyType(self._occupied)

    def occupy(self, wanted: Mapping[str, Occupation], tick: int) -> None:
        """Occupy exactly these leaves from now on (RM-45).

        New occupations come before those that end: no part is free in between. Nothing
        is told to the ledger where nothing changes. What it refused is told again at
        the next call.

        Args:
            wanted: leaf to the way of occupying it.
            tick: now.

        Raises:
            UnknownName: there is no such leaf; nothing changes.
            BadInput: the tick is over; nothing changes.
        """
        for leaf in wanted:
            self._ledger.effort_cap(leaf)  # is it a leaf at all?
        fresh: dict[Occupation, list[str]] = {}
        for leaf, occupation in wanted.items():
            if self._occupied.get(leaf) != occupation:
                fresh.setdefault(occupation, []).append(leaf)
        for how, leaves in fresh.items():
            self._ledger.freeze(
                leaves,
                self.name,
                tick,
                effort_cap=how.effort_cap,
                is_total=how.is_total,
            )
            self._occupied |= dict.fromkeys(leaves, how)
        ended = [leaf for leaf in self._occupied if leaf not in wanted]
        if ended:
            self._ledger.thaw(self.name, tick, ended)
        for leaf in ended:
            del self._occupied[leaf]


def strictest(occupations: Iterable[Occupation]) -> Occupation:
    """Return one occupation that is as strict as all of one or more together."""
    every = tuple(occupations)
    caps = [o.effort_cap for o in every if o.effort_cap is not None]
    return Occupation(
        effort_cap=min(caps, default=None), is_total=any(o.is_total for o in every)
    )
