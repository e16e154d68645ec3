"""Interface of a ledger for waiting callers.

The ledger's calls return at once. While a caller waits, time must advance: a scenario
runs its loop, and on a robot the thread sleeps. `Front` is the common interface;
`LedgerFront` implements it for a loop, without threads or a clock.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from nao_testbed.controllers.arbitration.leases import Leasing, Lessor
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import (
    End,
    Owner,
    Present,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import (
    Outcome,
    Refusal,
    Token,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import short


class Front(Protocol):
    """Interface for callers that wait for a ledger or use it in one step."""

    def add_owner(self, owner: Owner) -> None:
        """Register an owner; its parent must be registered first."""

    def ask(self, request: Request) -> Ticket:
        """Send a request without waiting; inside `step` it is part of that step."""

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request sent through this front has ended."""

    def take(self, request: Request) -> Outcome:
        """Send a request, and wait until it has ended."""

    def step(self) -> AbstractContextManager[tuple[Ledger, int]]:
        """Return a context with the ledger and the present tick: an atomic block."""


class FrontLessor:
    """Ledger interface of leases through a front in this process."""

    def __init__(self, front: "Front") -> None:
        """Create the interface for a front."""
        self._front = front
        self.wait = front.wait

    @classmethod
    def of(cls, owner: str | None, front: "Front") -> tuple[str, Lessor]:
        """Return the owner and the lessor of a lease.

        Raises:
            BadInput: the owner is missing.
        """
        if owner is None:
            raise BadInput(
                "a lease has no owner; say who commands, such as owner='look around'."
            )
        return owner, cls(front)

    def ask(self, request: Request) -> Ticket:
        """Send a request without waiting; an unknown owner is registered."""
        with self._front.step() as (ledger, _):
            if not ledger.knows(request.owner):
                self._front.add_owner(Owner(name=request.owner))
            return self._front.ask(request)

    def outcome(self, ticket: Ticket) -> Outcome | None:
        """Return the outcome of a request, and renew its owner."""
        with self._front.step() as (ledger, tick):
            show_life(ticket.request.owner, ledger, tick)
            return ticket.outcome

    def present(self, owner: str, token: Token, newest: Token) -> Present:
        """Return the present state of a reservation, and renew its owner."""
        del newest  # the ledger finds it by the first token
        with self._front.step() as (ledger, tick):
            if not ledger.knows(owner):
                return Present(end=End(Refusal.EXPIRED))
            show_life(owner, ledger, tick)
            return ledger.follow(owner, token)

    def end(self, ticket: Ticket, token: Token | None) -> None:
        """Release the grant of a request, or withdraw the request."""
        owner = ticket.request.owner
        with self._front.step() as (ledger, tick):
            ledger.withdraw(ticket.number, tick)
            token = token or (ticket.outcome.token if ticket.outcome else None)
            if token is not None and ledger.knows(owner):
                end_hold(owner, token, ledger, tick)


def end_hold(owner: str, token: Token, ledger: Ledger, tick: int) -> None:
    """Release a reservation by any of its tokens; a paused one does not resume."""
    now = ledger.follow(owner, token)
    if now.ticket is not None:
        ledger.withdraw(now.ticket.number, tick)
    if now.token is not None:
        ledger.release(now.token, tick)


def time_to_live_s(owner: str, ledger: Ledger) -> float | None:
    """Return the time to live of an owner in s; None: no limit, or unknown owner."""
    record = ledger.holdings.owners.get(owner)
    return None if record is None else record.defaults.time_to_live_s


def show_life(owner: str, ledger: Ledger, tick: int) -> None:
    """Renew an owner with a time to live, since its program calls or waits."""
    if time_to_live_s(owner, ledger) is not None:
        ledger.renew(owner, tick)


class LedgerFront(Leasing):
    """Front for one thread, on the time of the ledger.

    For several threads, a subclass locks the ledger in `step`.
    """

    def __init__(self, ledger: Ledger, go_on: Callable[[], None] | None = None) -> None:
        """Create a front.

        Args:
            ledger: ledger, which other code may also advance.
            go_on: steps the simulation by a tick or more while a caller waits, and
                advances the ledger; None: advance the ledger by one tick.
        """
        self._ledger = ledger
        self._go_on = go_on or self._pass_a_tick

    def add_owner(self, owner: Owner) -> None:
        """Register an owner; its parent must be registered first."""
        with self.step() as (ledger, tick):
            ledger.add_owner(owner, tick)

    def ask(self, request: Request) -> Ticket:
        """Send a request without waiting."""
        with self.step() as (ledger, tick):
            return ledger.request(request, tick)

    def take(self, request: Request) -> Outcome:
        """Send a request, and advance time until it has ended.

        Raises:
            BadInput: the call would wait inside a conflict policy, in which no time
                passes.
        """
        return self.wait(self.ask(request))

    def wait(self, ticket: Ticket) -> Outcome:
        """Advance time until a request has ended.

        Raises:
            BadInput: as in `take`; or the ticket belongs to another ledger.
        """
        with self.step() as (ledger, _):
            check_waits(ticket, ledger)
        try:
            while ticket.outcome is None:
                with self.step() as (ledger, tick):
                    show_life(ticket.request.owner, ledger, tick)
                self._go_on()
        except BaseException:  # the caller no longer waits
            with self.step() as (ledger, tick):
                give_up(ticket, ledger, tick)
            raise
        return ticket.outcome

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Return the ledger and its present tick."""
        yield self._ledger, self._ledger.tick

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        return FrontLessor.of(owner, self)

    def _pass_a_tick(self) -> None:
        self._ledger.advance(self._ledger.tick + 1)


def give_up(ticket: Ticket, ledger: Ledger, tick: int) -> None:
    """End an abandoned request in any state."""
    ledger.withdraw(ticket.number, tick)
    outcome = ticket.outcome
    if outcome is not None and outcome.token is not None:
        token = outcome.token
        left = [leaf for leaf in outcome.obtained if ledger.covers(token, leaf)]
        if left:
            ledger.release(token, tick, left)


def check_waits(ticket: Ticket, ledger: Ledger) -> None:
    """Check that a ticket will get an outcome.

    Raises:
        BadInput: the value is not a ticket, or waits in another ledger.
    """
    if not isinstance(ticket, Ticket):
        raise BadInput(f"a ticket is {short(ticket)}; give that of a request.")
    if ticket.outcome is not None:
        return
    try:
        waits = ledger.ticket(ticket.number) is ticket
    except BadInput:
        waits = False
    if not waits:
        raise BadInput(
            f"ticket {ticket.number} of {ticket.request.owner!r} does not wait in this "
            "ledger; give the one that its `request` returned."
        )
