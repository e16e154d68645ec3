"""Calls about commands: which token may act on what, and what its holder allows others.

A gate asks before it writes; who may limit or shift a motor that somebody else holds is
said in `state.consent`.
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
    """Calls of gates, and of those who say what they let through."""

    _commands = 0

    # -- what a token may do ----------------------------------------------------------

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Answer the gate: may a command with this token act on a leaf?

        Args:
            token: as the command carries it.
            leaf: name of a leaf of the tree.

        Returns:
            None if it may, else why not.
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
            return Refusal.NOT_COVERED  # a descendant has it meanwhile
        is_free = type(resource) is not TorqueLimit or resource.may_be_set(
            reservation, self._calls.made
        )
        return None if is_free else Refusal.NOT_COVERED

    def authorise_shift(self, token: Token | None, motor: str) -> Refusal | None:
        """Answer the gate: may this token shift the set-point of a motor?

        It may if it covers the motor, or its holder allowed it (`allow_shift`). Of who
        is entrusted the token has to cover the motor's torque limit; the holder may
        have forbidden it.

        Args:
            token: as the shift carries it.
            motor: name of a leaf of the tree.

        Returns:
            None if it may, else why not.
        """
        reason = self.authorise(token, motor)
        if reason is not Refusal.NOT_COVERED or token is None:
            return reason
        by, resource = self.holdings.live(token), self.resources.leaf(motor)
        return None if may_shift(by, resource) else reason

    def left_out(self, token: Token, limit: str) -> tuple[str, ...]:
        """Return the motors whose torque limit a valid token leaves as it is.

        A virtual owner has them: they are nobody's to limit, but of who is entrusted.
        """
        motors = self.resources.leaf(limit).limits
        frozen = tuple([motor.name for motor in motors if motor.is_frozen])
        if not frozen or self.holdings.live(token).owner.is_entrusted:
            return ()
        return frozen

    def covers(self, token: Token, leaf: str) -> bool:
        """Return True if a live token covers a leaf, may its holder use it or not."""
        resource, found = self.resources.leaf(leaf), self.holdings.find(token)
        return not isinstance(found, Refusal) and resource in found.shares

    def effort_cap(self, leaf: str) -> float:
        """Return the largest stiffness that virtual owners allow, in [0, 1]."""
        return self.resources.leaf(leaf).effort_cap()

    # -- what holders allow -----------------------------------------------------------

    def allow_shift(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Let an owner shift the motors of a token, or forbid it, while it holds them.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.SHIFT, tick, is_allowed)

    def allow_limit(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Let an owner limit the torque of a token's motors, or forbid it.

        What is limited then, and by whom, the trace says; nothing is told to the
        holder, whose own wish it is.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.LIMIT, tick, is_allowed)

    # -- what happens at a gate -------------------------------------------------------

    def next_command(self) -> int:
        """Return the number of a command that came to a gate."""
        self._commands += 1
        return self._commands

    def quiet(self) -> AbstractContextManager[None]:
        """Return what surrounds blocks in which no listener is told, then all are.

        For moves that are none of the ledger's own, such as a gate's: what a listener
        calls in answer finds them made whole.
        """
        return self._trace

    # -- inside -----------------------------------------------------------------------

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
