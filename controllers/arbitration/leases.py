"""Leases: reservations for the duration of a `with` block.

A lease waits for the grant, renews its owner, has the valid token before and after
pauses, and gives the reason for a loss. Fronts, robots and the client of a server have
the same `lease` method (`Leasing`).
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from nao_testbed.controllers.arbitration.policies import ConflictPolicy
from nao_testbed.controllers.arbitration.requests import (
    NO_RATES,
    End,
    NotGranted,
    Present,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import Outcome, Token
from nao_testbed.models import BadInput, TestbedError


class Lessor(Protocol):
    """Interface to a ledger for leases, in this process or at a server."""

    def ask(self, request: Request) -> Ticket:
        """Send a request without waiting; an unknown owner is registered."""

    def outcome(self, ticket: Ticket) -> Outcome | None:
        """Return the outcome of a request; None while the request waits."""

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request has ended; renew its owner while waiting."""

    def present(self, owner: str, token: Token, newest: Token) -> Present:
        """Return the present state of a reservation, and renew its owner.

        Args:
            owner: owner of the token.
            token: first token of the reservation; valid as a key while any later one is
                known.
            newest: last returned token.
        """

    def end(self, ticket: Ticket, token: Token | None) -> None:
        """Release the grant of a request, or withdraw the request.

        Args:
            ticket: ticket of the request.
            token: first token; None: the request waits, or its outcome was not read.
        """


class LeaseLost(TestbedError):
    """A lease has no valid token now; `end` has the reason, None while it waits."""

    def __init__(self, request: Request, end: End | None) -> None:
        self.request = request
        self.end = end
        names = ", ".join((*request.resources, *request.rates, *request.optional))
        why = "it waits for them" if end is None else str(end)
        super().__init__(
            f"{request.owner!r} does not hold {names}: {why}. Command nothing until "
            "`token` of the lease is not None; if `lost` is set, begin a new one."
        )


class Lease(AbstractContextManager["Lease"]):
    """Resources of one owner for the duration of a block.

        with robot.lease("Head", owner="look around", wait_s=2.0) as lease:
            gate.submit(lease.token, "HeadYaw", 0.3)

    Entering the block waits for the grant, and leaving it releases. Read `token` before
    each command: after a pause it is another token, and with None no command is
    allowed. Each read renews an owner with a time to live; a `Client` renews by itself.

    A behaviour that is called once per slot cannot wait: it calls `begin` once, reads
    `token` in each slot, and calls `close` at its end. A closed lease can be entered or
    begun again.
    """

    def __init__(self, lessor: Lessor, request: Request) -> None:
        """Create a lease that has not begun.

        Args:
            lessor: interface of the ledger.
            request: resources; its time limit is the limit of the wait.
        """
        self.request = request
        self.outcome: Outcome | None = None
        """Outcome of the request: obtained and missing resources."""
        self._lessor = lessor
        self._ticket: Ticket | None = None
        """Ticket with which the lease waits for the grant or for resumption."""
        self._token: Token | None = None
        """First granted token, before any pause."""
        self._newest: Token | None = None
        self._end: End | None = None
        self._asked: Ticket | None = None
        """Ticket of its request, from `begin` to `close`."""

    def __enter__(self) -> "Lease":
        """Request the resources, and wait for the grant.

        Raises:
            NotGranted: the time limit is reached, or waiting would never end.
            BadInput: the lease has begun, or the call is inside a slot, in which no
                time passes.
        """
        self.begin()
        try:
            if not self.wait() and self.outcome is not None and not self._token:
                raise NotGranted(self.request, self.outcome)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> None:
        """Send the request without waiting.

        Raises:
            BadInput: the lease has begun, or the request is invalid.
        """
        if self._asked is not None:
            raise BadInput(
                f"this lease of {self.request.owner!r} has already begun; close it "
                "first, or create another one."
            )
        self._asked = self._ticket = self._lessor.ask(self.request)
        self._token = self._end = self.outcome = None

    def close(self) -> None:
        """Release the resources and withdraw the request; no effect if closed."""
        asked, token = self._asked, self._token
        self._asked = self._ticket = self._token = None
        if asked is not None:
            self._lessor.end(asked, token)

    @property
    def token(self) -> Token | None:
        """Valid token; None while the lease waits or is paused, and after a loss."""
        if self._token is None and self._ticket is not None:
            self.outcome = self._lessor.outcome(self._ticket)
            if self.outcome is None:
                return None
            self._ticket = None
            self._token = self._newest = self.outcome.token
        token, newest = self._token, self._newest
        if token is None or newest is None or self._end is not None:
            return None
        now = self._lessor.present(self.request.owner, token, newest)
        self._ticket, self._end = now.ticket, now.end
        self._newest = now.token or newest
        return now.token

    @property
    def is_held(self) -> bool:
        """True if the owner may command now."""
        return self.token is not None

    @property
    def is_waiting(self) -> bool:
        """True if the lease waits for the grant, or is paused."""
        return self.token is None and self._ticket is not None

    @property
    def lost(self) -> End | None:
        """Reason of a loss before `close`; None without a loss."""
        return self._end if self.token is None else None

    def check(self) -> Token:
        """Return the valid token.

        Raises:
            LeaseLost: the lease has no valid token now.
        """
        token = self.token
        if token is None:
            raise LeaseLost(self.request, self._end)
        return token

    def wait(self) -> bool:
        """Wait for the grant or for resumption; return True if the lease is held then.

        The first wait ends with `wait_s`, a pause with the limit of its policy.
        """
        while self.is_waiting and self._ticket is not None:
            self._lessor.wait(self._ticket)
        return self.is_held


class Leasing:
    """Base of classes with a `lease` method."""

    def lease(
        self,
        *names: str,
        owner: str | None = None,
        wait_s: float = 0.0,
        optional: tuple[str, ...] = (),
        rates: Mapping[str, float] = NO_RATES,
        priority: int | None = None,
        policy: ConflictPolicy | str | None = None,
    ) -> Lease:
        """Return a lease of resources, for a `with` block.

        Args:
            names: leaves and composites, all or nothing.
            owner: owner of the lease; an unknown name is registered with the defaults
                of `Owner`. None for a `Client`, which is itself an owner.
            wait_s: longest wait for the grant in s; 0 tries once. It is ledger time:
                simulated time for a simulated robot, clock time for threads and a
                server.
            optional: resources taken only if they are free at the grant.
            rates: cumulative resource to rate in percent.
            priority: priority from 0 to 9; None: the owner's.
            policy: conflict policy, or its name: lock, stop, pause; None: the owner's.

        Raises:
            BadInput: the request is invalid, or the owner is missing.
            UnknownName: the policy does not exist.
        """
        owner, lessor = self._lessor(owner)
        request = Request(
            owner=owner,
            resources=names,
            optional=optional,
            rates=rates,
            priority=priority,
            timeout_s=wait_s,
            policy=policy,  # type: ignore[arg-type]  # its word is taken as well
        )
        return Lease(lessor, request)

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        """Return the owner of a lease, and its interface to the ledger."""
        raise NotImplementedError
