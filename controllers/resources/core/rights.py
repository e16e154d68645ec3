"""What the holder of a motor lets others do with it: shift its set-point, limit it.

A motor is one leaf in the document; here its torque limit is a leaf of its own, so that
one controller may limit a whole body whose motors many move. So who holds a motor holds
its limit too: nobody else is granted the limit without the motor, and a limit commanded
by somebody else passes only by the holder's consent. That is said (`allow`), or taken
for granted of who is entrusted, such as the stiffness controller. It ends with the
hold, as it stands in the holder's record.
"""

from collections.abc import Iterable

from controllers.resources.core.book import Book
from controllers.resources.core.leaf import Leaf, names_of
from controllers.resources.core.records import OwnerRecord, Reservation, Shares
from controllers.resources.request import FULL
from controllers.resources.trace import Allowed, Entrusted, Notified
from controllers.resources.words import NoticeKind, Right
from models import BadInput


class Rights:
    """Notes consent, and tells holders who limits what they hold."""

    def __init__(self, book: Book) -> None:
        """Work on a book."""
        self._book = book

    def entrust(self, owner: OwnerRecord, *, is_entrusted: bool) -> None:
        """Let an owner shift and limit what no holder forbids, or end that."""
        owner.is_entrusted = is_entrusted
        for waiting in owner.waiting.values():
            for leaf in waiting.shares:
                if leaf.limits:
                    self._book.touch(leaf)
        if self._book.listeners:
            self._book.emit(
                Entrusted(
                    tick=self._book.tick, owner=owner.name, is_entrusted=is_entrusted
                )
            )

    def allow(
        self, holder: Reservation, owner: OwnerRecord, right: Right, *, is_allowed: bool
    ) -> None:
        """Let an owner use a right on the motors of a token, or forbid it.

        Raises:
            BadInput: the token covers no motor.
        """
        if not any(leaf.is_motor for leaf in holder.shares):
            raise BadInput(
                f"token {holder.token.id} of {holder.owner.name!r} covers no motor: "
                f"there is nothing to {right}."
            )
        holder.allows = {**(holder.allows or {}), (owner, right): is_allowed}
        for motor in holder.shares:
            self._book.touch_limits(motor)
        if self._book.listeners:
            self._book.emit(
                Allowed(
                    tick=self._book.tick,
                    token=holder.token.id,
                    owner=owner.name,
                    right=right,
                    is_allowed=is_allowed,
                )
            )

    def tell_seated(self, seated: Reservation, leaves: Iterable[Leaf]) -> None:
        """Tell who is seated who limits that, and others that it limits theirs."""
        limited: dict[tuple[Reservation, str], list[Leaf]] = {}
        for leaf in leaves:
            for by, freeze in leaf.freezes.items():
                if freeze.effort_cap is not None and (leaf.is_motor or leaf.limits):
                    limited.setdefault((seated, by), []).append(leaf)
            for limit in leaf.limited:
                for other in limit.seated()[:1]:
                    if _limits_other(other, leaf):
                        limited.setdefault((seated, other.owner.name), []).append(leaf)
            for motor in leaf.limits:
                for other in motor.seated()[:1]:
                    if _limits_other(seated, motor):
                        limited.setdefault((other, seated.owner.name), []).append(motor)
        for (holder, by), theirs in limited.items():
            self._tell(holder, NoticeKind.LIMITED, theirs, by)

    def tell_capped(self, leaves: Iterable[Leaf], by: str, kind: NoticeKind) -> None:
        """Tell holders that a virtual owner limits what they hold, or no more."""
        limited: dict[Reservation, list[Leaf]] = {}
        for leaf in leaves:
            for holder in leaf.seated()[:1] if leaf.is_motor or leaf.limits else ():
                limited.setdefault(holder, []).append(leaf)
        for holder, theirs in limited.items():
            self._tell(holder, kind, theirs, by)

    def _tell(
        self, holder: Reservation, kind: NoticeKind, leaves: Iterable[Leaf], by: str
    ) -> None:
        self._book.emit(
            Notified(
                tick=self._book.tick,
                owner=holder.owner.name,
                kind=kind,
                token=holder.token.id,
                leaves=names_of(leaves),
                by=by,
            )
        )


def may_limit(limit: Leaf, by: Reservation) -> bool:
    """Whether a token that covers a limit may set it: no holder of a motor minds."""
    return all(_consents(motor, by.owner, Right.LIMIT) for motor in limit.limits)


def is_opposed(limit: Leaf, shares: Iterable[Leaf], owner: OwnerRecord) -> bool:
    """Whether a limit is not to be granted now, with what else is asked for.

    A request takes with it the motors whose holders do not consent when it comes; who
    is seated on the others since, or consents no more, may still be in its way.
    """
    return any(
        motor not in shares and not _consents(motor, owner, Right.LIMIT)
        for motor in limit.limits
    )


def may_shift(motor: Leaf, by: Reservation) -> bool:
    """Whether a token may shift a motor that it does not cover."""
    holder = _user(motor)
    said = None if holder is None else holder.allows
    if said is not None and said.get((by.owner, Right.SHIFT)):
        return True
    limits = motor.limited
    has_limit = not limits or any(
        limit in by.shares and not limit.is_lent(by) for limit in limits
    )
    return has_limit and _consents(motor, by.owner, Right.SHIFT)


def motors_besides(shares: Iterable[Leaf], owner: OwnerRecord) -> Shares:
    """Return the motors that an owner has to take with the limits that it wants.

    Those are not among them that it holds, or may limit by their holders' consent, or
    that a virtual owner has.
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
        and not (motor.seated() and _consents(motor, owner, Right.LIMIT))
    }


def _consents(motor: Leaf, owner: OwnerRecord, right: Right) -> bool:
    """Whether the holder of a motor, if there is one, lets an owner use a right."""
    holder = _user(motor)
    if holder is None:
        return right is Right.LIMIT or owner.is_entrusted
    if holder.allows is not None:
        said = holder.allows.get((owner, right))
        if said is not None:
            return said
    is_own = right is Right.LIMIT and _are_kin(holder.owner, owner)
    return is_own or owner.is_entrusted


def _limits_other(by: Reservation, motor: Leaf) -> bool:
    """Whether who holds a limit may set that of somebody else's motor."""
    holder = _user(motor)
    return (
        holder is not None
        and not _are_kin(holder.owner, by.owner)
        and _consents(motor, by.owner, Right.LIMIT)
    )


def _user(motor: Leaf) -> Reservation | None:
    seated = motor.seated()
    return seated[0] if seated else None


def _are_kin(one: OwnerRecord, other: OwnerRecord) -> bool:
    return one in other.line or other in one.line
