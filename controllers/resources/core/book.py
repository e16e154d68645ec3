"""The book of reservations: all state of a ledger, and how things are found in it.

`waiting_list` and `holdings` are the moves that change it, `granting` decides who is
granted, `demands` asks holders; `ledger` is what callers see.
"""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

from controllers.resources.core.leaf import Leaf
from controllers.resources.core.losers import Loser
from controllers.resources.core.records import OwnerRecord, Reservation, Waiting
from controllers.resources.core.state_leaf import StateGroup, StateLeaf
from controllers.resources.core.timers import Timers
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.names import find_name
from controllers.resources.policies import ConflictPolicy, Demand
from controllers.resources.stale_token import StaleToken
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token, TokenMint
from controllers.resources.trace import Event
from controllers.resources.words import Refusal
from models import BadInput, UnknownName
from models.real_numbers import short

Listener = Callable[[Event], None]


class Book:
    """What is held, waited for, due and known."""

    def __init__(self, cfg: LedgerCfg, mint: TokenMint) -> None:
        """Begin empty."""
        self.cfg = cfg
        self.mint = mint
        self.tick = 0
        self.timers = Timers()
        self.leaves: dict[str, Leaf] = {}
        self.groups: dict[str, StateGroup] = {}
        self.owners: dict[str, OwnerRecord] = {}
        self.reservations: dict[int, Reservation] = {}
        """Live ones, by sequence number."""
        self.ended: dict[int, tuple[int, Refusal]] = {}
        """Sequence number to secret and end of tokens that died lately (AR-26)."""
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
        self.emit: Callable[[Event], None] = self._untold.append
        """Notes for the listeners what happened; callers look whether there are any.
        They are told when the call is done: what one of them does then meets a change
        that is made whole."""
        self.prompt: dict[int, Listener] = {}
        """Listeners of this project, quick and silent, that no `post` takes over, by
        id: others may say that they equal them."""
        self.post: Callable[[Listener, Event], None] | None = None
        """Tells the others in another way than by a call at once."""
        self.ask: Callable[[ConflictPolicy, Demand], object] = _ask
        """Gets a policy's answer."""
        self.eased: dict[Loser, None] = {}
        """Losers whose leaves changed."""
        self._tickets = 0

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
        for loser in leaf.losers:
            self.eased[loser] = None

    def touch_limits(self, motor: Leaf) -> None:
        """Note that somebody may now be granted the torque limit of a motor."""
        for limit in motor.limited:
            if limit.waiters or self.unqueued:
                self.touch(limit)

    def next_ticket(self) -> int:
        """Return the number of a new ticket."""
        self._tickets += 1
        return self._tickets

    # -- finding ----------------------------------------------------------------------

    def find(self, token: Token) -> Reservation | Refusal:
        """Return the live reservation of a token, or why there is none (I-15).

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
        secret, end = self.ended.get(token.sequence, (None, Refusal.UNKNOWN))
        return end if secret == token.secret else Refusal.UNKNOWN

    def live(self, token: Token) -> Reservation:
        """Return the reservation of a token.

        Raises:
            StaleToken: it is dead, or never was.
        """
        found = self.find(token)
        if isinstance(found, Refusal):
            raise StaleToken(token, found)
        return found

    def follow(self, owner: OwnerRecord, token: Token) -> Token | Ticket | None:
        """Return what an owner has now in the place of a token, over pauses.

        Raises:
            BadInput: it is no token at all.
        """
        self.find(token)
        for reservation in owner.reservations:
            if token in (reservation.first, reservation.token):
                return reservation.token
        for waiting in owner.waiting.values():
            if token in (waiting.first, waiting.resumes):
                return waiting.ticket
        return None

    def ticket(self, number: int) -> Ticket:
        """Return the ticket of a request that waits.

        Raises:
            UnknownName: none of this number does.
            BadInput: it is no number.
        """
        waiting = self.request(number)
        if waiting is None:
            known = map(str, self.waiting)
            raise UnknownName("Request", str(number), known, "those that wait")
        return waiting.ticket

    def request(self, number: int) -> Waiting | None:
        """Return the request of a ticket's number while it waits.

        Raises:
            BadInput: it is no number.
        """
        if type(number) is not int:
            raise BadInput(
                f"the number of a ticket is {short(number)}; give a whole number, such "
                "as ticket.number."
            )
        return self.waiting.get(number)

    def owner(self, name: str) -> OwnerRecord:
        """Return an owner.

        Raises:
            UnknownName: it is not known.
        """
        try:
            return self.owners[name]  # mostly; a call more would cost
        except (KeyError, TypeError):
            return find_name(self.owners, name, "Owner", "this ledger")

    def group(self, name: str) -> StateGroup:
        """Return a set of states.

        Raises:
            UnknownName: there is none of this name.
        """
        return find_name(self.groups, name, "Set of states", "this ledger")

    def state(self, group: str, name: str) -> StateLeaf:
        """Return a state of a set.

        Raises:
            UnknownName: there is no such set, or no such state in it.
        """
        states = self.group(group).leaves
        return find_name(states, name, "State", f"set {group!r}")


class Quiet(AbstractContextManager[None]):
    """A block in which listeners are not told; at its end they are.

    For moves that are none of the ledger's own, such as a gate's: what a listener calls
    in answer finds them made whole. One object serves all blocks.
    """

    def __init__(self, book: Book) -> None:
        """Work on a book."""
        self._book = book

    def __enter__(self) -> None:
        """Begin a block, perhaps inside another."""
        self._book.n_quiet += 1

    def __exit__(self, *_: object) -> None:
        """End it, and tell what has been noted."""
        self._book.n_quiet -= 1
        if self._book.listeners:
            self._book.tell()


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


def _ask(policy: ConflictPolicy, demand: Demand) -> object:
    return policy.answer(demand)
