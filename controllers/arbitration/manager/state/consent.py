"""Consent of holders to torque limits by other owners.

A motor is one leaf in ES2535273; here its torque limit is a separate leaf, so that one
controller can limit a whole body whose motors have several holders. The holder of a
motor also controls its torque limit: another owner gets the limit only together with
the motor, or commands it with the holder's consent. An owner has that consent if

- the holder permits it by `Ledger.allow_limit`, which takes precedence either way;
- it is the holder, an ancestor or a descendant of the holder;
- it is entrusted by `Ledger.entrust`, as the stiffness controller is.

The consent is stored with the holder's reservation and ends with it. A motor without a
holder may be limited. Shifting a set-point needs the same consent, except that kinship
does not count and that only an entrusted owner may shift a motor without a holder.
"""

from collections.abc import Iterable
from typing import final

from nao_testbed.controllers.arbitration.manager.state.leaves import ExclusiveLeaf
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    Shares,
)
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import Right


@final
class TorqueLimit(ExclusiveLeaf):
    """Leaf of a torque limit; `limits` are its motors."""

    __slots__ = ("_given",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._given: tuple[int, Reservation | None] = (-1, None)
        """Change count of the ledger at the last positive check, and reservation of the
        token."""

    def may_be_set(self, by: Reservation, changes: int) -> bool:
        """Return True if a token that covers the limit may set it.

        Args:
            by: its reservation.
            changes: change count of the ledger; consent is checked again only after a
                change.
        """
        now = (changes, by)
        if self._given != now and all(
            has_consent(by.owner, motor, Right.LIMIT) for motor in self.limits
        ):
            self._given = now
        return self._given == now

    def is_opposed(self, shares: Iterable[Leaf], owner: OwnerRecord) -> bool:
        """Return True if the limit cannot be granted with the rest of a request.

        A new request includes the motors whose holders do not consent. Later holders,
        or holders that withdraw their consent, can block it.
        """
        return any(
            motor not in shares and not has_consent(owner, motor, Right.LIMIT)
            for motor in self.limits
        )


def has_consent(owner: OwnerRecord, motor: Leaf, right: Right) -> bool:
    """Return True if the holder of a motor consents to a limit or shift by an owner."""
    holder = _user(motor)
    if holder is None:
        return right is Right.LIMIT or owner.is_entrusted
    if holder.allows is not None:
        said = holder.allows.get((owner, right))
        if said is not None:
            return said
    is_own = right is Right.LIMIT and _are_kin(holder.owner, owner)
    return is_own or owner.is_entrusted


def may_shift(by: Reservation, motor: Leaf) -> bool:
    """Return True if a token may shift a motor that it does not cover.

    Unless the holder allowed it, the token must also cover the motor's torque limit.
    """
    holder = _user(motor)
    said = None if holder is None else holder.allows
    if said is not None and said.get((by.owner, Right.SHIFT)):
        return True
    limits = motor.limited
    has_limit = not limits or any(
        limit in by.shares and not limit.is_lent(by) for limit in limits
    )
    return has_limit and has_consent(by.owner, motor, Right.SHIFT)


def other_motors(shares: Iterable[Leaf], owner: OwnerRecord) -> Shares:
    """Return the motors that an owner must take together with the requested limits.

    Excluded are motors that are requested anyway, motors whose holders consent, and
    motors of virtual owners.
    """
    wanted = set(shares)
    if owner.is_entrusted:
        return {}
    return {
        motor: FULL
        for limit in wanted
        for motor in limit.limits
        if motor not in wanted
        and not motor.is_frozen
        and not (motor.seated() and has_consent(owner, motor, Right.LIMIT))
    }


Limited = dict[tuple[Reservation, str], list[Leaf]]
"""Pair of holder and limiting owner to the limited leaves."""


def newly_limited(seated: Reservation, leaves: Iterable[Leaf]) -> Limited:
    """Return the notices of limits after a reservation got leaves.

    The reservation's owner is notified of limits on its leaves, and holders of motors
    that it limits.
    """
    found: Limited = {}
    for leaf in leaves:
        for by, freeze in leaf.freezes.items():
            if freeze.effort_cap is not None and (leaf.is_motor or leaf.limits):
                found.setdefault((seated, by), []).append(leaf)
        for limit in leaf.limited:
            for other in limit.seated()[:1]:
                if _limits_other(other, leaf):
                    found.setdefault((seated, other.owner.name), []).append(leaf)
        for motor in leaf.limits:
            for other in motor.seated()[:1]:
                if _limits_other(seated, motor):
                    found.setdefault((other, seated.owner.name), []).append(motor)
    return found


def _limits_other(by: Reservation, motor: Leaf) -> bool:
    """Return True if the holder of a limit may set it on another owner's motor."""
    holder = _user(motor)
    return (
        holder is not None
        and not _are_kin(holder.owner, by.owner)
        and has_consent(by.owner, motor, Right.LIMIT)
    )


def _user(motor: Leaf) -> Reservation | None:
    seated = motor.seated()
    return seated[0] if seated else None


def _are_kin(one: OwnerRecord, other: OwnerRecord) -> bool:
    return one in other.line or other in one.line
