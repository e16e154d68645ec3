"""Service of a reservation server for remote owners, independent of HTTP.

Each owner gets a key when it registers, and sends it with every call; no other owner
has access to its tokens and notices. A key ends when its owner leaves, or is silent for
longer than its time to live; the owner may then register again. A `RegisteredClient`
keeps its requests.

    connections (access) -> routes (HTTP) -> service -> shared ledger; station
"""

import hashlib
import secrets

from nao_testbed.controllers.arbitration.events import Crashed, Event
from nao_testbed.controllers.arbitration.manager.front import end_hold
from nao_testbed.controllers.arbitration.requests import HIGHEST, Owner, Ticket
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.server.messages import (
    Alive,
    AuthoriseAnswer,
    CommandData,
    OwnerData,
    PresentData,
    Registered,
    RequestData,
    ResourceData,
    SnapshotData,
)
from nao_testbed.experiments.server.service.station import Station
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import Robot, TestbedError, UnknownName

TICKETS_KEPT = 200
"""Number of ended tickets stored per owner for queries."""


class RegisteredClient:
    """Registered owner."""

    def __init__(
        self, name: str, digest: str, parent: "RegisteredClient | None"
    ) -> None:
        """Create the owner without requests.

        Args:
            name: name of the owner.
            digest: digest of its key; the key itself is not stored.
            parent: parent owner.
        """
        self.name = name
        self.digest = digest
        self.parent = parent
        self.time_to_live_s = 0.0
        self.said = Owner(name=name)
        """Defaults at registration, without a station's rules."""
        self.tickets: dict[int, Ticket] = {}
        """Tickets by number, oldest first."""
        self._marks: dict[str, int] = {}

    @property
    def n_waiting(self) -> int:
        """Number of its waiting requests."""
        return sum(ticket.outcome is None for ticket in self.tickets.values())

    def requested(self, mark: str | None) -> Ticket | None:
        """Return the ticket with a mark of its owner, if any."""
        return self.tickets.get(self._marks.get(mark or "", -1))

    def keep(self, ticket: Ticket, mark: str | None) -> None:
        """Store a ticket; drop the oldest ended ones."""
        self.tickets[ticket.number] = ticket
        if mark:
            self._marks[mark] = ticket.number
        ended = [n for n, t in self.tickets.items() if t.outcome is not None]
        for number in ended[: max(0, len(ended) - TICKETS_KEPT)]:
            del self.tickets[number]
        self._marks = {m: n for m, n in self._marks.items() if n in self.tickets}


