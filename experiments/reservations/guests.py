"""Who is registered at a server: names, keys, and each one's requests."""

import hashlib
import secrets

from controllers.resources.owner import Owner
from controllers.resources.ticket import Ticket

TICKETS_KEPT = 200
"""Ended tickets of one owner that can still be asked for."""


class Guest:
    """A registered owner."""

    def __init__(self, name: str, digest: str, parent: "Guest | None") -> None:
        """Begin without requests.

        Args:
            name: of the owner.
            digest: of its key; the key itself is not kept.
            parent: the owner that it is a part of.
        """
        self.name = name
        self.digest = digest
        self.parent = parent
        self.time_to_live_s = 0.0
        self.said = Owner(name=name)
        """Its habits as it registered, without a station's rules."""
        self.tickets: dict[int, Ticket] = {}
        """By number, oldest first."""
        self._marks: dict[str, int] = {}

    @property
    def n_waiting(self) -> int:
        """How many of its requests wait."""
        return sum(ticket.outcome is None for ticket in self.tickets.values())

    def asked(self, mark: str | None) -> Ticket | None:
        """Return the ticket of a request with its owner's mark, if there is one."""
        return self.tickets.get(self._marks.get(mark or "", -1))

    def keep(self, ticket: Ticket, mark: str | None) -> None:
        """Keep a ticket; forget the oldest ones that have ended."""
        self.tickets[ticket.number] = ticket
        if mark:
            self._marks[mark] = ticket.number
        ended = [n for n, t in self.tickets.items() if t.outcome is not None]
        for number in ended[: max(0, len(ended) - TICKETS_KEPT)]:
            del self.tickets[number]
        self._marks = {m: n for m, n in self._marks.items() if n in self.tickets}


class Guests:
    """All registered owners."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_name: dict[str, Guest] = {}
        self._by_digest: dict[str, Guest] = {}

    def all(self) -> list[Guest]:
        """Return them, in the order of their registration."""
        return list(self._by_name.values())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._by_name)

    def named(self, name: str) -> Guest | None:
        """Return the owner of a name."""
        return self._by_name.get(name)

    def with_key(self, key: str | None) -> Guest | None:
        """Return the owner of a key."""
        return None if key is None else self._by_digest.get(_digest(key))

    def add(self, name: str, parent: Guest | None) -> tuple[Guest, str]:
        """Register an owner; return it with its new key."""
        key = secrets.token_urlsafe(16)
        guest = Guest(name, _digest(key), parent)
        self._by_name[name] = self._by_digest[guest.digest] = guest
        return guest, key

    def end(self, name: str) -> list[str]:
        """Forget an owner and its parts; return their names, parts first."""
        guest = self._by_name.pop(name, None)
        if guest is None:
            return []
        del self._by_digest[guest.digest]
        parts = [g.name for g in self._by_name.values() if g.parent is guest]
        return [*(n for part in parts for n in self.end(part)), name]


def _digest(key: str) -> str:
    """Return what a key is looked up by, so that the time it takes tells nothing."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
