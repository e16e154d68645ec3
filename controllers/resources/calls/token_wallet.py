"""The tokens of owners that know none: those of the document's calls."""

from collections.abc import Iterable

from controllers.resources.ledger import Ledger
from controllers.resources.request import Outcome
from controllers.resources.snapshot import take_snapshot
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token, TokenId
from controllers.resources.trace import (
    Event,
    Expired,
    Notified,
    Released,
)
from controllers.resources.words import NoticeKind


class TokenWallet:
    """Keeps tokens by their owner's name, until the ledger says that they ended.

    Reservations made by these calls lose whole. An owner that was paused gets its set
    back by another token (RM-37); that one is kept in the place of the old one.
    """

    def __init__(self) -> None:
        """Begin empty; let a ledger's events come to `hear`."""
        self._tokens: dict[str, dict[TokenId, Token]] = {}
        self._expected: set[int] = set()
        """Numbers of requests whose tokens come here: new ones, and those by which
        paused ones come back."""

    def keep(self, owner: str, token: Token) -> None:
        """Put in a token that was granted."""
        self._tokens.setdefault(owner, {})[token.id] = token

    def expect(self, ticket: Ticket) -> None:
        """Put in the token of a request, now or as soon as it is granted.

        So it is here before anybody else can see that its owner holds something.
        """
        outcome = ticket.outcome
        if outcome is None:
            self._expected.add(ticket.number)
        elif outcome.token is not None:
            self.keep(ticket.request.owner, outcome.token)

    def resuming(
        self, owner: str, leaves: Iterable[str], ledger: Ledger
    ) -> dict[int, None]:
        """Return the requests by which an owner that paused gets some leaves back."""
        asked = set(leaves)
        return {
            wait.request: None
            for row in take_snapshot(ledger).resources
            if row.name in asked
            for wait in row.waiters
            if wait.owner == owner and wait.is_paused and wait.request in self._expected
        }

    def covering(
        self, owner: str, leaves: Iterable[str], ledger: Ledger
    ) -> dict[Token, list[str]]:
        """Return an owner's tokens that cover some of the leaves, and which.

        Also those that a part of it has meanwhile: they are its own to give back.
        """
        mine, asked = self._tokens.get(owner, {}), set(leaves)
        found: dict[Token, list[str]] = {}
        for row in take_snapshot(ledger).resources if mine else ():
            for holding in row.holders if row.name in asked else ():
                if holding.token in mine:
                    found.setdefault(mine[holding.token], []).append(row.name)
        return found

    def hear(self, event: Event) -> None:
        """Learn from the ledger which tokens ended and which come back."""
        match event:
            case Released(is_whole=True) | Expired():
                self._drop(event.owner, event.token)
            case Notified(kind=NoticeKind.LOST, token=TokenId() as token):
                if self._drop(event.owner, token) and event.request is not None:
                    self._expected.add(event.request)
            case Notified(kind=NoticeKind.OUTCOME, outcome=Outcome() as outcome):
                if event.request in self._expected:
                    self._expected.remove(event.request)
                    if outcome.token is not None:
                        self.keep(event.owner, outcome.token)
            case _:
                pass

    def _drop(self, owner: str, token: TokenId) -> bool:
        """Throw a token away; return whether it was here."""
        return self._tokens.get(owner, {}).pop(token, None) is not None
