"""The service of a reservation server: what remote owners may do, without any HTTP.

Each owner gets a key when it registers, and shows it with every call: its tokens and
notices are for it alone. A key ends when its owner leaves, or falls silent for longer
than its time to live; the owner may then register again. `RegisteredClients` keeps
names, keys, and each one's requests.

    connections (who gets in) -> routes (HTTP) -> service -> shared ledger; station
"""

import hashlib
import secrets

from controllers.arbitration.events import Crashed, Event
from controllers.arbitration.requests import HIGHEST, Owner, Ticket
from controllers.arbitration.tokens import Token
from experiments.server.messages import (
    Alive,
    AuthoriseAnswer,
    BehaviourData,
    CommandData,
    DefinitionData,
    InstalledData,
    NameData,
    OwnerData,
    Registered,
    ReleaseData,
    RequestData,
    ResourceData,
    RulesData,
    SnapshotData,
    StartedData,
)
from experiments.server.service.station import Station
from experiments.server.shared_ledger import SharedLedger
from models import Robot, TestbedError, UnknownName

TICKETS_KEPT = 200
"""Ended tickets of one owner that can still be asked for."""


class RegisteredClient:
    """A registered owner."""

    def __init__(
        self, name: str, digest: str, parent: "RegisteredClient | None"
    ) -> None:
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


