"""All state of a ledger: its configuration, what is due, who holds and who waits.

`queue`, `holdings` and `inventory` are the moves that change it, `granting` decides who
is granted, `negotiation` asks holders; `ledger` is what callers see. Time is counted in
ticks; what is due at one is called in one order (`Due`).
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil
from typing import NamedTuple

from nao_testbed.controllers.arbitration.events import Event, Notified, ReadOnly
from nao_testbed.controllers.arbitration.manager.leaves import StateGroup, StateLeaf
from nao_testbed.controllers.arbitration.manager.records import (
    AvailabilityWatch,
    Leaf,
    OwnerRecord,
    Reservation,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, Demand
from nao_testbed.controllers.arbitration.requests import (
    SHORTEST_S,
    End,
    Present,
    StaleToken,
    Ticket,
    checked_priorities,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree, find_name
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Preemption,
    Refusal,
    Token,
    TokenMint,
    word,
)
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import check_seconds, short

LONGEST_S = 1e9
"""A time limit beyond which nothing is waited for, in s."""


def check_tick(tick: object) -> None:
    """Refuse what is no tick, though it may equal one.

    Raises:
        BadInput: it is no whole number.
    """
    if type(tick) is not int:
        raise BadInput(f"tick is {short(tick)}; give a whole number.")


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """Rules that hold for one ledger."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    denies_lower: bool = False
    """With preemption: whether a request is denied at once where a higher priority has
    what it needs, as in US11660748B1. Else it waits within its time limit, and the
    holder may give way, as in ES2535273T3."""
    retry_s: float = 0.5
    """Period in s at which holders are told again of those who wait and have no period
    of their own."""
    overtake_s: float = 5.0
    """Time in s for which a request that waits may be passed by later ones of equal
    priority that can be granted at once, so that a waiting group does not mute the
    robot; then nobody passes it, so that it does not starve. 0 lets nobody pass."""
    operation_priority: Mapping[str, int] = field(default_factory=ReadOnly)
    """Kind of operation to the priority of the requests for it."""
    resource_priority: Mapping[str, int] = field(default_factory=ReadOnly)
    """Resource to the priority of requests for it. It holds for all parts that have no
    rule of their own; of several leaves the highest counts, optional ones do not. No
    rule lifts anybody above the highest priority of the owner."""
    tells_commands: bool = True
    """Whether listeners are told of every command that a gate takes and writes, some
    thousands a second. Without, a long run costs less, and its trace cannot prove who
    wrote what; refusals are told all the same."""
    dead_tokens_kept: int = 10_000
    """Records of ended tokens that are kept to say why a command is refused."""

    def __post_init__(self) -> None:
        preemption = word(Preemption, self.preemption, "Preemption")
        object.__setattr__(self, "preemption", preemption)
        for what in ("operation_priority", "resource_priority"):
            rules = checked_priorities(what, getattr(self, what))
            object.__setattr__(self, what, rules)
        positive = f"give a positive number, {SHORTEST_S:g} or more", SHORTEST_S
        passing = "give 0 to let nobody pass, or a positive number", 0.0
        for name, accepted, least in (
            ("tick_s", *positive),
            ("retry_s", *positive),
            ("overtake_s", *passing),
        ):
            seconds = check_seconds(getattr(self, name), name, accepted, least)
            object.__setattr__(self, name, seconds)
        if type(self.dead_tokens_kept) is not int or self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {short(self.dead_tokens_kept)}; give a whole "
                "number from 0."
            )
        for what in ("tells_commands", "denies_lower"):
            if type(getattr(self, what)) is not bool:
                raise BadInput(
                    f"{what} is {short(getattr(self, what))}; give true or false."
                )

    @property
    def retry_ticks(self) -> int:
        """Retry period in ticks, at least one."""
        return self.period(self.retry_s)

    def period(self, seconds: float) -> int:
        """Return a retry period in ticks, at least one."""
        return max(1, self.ticks(seconds))

    @property
    def overtake_ticks(self) -> int:
        """Time in ticks for which a request may be passed."""
        return self.ticks(self.overtake_s)

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks, rounded up; of the longest, thirty years."""
        return max(0, ceil(min(seconds, LONGEST_S) / self.tick_s - 1e-9))


_Timer = tuple[int, "Due", int, int, Callable[[], None], Waiting | None]
_FEW = 64
"""Ended requests that are not worth the work."""


class DeadToken(NamedTuple):
    """Record of a token that has ended."""

    secret: int | None
    refusal: Refusal
    first: Token | None
    """Its reservation's token before any pause."""
    why: LossCause | None = None
    """Cause of the loss, if it was revoked."""
    by: str = ""
    """Owner, virtual owner or state behind the loss."""
    owner: str = ""
    leaves: tuple[str, ...] = ()
    """What it covered last."""
    priority: int = 0
    keeps_ties: bool = True