def _digest(key: str) -> str:
    """Return a digest for looking up a key, so that timing reveals nothing."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


MAX_OWNERS = 2000
"""Maximum number of owners of a server."""
MAX_RESOURCES = 10_000
MAX_WAITING = 100
"""Maximum number of waiting requests of one owner."""


class NameTaken(TestbedError):
    """Another owner is registered with this name; the state is unchanged."""


class OwnerGone(TestbedError):
    """No owner is registered with this key; the state is unchanged."""


class TooMany(TestbedError):
    """A limit of the server is reached; the state is unchanged. Worth a retry."""


class Service:
    """Service for remote owners of one shared ledger; thread-safe like the ledger."""

    def __init__(
        self,
        front: SharedLedger,
        *,
        max_priority: int = HIGHEST,
        robot: Robot | None = None,
    ) -> None:
        """Create the service without owners.

        Args:
            front: shared ledger.
            max_priority: highest priority of registered owners.
            robot: robot for the check of a station's schemas, if any.
        """
        self._max_priority = max_priority
        self.front = front
        self._clients: dict[str, RegisteredClient] = {}
        """Clients by name, in the order of their registration."""
        self._by_digest: dict[str, RegisteredClient] = {}
        self.station = Station(front, max_priority, robot)
        self._ended_owners: list[str] = []
        with front.step() as (ledger, _):
            ledger.add_direct_listener(self._on_event)
            self.epoch = ledger.epoch
            self.tick_s = ledger.cfg.tick_s

    # -- owners ------------------------------------------------------------------------

    def register(self, data: OwnerData, key: str | None) -> Registered:
        """Register an owner.

        Args:
            data: owner to register.
            key: key of a registered owner that only changes its defaults.

        Raises:
            NameTaken: another owner is registered with this name.
            OwnerGone: its parent owner is not registered.
            TooMany: the maximum number of owners is reached.
            BadInput: a value is out of range.
        """
        with self.front.step() as (ledger, _):
            self._advance_clock()
            client = self._clients.get(data.name)
            if client is not None and client is not self._with_key(key):
                raise NameTaken(
                    f"owner {data.name!r} is registered by another client. Choose "
                    "another name, or wait until that registration expires: at most "
                    f"{client.time_to_live_s:g} s after its last sign of life."
                )
            is_sent = self.station.has_behaviour(data.name)
            if client is None and (ledger.knows(data.name) or is_sent):
                raise NameTaken(
                    f"owner {data.name!r} is one of this robot's own behaviours; "
                    "choose another name."
                )
            if client is None and len(self._clients) >= MAX_OWNERS:
                raise TooMany(
                    f"this server has its maximum of {MAX_OWNERS} owners; try again "
                    "later."
                )
            parent = None if data.parent_key is None else self._client(data.parent_key)
            said = data.as_owner(parent.name if parent else None, self._max_priority)
            self.front.add_owner(self.station.defaults(said))
            if client is None or key is None:
                key = secrets.token_urlsafe(16)
                client = RegisteredClient(data.name, _digest(key), parent)
                self._clients[data.name] = self._by_digest[client.digest] = client
            client.said = said
            client.time_to_live_s = data.time_to_live_s
            return Registered(
                owner=data.name,
                key=key,
                epoch=self.epoch,
                last_notice=self.front.notices.last(data.name),
            )

    def owner(self, key: str | None) -> str:
        """Return the name of the owner with this key.

        Raises:
            OwnerGone: no owner has this key.
        """
        with self.front.step():
            return self._client(key).name

    def renew(self, key: str | None) -> Alive:
        """Renew the owner with this key."""
        with self.front.step():
            owner = self._client(key).name
            self.front.renew(owner)
            tokens = self.front.notices.tokens(owner)
        return Alive(epoch=self.epoch, tokens=tuple(str(token) for token in tokens))

    def leave(self, key: str | None) -> None:
        """Remove an owner and its parts; end their reservations and requests."""
        with self.front.step():
            self.front.drop(self._client(key).name)
            self._advance_clock()

    def follow(self, key: str | None, token: Token) -> PresentData:
        """Return the present state of an owner's token, and renew the owner."""
        with self.front.step() as (ledger, _):
            client = self._client(key)
            self.front.renew(client.name)
            present = ledger.follow(client.name, token)
            if present.ticket is not None:
                client.keep(present.ticket, None)
        return PresentData.of(present)

    def end(self, key: str | None, token: Token) -> None:
        """Release the present state of a token of an owner, paused or not."""
        with self.front.step():
            owner = self._client(key).name
            with self.front.step() as (ledger, tick):  # a later step
                end_hold(owner, token, ledger, tick)

    # -- requests ----------------------------------------------------------------------

    def ask(self, key: str | None, data: RequestData) -> Ticket:
        """Request resources; a repeated mark returns the same ticket.

        Raises:
            OwnerGone: no owner has this key.
            TooMany: the owner has too many waiting requests.
            BadInput: the request is invalid, or has an unknown name.
        """
        with self.front.step():
            client = self._client(key)
            requested = client.requested(data.mark)
            if requested is not None:
                return requested
            if client.n_waiting >= MAX_WAITING:
                raise TooMany(
                    f"{client.name!r} has {client.n_waiting} waiting requests; "
                    "withdraw some first."
                )
            ticket = self.front.ask(data.as_request(client.name))
            client.keep(ticket, data.mark)
            return ticket

    def ticket(self, key: str | None, number: int) -> Ticket:
        """Return a request of an owner.

        Raises:
            UnknownName: the owner has no such ticket.
        """
        with self.front.step():
            client = self._client(key)
            if number not in client.tickets:
                known = [str(n) for n in client.tickets]
                place = f"the requests of {client.name!r}"
                raise UnknownName("Ticket", str(number), known, place)
            return client.tickets[number]

    def withdraw(self, key: str | None, number: int) -> Ticket:
        """Withdraw a waiting request; ignore one that has ended."""
        with self.front.step():
            ticket = self.ticket(key, number)
            self.front.withdraw(number)
            return ticket

    # -- devices, resources ------------------------------------------------------------

    def authorise(self, data: CommandData) -> AuthoriseAnswer:
        """Answer the query of a device.

        Raises:
            BadInput: the token is malformed, or the leaf does not exist.
        """
        token = None if data.token is None else Token.from_text(data.token)
        reason = self.front.authorise(token, data.resource)
        return AuthoriseAnswer(is_allowed=reason is None, reason=reason)

    def add_resource(self, data: ResourceData) -> None:
        """Add a resource, such as a ball.

        Raises:
            BadInput: the name is taken, or the parent does not exist.
            TooMany: the maximum number of resources is reached.
        """
        with self.front.step() as (ledger, tick):
            if len(ledger.tree.names) >= MAX_RESOURCES:
                raise TooMany(
                    f"this server has its maximum of {MAX_RESOURCES} resources."
                )
            ledger.add_resource(data.name, data.parent, tick, data.kind)

    def snapshot(self) -> SnapshotData:
        """Return a consistent list of resources."""
        return SnapshotData.of(self.front.snapshot(), self.tick_s)

    # -- internals ---------------------------------------------------------------------

    def said(self) -> dict[str, Owner]:
        """Return the registered owners, without a station's rules."""
        self._advance_clock()
        return {client.name: client.said for client in self._clients.values()}

    def _client(self, key: str | None) -> RegisteredClient:
        self._advance_clock()
        client = self._with_key(key)
        if client is None:
            raise OwnerGone(
                "no owner is registered with this key: it left, its time to live "
                f"expired, or the server was restarted (its epoch is {self.epoch}). "
                "Register again; old tokens stay invalid."
            )
        return client

    def _advance_clock(self) -> None:
        """Process due events, and remove dropped owners."""
        with self.front.step() as (ledger, tick):
            ledger.advance(tick)
            gone, self._ended_owners = self._ended_owners, []
            for name in gone:
                ledger.forget_owner(name, tick)
                self.front.notices.forget(name)

    def _on_event(self, event: Event) -> None:
        """Record a dropped owner, parts before their parent."""
        if isinstance(event, Crashed):
            self._ended_owners += self._forget(event.owner)

    def _with_key(self, key: str | None) -> RegisteredClient | None:
        return None if key is None else self._by_digest.get(_digest(key))

    def _forget(self, name: str) -> list[str]:
        """Remove an owner and its parts; return their names, parts first."""
        client = self._clients.pop(name, None)
        if client is None:
            return []
        del self._by_digest[client.digest]
        parts = [c.name for c in self._clients.values() if c.parent is client]
        return [*(n for part in parts for n in self._forget(part)), name]
