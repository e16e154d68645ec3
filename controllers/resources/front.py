"""What stands before a ledger for callers that wait: a loop, or real threads.

The ledger's calls return at once. Who wants to wait needs somebody who lets time pass
meanwhile: in a scenario the loop, on a robot a thread that sleeps. `Front` is that
seam; `LedgerFront` is the one for a loop, which knows neither threads nor a clock.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from controllers.resources.ledger import Ledger
from controllers.resources.owner import Owner
from controllers.resources.request import Outcome, Request
from controllers.resources.ticket import Ticket
from models import BadInput
from models.real_numbers import short


class Front(Protocol):
    """Lets callers wait for a ledger, and do things to it in one step."""

    def add_owner(self, owner: Owner) -> None:
        """Make an owner known; its parent first."""

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting; in a step with what else is done there."""

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request of this front has ended."""

    def take(self, request: Request) -> Outcome:
        """Ask, and wait until the request has ended."""

    def step(self) -> AbstractContextManager[tuple[Ledger, int]]:
        """Return the ledger and the present tick, for a block that nobody disturbs."""


class LedgerFront:
    """A front for one thread, on the ledger's own time: now is its present tick."""

    def __init__(self, ledger: Ledger, go_on: Callable[[], None] | None = None) -> None:
        """Stand before a ledger.

        Args:
            ledger: that somebody else may advance as well.
            go_on: lets the world go on while a caller waits, by a tick or more, and
                advances the ledger; None advances it by one tick.
        """
        self._ledger = ledger
        self._go_on = go_on or self._pass_a_tick

    def add_owner(self, owner: Owner) -> None:
        """Make an owner known; its parent first."""
        self._ledger.add_owner(owner, self._ledger.tick)

    def ask(self, request: Request) -> Ticket:
        """Ask without waiting."""
        return self._ledger.request(request, self._ledger.tick)

    def take(self, request: Request) -> Outcome:
        """Ask, and let the world go on until the request has ended.

        Raises:
            BadInput: it would have to wait inside a conflict policy's answer, where
                time stands still.
        """
        return self.wait(self.ask(request))

    def wait(self, ticket: Ticket) -> Outcome:
        """Let the world go on until a request has ended.

        Raises:
            BadInput: as `take`; or the ticket is none of this ledger's.
        """
        check_waits(ticket, self._ledger)
        try:
            while ticket.outcome is None:
                self._go_on()
        except BaseException:  # nobody waits any more
            self._give_up(ticket)
            raise
        return ticket.outcome

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Return the ledger and its present tick."""
        yield self._ledger, self._ledger.tick

    def _pass_a_tick(self) -> None:
        self._ledger.advance(self._ledger.tick + 1)

    def _give_up(self, ticket: Ticket) -> None:
        give_up(ticket, self._ledger, self._ledger.tick)


def give_up(ticket: Ticket, ledger: Ledger, tick: int) -> None:
    """End a request that nobody waits for any more, whatever its state."""
    ledger.withdraw(ticket.number, tick)
    outcome = ticket.outcome
    if outcome is not None and outcome.token is not None:
        token = outcome.token
        left = [leaf for leaf in outcome.obtained if ledger.covers(token, leaf)]
        if left:
            ledger.release(token, tick, left)


def check_waits(ticket: Ticket, ledger: Ledger) -> None:
    """Refuse a ticket that nobody would ever give an outcome.

    Raises:
        BadInput: it is no ticket, or it waits, but not in this ledger.
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