_NEVER = DeadToken(None, Refusal.UNKNOWN, None)
"""Of a token that was never issued, or was forgotten."""


class Due(IntEnum):
    """Kinds of timers, in the order in which those of one tick are called."""

    TIMEOUT = 0
    PROMISE = 1
    TIME_TO_LIVE = 2
    RETRY = 3


class Timers:
    """Calls to be made at a tick; what is out of date does nothing when called.

    Calls for a request that has ended are thrown away when they are the greater part:
    a long time limit keeps nothing alive.
    """

    def __init__(self) -> None:
        self._heap: list[_Timer] = []
        self._count = 0
        self._over = 0

    def at(
        self,
        tick: int,
        due: Due,
        call: Callable[[], None],
        *,
        place: int = 0,
        waiting: Waiting | None = None,
    ) -> None:
        """Make a call at a tick.

        Args:
            tick: when.
            due: what kind it is.
            call: what to do.
            place: place among those of one kind and tick; then the earlier made first.
            waiting: the request that it is for.
        """
        self._count += 1
        heapq.heappush(self._heap, (tick, due, place, self._count, call, waiting))

    def next_due(self) -> int | None:
        """Return the tick of the next call, None if there is none."""
        return self._heap[0][0] if self._heap else None

    def take(self, tick: int, kind: Due) -> list[Callable[[], None]]:
        """Take out the calls of a kind at a tick, in their order."""
        if not self._heap or self._heap[0][0] > tick:
            return []
        found = sorted(one for one in self._heap if one[:2] == (tick, kind))
        if found:
            self._heap = [one for one in self._heap if one[:2] != (tick, kind)]
            heapq.heapify(self._heap)
        return [one[4] for one in found]

    def pop(self) -> Callable[[], None]:
        """Take out the next call."""
        return heapq.heappop(self._heap)[4]

    def ended(self) -> None:
        """Note that a request has ended: some two calls are for nothing."""
        self._over += 2
        if self._over > max(_FEW, len(self._heap) // 2):
            self._heap = [
                timer for timer in self._heap if timer[5] is None or timer[5].is_waiting
            ]
            heapq.heapify(self._heap)
            self._over = 0


Listener = Callable[[Event], None]


class ReservationState:
    """What is held, waited for, due and known."""

    def __init__(self, cfg: LedgerCfg, mint: TokenMint, tree: ResourceTree) -> None:
        self.cfg = cfg
        self.mint = mint
        self.tree = tree
        """The resources, as they are now."""
        self.tick = 0
        self.timers = Timers()
        self.leaves: dict[str, Leaf] = {}
        self.groups: dict[str, StateGroup] = {}
        self.owners: dict[str, OwnerRecord] = {}
        self.reservations: dict[int, Reservation] = {}
        """Live ones, by sequence number."""
        self.ended: dict[int, DeadToken] = {}
        """By sequence number, those that died lately."""
        self.ended_order: deque[int] = deque()
        self.waiting: dict[int, Waiting] = {}
        """By ticket number."""
        self.listeners: list[Listener] = []
        self.told_in_turn = 0
        """How many times over listeners have called in answer to each other; 0: nobody
        is being told."""
        self.n_quiet = 0
        """Blocks begun, and not ended, in which nobody is told (`Quiet`)."""
        self.changed: dict[Leaf, None] = {}
        """Leaves on which somebody may now be granted."""
        self.unqueued: dict[int, Waiting] = {}
        """Requests that wait for optional leaves alone."""
        self.entangled: dict[OwnerRecord, None] = {}
        """Owners that both hold and wait: without one there is no deadlock."""
        self.suspects: dict[OwnerRecord, None] = {}
        """Owners that may wait in a circle since the last look."""
        self.virtual: set[str] = set()
        """Names of virtual owners, past ones too."""
        self.fault: Exception | None = None
        """What a listener raised first; the next `advance` raises it."""
        self._untold: deque[Event] = deque()
        self.prompt: dict[int, Listener] = {}
        """Listeners of this project, quick and silent, that no `post` takes over, by
        id: others may say that they equal them."""
        self.post: Callable[[Listener, Event], None] | None = None
        """Tells the others in another way than by a call at once."""
        self.ask: Callable[[ConflictPolicy, Demand], object] = _ask_policy
        """Gets a policy's answer."""
        self.eased: dict[AvailabilityWatch, None] = {}
        """Watches whose leaves changed."""
        self.tickets = 0
        """Count of tickets given; the last one's number."""
        self.owners_added = 0
        """Count of owners that came to be known; the last one's place."""
        self.starts = 0
        """Count of starts of behaviours; the last one's number."""

    def emit(self, event: Event) -> None:
        """Note what happened for the listeners, if there are any.

        They are told when the call is done: what one of them does then meets a change
        that is made whole. Where requests come and go, callers look for listeners
        first: an event that nobody hears is not made.
        """
        if self.listeners:
            self._untold.append(event)

    def notify(
        self,
        holder: Reservation,
        kind: NoticeKind,
        leaves: Iterable[Leaf],
        *,
        by: str = "",
        request: int | None = None,
        until_tick: int | None = None,
        error: str = "",
    ) -> None:
        """Tell the owner of a reservation something about leaves."""
        if self.listeners:
            self._untold.append(
                Notified(
                    tick=self.tick,
                    owner=holder.owner.name,
                    kind=kind,
                    token=holder.token.id,
                    leaves=names_of(leaves),
                    by=by,
                    request=request,
                    until_tick=until_tick,
                    error=error,
                )
            )

    def tell(self) -> None:
        """Tell all listeners what they have not heard; what they call comes after it.

        Raises:
            BaseException: what ends the program, once everything is told.
        """
        if self.told_in_turn or self.n_quiet:
            return  # who tells goes on with it, or does so at the end of its block
        untold, end = self._untold, None
        while untold:
            self.told_in_turn += 1
            for _ in range(len(untold)):
                event = untold.popleft()
                for listener in tuple(self.listeners):
                    try:
                        if self.post is None or id(listener) in self.prompt:
                            listener(event)
                        else:
                            self.post(listener, event)
                    except Exception as fault:  # noqa: BLE001  the others hear it too
                        if self.fault is None:  # its own truth is foreign code
                            self.fault = fault
                    except BaseException as ends:  # noqa: BLE001  as above
                        end = ends if end is None else end
        self.told_in_turn = 0
        if end is not None:
            raise end

    def touch(self, leaf: Leaf) -> None:
        """Note that somebody may now be granted a leaf."""
        self.changed[leaf] = None
        for watch in leaf.watches:
            self.eased[watch] = None

    def touch_limits(self, motor: Leaf) -> None:
        """Note that somebody may now be granted the torque limit of a motor."""
        for limit in motor.limited:
            if limit.waiters or self.unqueued:
                self.touch(limit)

    def next_ticket(self) -> int:
        """Return the number of a new ticket."""
        self.tickets += 1
        return self.tickets

    # -- finding ----------------------------------------------------------------------

    def find(self, token: Token) -> Reservation | Refusal:
        """Return the live reservation of a token, or why there is none.

        Raises:
            BadInput: it is no token at all. Its type and its numbers count, whatever
                it says that it is equal to.
        """
        if type(token) is not Token:
            raise _no_token(token)
        try:
            reservation = self.reservations.get(token.sequence)
        except TypeError:
            raise _no_token(token) from None
        if reservation is not None and reservation.token is token:
            return reservation
        if any(type(part) is not int for part in token):
            raise _no_token(token)
        if reservation is not None and reservation.token == token:
            return reservation
        if token.epoch != self.mint.epoch:
            return Refusal.WRONG_EPOCH
        dead = self.ended.get(token.sequence, _NEVER)
        return dead.refusal if dead.secret == token.secret else Refusal.UNKNOWN

    def live(self, token: Token) -> Reservation:
        """Return the reservation of a token."""
        found = self.find(token)
        if isinstance(found, Refusal):
            raise StaleToken(token, found)
        return found

    def follow(self, owner: OwnerRecord, token: Token) -> Present:
        """Return what an owner has now in the place of a token, over pauses.

        All tokens of one reservation have the first one in common. A token between the
        first and the newest is known for as long as `dead_tokens_kept` says.
        """
        first: Token | None = token
        if self.find(token) in (Refusal.UNKNOWN, Refusal.WRONG_EPOCH):
            pass  # it may be a first one that was forgotten
        elif token.sequence in self.ended:
            first = self.ended[token.sequence].first
        for reservation in owner.reservations:
            if reservation.first == first or reservation.token == token:
                return Present(token=reservation.token)
        for waiting in owner.waiting.values():
            if waiting.resumes is not None and first in (
                waiting.first,
                waiting.resumes,
            ):
                return Present(ticket=waiting.ticket)
        return Present(end=self._end_of(token, first))

    def _end_of(self, token: Token, first: Token | None) -> End:
        """Return how the reservation of a dead token ended: as its newest token did."""
        found = self.find(token)
        if not isinstance(found, Refusal):  # another owner's
            return End(Refusal.UNKNOWN)
        if found in (Refusal.UNKNOWN, Refusal.WRONG_EPOCH):
            return End(found)
        newest = max(n for n, dead in self.ended.items() if dead.first == first)
        dead = self.ended[newest]
        return End(dead.refusal, dead.why, dead.by)

    def ticket(self, number: int) -> Ticket:
        """Return the ticket of a request that waits."""
        waiting = self.request(number)
        if waiting is None:
            known = map(str, self.waiting)
            raise UnknownName("Request", str(number), known, "those that wait")
        return waiting.ticket

    def request(self, number: int) -> Waiting | None:
        """Return the request of a ticket's number while it waits."""
        if type(number) is not int:
            raise BadInput(
                f"the number of a ticket is {short(number)}; give a whole number, such "
                "as ticket.number."
            )
        return self.waiting.get(number)

    def owner(self, name: str) -> OwnerRecord:
        """Return an owner."""
        try:
            return self.owners[name]  # mostly; a call more would cost
        except (KeyError, TypeError):
            return find_name(self.owners, name, "Owner", "this ledger")

    def group(self, name: str) -> StateGroup:
        """Return a set of states."""
        return find_name(self.groups, name, "Set of states", "this ledger")

    def state(self, group: str, name: str) -> StateLeaf:
        """Return a state of a set."""
        states = self.group(group).leaves
        return find_name(states, name, "State", f"set {group!r}")


class Quiet(AbstractContextManager[None]):
    """A block in which listeners are not told; at its end they are.

    For moves that are none of the ledger's own, such as a gate's: what a listener calls
    in answer finds them made whole. One object serves all blocks.
    """

    def __init__(self, state: ReservationState) -> None:
        self._state = state

    def __enter__(self) -> None:
        self._state.n_quiet += 1

    def __exit__(self, *_: object) -> None:
        self._state.n_quiet -= 1
        if self._state.listeners:
            self._state.tell()


def _no_token(given: object) -> BadInput:
    """Say what was given in the place of a token; its value may be a secret."""
    what = type(given).__name__
    if type(given) is Token:
        parts = ", ".join(type(part).__name__ for part in given)
        what = f"Token of {parts}, not of three whole numbers"
    return BadInput(
        f"a token is of type {what}; give the Token of a grant, such as ticket.token; "
        "Token.from_text reads its text."
    )


def _ask_policy(policy: ConflictPolicy, demand: Demand) -> object:
    return policy.answer(demand)