class RegisteredClients:
    """All registered owners."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_name: dict[str, RegisteredClient] = {}
        self._by_digest: dict[str, RegisteredClient] = {}

    def all(self) -> list[RegisteredClient]:
        """Return them, in the order of their registration."""
        return list(self._by_name.values())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._by_name)

    def named(self, name: str) -> RegisteredClient | None:
        """Return the owner of a name."""
        return self._by_name.get(name)

    def with_key(self, key: str | None) -> RegisteredClient | None:
        """Return the owner of a key."""
        return None if key is None else self._by_digest.get(_digest(key))

    def add(
        self, name: str, parent: RegisteredClient | None
    ) -> tuple[RegisteredClient, str]:
        """Register an owner; return it with its new key."""
        key = secrets.token_urlsafe(16)
        guest = RegisteredClient(name, _digest(key), parent)
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


MAX_OWNERS = 2000
"""Owners that a server keeps at a time."""
MAX_RESOURCES = 10_000
MAX_WAITING = 100
"""Requests of one owner that wait at a time."""


class NameTaken(TestbedError):
    """Another owner is registered by this name; nothing has changed."""


class OwnerGone(TestbedError):
    """No owner is registered with this key (any more); nothing has changed."""


class TooMany(TestbedError):
    """A limit of the server is reached; nothing has changed. Worth a retry."""


class Service:
    """Serves remote owners from one shared ledger; safe for threads as that is."""

    def __init__(
        self,
        front: SharedLedger,
        *,
        max_priority: int = HIGHEST,
        robot: Robot | None = None,
    ) -> None:
        """Begin without owners.

        Args:
            front: the ledger that they share.
            max_priority: the highest that those who register may ask with (AR-13).
            robot: for which a station's schemas are checked, if there is one.
        """
        self._max_priority = max_priority
        self.front = front
        self._guests = RegisteredClients()
        self.station = Station(front, max_priority, robot)
        self._gone: list[str] = []
        with front.step() as (ledger, _):
            ledger.hear_at_once(self._hear)
            self.epoch = ledger.epoch
            self.tick_s = ledger.cfg.tick_s

    # -- owners ------------------------------------------------------------------------

    def register(self, data: OwnerData, key: str | None) -> Registered:
        """Let an owner be known.

        Args:
            data: the owner.
            key: its key, if it is registered and only changes its habits.

        Raises:
            NameTaken: somebody else is registered by this name.
            OwnerGone: the owner that it is a part of is not registered.
            TooMany: the server keeps no more owners.
            BadInput: a value is out of range.
        """
        with self.front.step() as (ledger, _):
            self._let_time_pass()
            guest = self._guests.named(data.name)
            if guest is not None and guest is not self._guests.with_key(key):
                raise NameTaken(
                    f"owner {data.name!r} is registered by somebody else. Choose "
                    "another name, or wait until that one is gone: at most "
                    f"{guest.time_to_live_s:g} s after its last sign of life."
                )
            is_sent = self.station.has_behaviour(data.name)
            if guest is None and (ledger.knows(data.name) or is_sent):
                raise NameTaken(
                    f"owner {data.name!r} is one of this robot's own behaviours; "
                    "choose another name."
                )
            if guest is None and len(self._guests) >= MAX_OWNERS:
                raise TooMany(f"this server keeps {MAX_OWNERS} owners, and has them.")
            parent = None if data.parent_key is None else self._guest(data.parent_key)
            said = data.as_owner(parent.name if parent else None, self._max_priority)
            self.front.add_owner(self.station.habits(said))
            if guest is None or key is None:
                guest, key = self._guests.add(data.name, parent)
            guest.said = said
            guest.time_to_live_s = data.time_to_live_s
            return Registered(
                owner=data.name,
                key=key,
                epoch=self.epoch,
                last_notice=self.front.inboxes.last(data.name),
            )

    def owner(self, key: str | None) -> str:
        """Return the name of the owner with this key.

        Raises:
            OwnerGone: there is none.
        """
        with self.front.step():
            return self._guest(key).name

    def renew(self, key: str | None) -> Alive:
        """Take a sign of life of the owner with this key."""
        with self.front.step():
            owner = self._guest(key).name
            self.front.renew(owner)
            tokens = self.front.inboxes.tokens(owner)
        return Alive(epoch=self.epoch, tokens=tuple(str(token) for token in tokens))

    def leave(self, key: str | None) -> None:
        """End all that an owner and its parts hold and wait for, and forget them."""
        with self.front.step():
            self.front.drop(self._guest(key).name)
            self._let_time_pass()

    # -- the station -------------------------------------------------------------------

    def install(self, data: RulesData) -> InstalledData:
        """Take over what a station sends, whole or not at all (RM-64).

        Raises:
            FileErrors: all that is wrong in it.
            BadInput: an owner that is registered asks for more than its rule allows.
            Busy: a behaviour that it would end is being started.
        """
        self.station.install(data.text, data.name, self._said)
        return self.installed()

    def installed(self) -> InstalledData:
        """Return what the station's behaviours are, and which of them run."""
        with self.front.step() as (ledger, _):
            cfg = ledger.cfg
        return InstalledData(
            preemption=cfg.preemption,
            retry_s=cfg.retry_s,
            overtake_s=cfg.overtake_s,
            owners=self.station.ruled(),
            behaviours=tuple(
                BehaviourData(
                    name=one.behaviour.name,
                    runs=one.runs,
                    has=one.has,
                    parts=tuple(part.name for part in one.behaviour.parts),
                )
                for one in self.station.installed()
            ),
        )

    def definition(self, name: str) -> DefinitionData:
        """Return a behaviour that a station sent, for who plays it.

        Raises:
            UnknownName: there is none of this name.
        """
        found = self.station.definition(name)
        return DefinitionData(behaviour=found.behaviour, library=found.library)

    def start(self, data: NameData) -> StartedData:
        """Start a behaviour that a station sent; this may wait.

        Raises:
            UnknownName: there is none of this name.
            Busy: it runs, or is being started.
        """
        return StartedData.of(self.station.start(data.name))

    # -- requests ----------------------------------------------------------------------

    def ask(self, key: str | None, data: RequestData) -> Ticket:
        """Ask for resources; the same mark again returns the same ticket.

        Raises:
            OwnerGone: no owner has this key.
            TooMany: it waits for too many things at a time.
            BadInput: the request makes no sense, or names something unknown.
            StaleToken: the token to be enlarged is dead.
        """
        with self.front.step():
            guest = self._guest(key)
            asked = guest.asked(data.mark)
            if asked is not None:
                return asked
            if guest.n_waiting >= MAX_WAITING:
                raise TooMany(
                    f"{guest.name!r} has {guest.n_waiting} requests that wait; "
                    "withdraw some first."
                )
            ticket = self.front.ask(data.as_request(guest.name))
            guest.keep(ticket, data.mark)
            return ticket

    def ticket(self, key: str | None, number: int) -> Ticket:
        """Return a request of an owner.

        Raises:
            UnknownName: it has no such ticket.
        """
        with self.front.step():
            guest = self._guest(key)
            if number not in guest.tickets:
                known = [str(n) for n in guest.tickets]
                place = f"the requests of {guest.name!r}"
                raise UnknownName("Ticket", str(number), known, place)
            return guest.tickets[number]

    def withdraw(self, key: str | None, number: int) -> Ticket:
        """End a waiting request; one that has ended stays as it is."""
        with self.front.step():
            ticket = self.ticket(key, number)
            self.front.withdraw(number)
            return ticket

    # -- tokens, resources -------------------------------------------------------------

    def release(self, data: ReleaseData) -> None:
        """Give back a token; knowing it is proof enough.

        Raises:
            BadInput: it is malformed, or does not cover a name.
            StaleToken: it is dead.
        """
        self.front.release(Token.from_text(data.token), data.names)

    def authorise(self, data: CommandData) -> AuthoriseAnswer:
        """Answer a device (AR-10, AR-11).

        Raises:
            BadInput: the token is malformed, or there is no such leaf.
        """
        token = None if data.token is None else Token.from_text(data.token)
        reason = self.front.authorise(token, data.resource)
        return AuthoriseAnswer(is_allowed=reason is None, reason=reason)

    def add_resource(self, data: ResourceData) -> None:
        """Add a resource, such as a ball.

        Raises:
            BadInput: the name is taken, or there is no such parent.
            TooMany: the server keeps no more.
        """
        with self.front.step() as (ledger, tick):
            if len(ledger.tree.names) >= MAX_RESOURCES:
                raise TooMany(f"this server keeps {MAX_RESOURCES} resources at most.")
            ledger.add_resource(data.name, data.parent, tick, data.kind)

    def snapshot(self) -> SnapshotData:
        """Return the list of resources, in one piece."""
        return SnapshotData.of(self.front.snapshot(), self.tick_s)

    # -- inside ------------------------------------------------------------------------

    def _said(self) -> dict[str, Owner]:
        """Return the owners that are registered, as they said."""
        self._let_time_pass()
        return {guest.name: guest.said for guest in self._guests.all()}

    def _guest(self, key: str | None) -> RegisteredClient:
        self._let_time_pass()
        guest = self._guests.with_key(key)
        if guest is None:
            raise OwnerGone(
                "no owner is registered with this key: it left, fell silent for longer "
                f"than its time to live, or the server was restarted (its epoch is "
                f"{self.epoch}). Register again; old tokens stay dead."
            )
        return guest

    def _let_time_pass(self) -> None:
        """Let happen what is due, and forget those who are gone."""
        with self.front.step() as (ledger, tick):
            ledger.advance(tick)
            gone, self._gone = self._gone, []
            for name in gone:
                ledger.forget_owner(name, tick)
                self.front.inboxes.forget(name)

    def _hear(self, event: Event) -> None:
        """Note that an owner is gone, its parts before it."""
        if isinstance(event, Crashed):
            self._gone += self._guests.end(event.owner)
