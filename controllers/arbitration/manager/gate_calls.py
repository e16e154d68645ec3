"""Calls about commands: authorisation by tokens, and permissions of holders.

A gate calls them before it writes. `state.consent` defines which owners may limit or
shift a motor that another owner holds.
"""

from contextlib import AbstractContextManager

from nao_testbed.controllers.arbitration.events import Allowed
from nao_testbed.controllers.arbitration.manager.owner_calls import OwnerCalls
from nao_testbed.controllers.arbitration.manager.state.consent import (
    TorqueLimit,
    may_shift,
)
from nao_testbed.controllers.arbitration.tokens import Refusal, Right, Token
from nao_testbed.models import BadInput


class GateCalls(OwnerCalls):
    """Calls of gates, and permissions that they apply."""

    _commands = 0

    # -- rights of a token -------------------------------------------------------------

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Check whether a command with a token may act on a leaf.

        Args:
            token: token of the command.
            leaf: name of a leaf of the tree.

        Returns:
            None if it may, otherwise the refusal.
        """
        resource = self.resources.leaf(leaf)
        if token is None:
            return Refusal.NO_TOKEN
        reservation = self.holdings.find(token)
        if isinstance(reservation, Refusal):
            return reservation
        if resource.is_frozen:
            return Refusal.FROZEN
        if resource not in reservation.shares:
            return Refusal.NOT_COVERED
        if reservation.owner.children and resource.is_lent(reservation):
            return Refusal.NOT_COVERED  # a descendant holds it now
        is_free = type(resource) is not TorqueLimit or resource.may_be_set(
            reservation, self._calls.made
        )
        return None if is_free else Refusal.NOT_COVERED

    def authorise_shift(self, token: Token | None, motor: str) -> Refusal | None:
        """Check whether a token may shift the set-point of a motor.

        The token may if it covers the motor, or the holder permits it (`allow_shift`).
        So may a token of an entrusted owner that covers the motor's torque limit,
        unless the holder forbids it.

        Args:
            token: token of the shift.
            motor: name of a leaf of the tree.

        Returns:
            None if it may, otherwise the refusal.
        """
        reason = self.authorise(token, motor)
        if reason is not Refusal.NOT_COVERED or token is None:
            return reason
        by, resource = self.holdings.live(token), self.resources.leaf(motor)
        return None if may_shift(by, resource) else reason

    def left_out(self, token: Token, limit: str) -> tuple[str, ...]:
        """Return the motors whose torque limit a valid token cannot change.

        A virtual owner holds them; only entrusted owners may limit them.
        """
        motors = self.resources.leaf(limit).limits
        frozen = tuple([motor.name for motor in motors if motor.is_frozen])
        if not frozen or self.holdings.live(token).owner.is_entrusted:
            return ()
        return frozen

    def covers(self, token: Token, leaf: str) -> bool:
        """Return True if a live token covers a leaf, even if a descendant uses it."""
        resource, found = self.resources.leaf(leaf), self.holdings.find(token)
        return not isinstance(found, Refusal) and resource in found.shares

    def effort_cap(self, leaf: str) -> float:
        """Return the largest stiffness that virtual owners allow, in [0, 1]."""
        return self.resources.leaf(leaf).effort_cap()

    # -- permissions of holders --------------------------------------------------------

    def allow_shift(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Permit or forbid an owner to shift the motors of a token during its hold.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.SHIFT, tick, is_allowed)

    def allow_limit(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Permit or forbid an owner to limit the torque of a token's motors.

        The trace shows the resulting limits; the holder is not notified.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.LIMIT, tick, is_allowed)

    # -- calls of gates ----------------------------------------------------------------

    def next_command(self) -> int:
        """Return the number for the next command at a gate."""
        self._commands += 1
        return self._commands

    def quiet(self) -> AbstractContextManager[None]:
        """Return a context that delivers events only at its end.

        Used for changes outside the ledger, such as a gate's, so that listeners find
        them complete.
        """
        return self._trace

    # -- internals ---------------------------------------------------------------------

    def _allow(
        self, token: Token, owner: str, right: Right, tick: int, is_allowed: bool
    ) -> None:
        with self._calls.at(tick):
            holder, other = self.holdings.live(token), self.holdings.owner(owner)
            if not any(leaf.is_motor for leaf in holder.shares):
                raise BadInput(
                    f"token {holder.token.id} of {holder.owner.name!r} covers no "
                    f"motor: there is nothing to {right}."
                )
            holder.allows = {**(holder.allows or {}), (other, right): is_allowed}
            for motor in holder.shares:
                self._queue.touch_limits(motor)
            self._trace.emit(
                Allowed(
                    tick=self._timers.now,
                    token=holder.token.id,
                    owner=other.name,
                    right=right,
                    is_allowed=is_allowed,
                )
            )
            self._renew(holder.owner)
