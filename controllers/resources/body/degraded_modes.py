"""Degraded modes: many joints at once with less effort, still usable (RM-46).

`energySaving` is one: while the battery is low the arms keep a fifth of their torque.
A mode is a virtual owner that occupies in part; whoever holds a joint keeps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from controllers.resources.body.virtual_owner import Occupation, VirtualOwner, strictest
from controllers.resources.ledger import Ledger
from models import BadInput, UnknownName
from models.real_numbers import is_fraction, short


@dataclass(frozen=True, kw_only=True)
class DegradedMode:
    """What is left of the body in a mode."""

    name: str
    """Of its virtual owner; it says the cause."""
    caps: Mapping[str, float]
    """Resource, leaf or composite, to the largest stiffness below it, in [0, 1]; where
    two meet the smaller one counts."""

    def __post_init__(self) -> None:
        """Refuse what is no stiffness.

        Raises:
            BadInput: nothing is capped, or a cap is outside [0, 1].
        """
        if not self.caps:
            raise BadInput(f"mode {self.name!r} caps nothing; name a resource.")
        for resource, cap in self.caps.items():
            if not is_fraction(cap):
                raise BadInput(
                    f"mode {self.name!r} caps {resource!r} at {short(cap)}; give a "
                    "stiffness from 0 to 1."
                )


ENERGY_SAVING = DegradedMode(
    name="energySaving", caps={"Head": 0.7, "Arms": 0.2, "Legs": 0.75}
)
"""What a football team gives the NAOs that it lets stand and walk: arms 0.1 to 0.2,
head 0.7, legs 0.75 [bhuman]."""


class DegradedModes:
    """Enters and leaves modes; several may be in force, the least cap counts."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with none in force."""
        self._ledger = ledger
        self._owners: dict[str, VirtualOwner] = {}

    @property
    def in_force(self) -> tuple[str, ...]:
        """Names of the modes, in the order of being entered."""
        return tuple(self._owners)

    def enter(self, mode: DegradedMode, tick: int) -> None:
        """Put a mode in force; one of the same name changes.

        Raises:
            UnknownName: it caps a resource that is not known; nothing changes.
            BadInput: a real owner has its name, or the tick is over; nothing changes.
        """
        by_leaf: dict[str, list[Occupation]] = {}
        for resource, cap in mode.caps.items():
            occupation = Occupation(effort_cap=cap, is_total=False)
            for leaf in self._ledger.tree.leaves(resource):
                by_leaf.setdefault(leaf, []).append(occupation)
        wanted = {leaf: strictest(all_of) for leaf, all_of in by_leaf.items()}
        known = self._owners.get(mode.name)
        owner = known or VirtualOwner(self._ledger, mode.name)
        owner.occupy(wanted, tick)
        self._owners[mode.name] = owner

    def leave(self, name: str, tick: int) -> None:
        """End a mode.

        Raises:
            UnknownName: it is not in force.
            BadInput: the tick is over; nothing changes.
        """
        if name not in self._owners:
            raise UnknownName("Mode", name, self._owners, "the modes in force")
        self._owners[name].occupy({}, tick)
        del self._owners[name]
