"""Ledger of reservations: one tree of resources, one tree of owners.

Deterministic and single-threaded; time is an argument, in ticks that never decrease.
Within a tick calls precede timers: a call first runs the timers of earlier ticks,
`advance` those up to its tick.

    ledger = Ledger(ResourceTree(load_robot().resources), LedgerCfg(tick_s=0.01))
    ledger.add_owner(Owner(name="look around"), tick=0)
    ticket = ledger.request(Request(owner="look around", resources=("Head",)), tick=0)
    ticket.outcome.token  # goes with every command
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from nao_testbed.controllers.arbitration.events import Event, Lent, Reconfigured
from nao_testbed.controllers.arbitration.manager.body_calls import BodyCalls
from nao_testbed.controllers.arbitration.manager.gate_calls import GateCalls
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    Reservation,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state.trace import Listener
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, Demand
from nao_testbed.controllers.arbitration.requests import Present, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree, check_names
from nao_testbed.controllers.arbitration.tokens import (
    OutcomeKind,
    Preemption,
    Refusal,
    Token,
    TokenMint,
    Why,
)
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import short

__all__ = ["Ledger", "Listener"]


class Ledger(GateCalls, BodyCalls):
    """Ledger that grants, keeps and ends reservations.

    A listener receives every event in order, after the call that caused it. Listeners
    and conflict policies may call the ledger, with the present tick. An error of a
    listener is raised by the next `advance`: the change is completed, its caller gets
    its ticket, and the other listeners are notified.

    Every call raises `UnknownName` for an unknown owner, resource or state, `BadInput`
    for invalid arguments (a composite in place of a leaf, one text for several names, a
    past tick), and `StaleToken` for an ended token. An error changes nothing, except by
    timers before its tick.

    This class has the calls about requests and reservations; those about time, owners,
    commands and the robot are inherited.
    """

    def __init__(
        self,
        tree: ResourceTree,
        cfg: LedgerCfg | None = None,
        *,
        epoch: int | None = None,
        mint: TokenMint | None = None,
        listeners: Iterable[Listener] = (),
    ) -> None:
        """Create a ledger with all resources free.

        Args:
            tree: the resources.
            cfg: ticks and rules.
            epoch: count of restarts, higher than all earlier ones; None: that of the
                mint, or 1.
            mint: source of tokens; None: secrets from the system's generator.
            listeners: functions called with every event, from the first on.

        Raises:
            BadInput: the mint has another epoch.
            UnknownName: a priority rule names an unknown resource.
        """
        if mint is None:
            mint = TokenMint(1 if epoch is None else epoch)
        elif epoch not in (None, mint.epoch):
            raise BadInput(
                f"epoch is {epoch}, but the mint's tokens are of {mint.epoch}; give "
                "one of the two."
            )
        cfg = cfg or LedgerCfg()
        for name in cfg.resource_priority:
            tree.node(name)
        super().__init__(tree, cfg, mint, listeners)

    # -- queries -----------------------------------------------------------------------

    @property
    def cfg(self) -> LedgerCfg:
        """Present rules."""
        return self._queue.cfg

    @property
    def tick(self) -> int:
        """Tick of the last call."""
        return self._timers.now

    @property
    def epoch(self) -> int:
        """Count of restarts in its tokens."""
        return self.holdings.mint.epoch

    @property
    def changes(self) -> int:
        """Count of completed calls and timers.

        While it is constant, the results of `authorise` and `effort_cap` are constant.
        """
        return self._calls.made

    @property
    def tree(self) -> ResourceTree:
        """Present tree of resources."""
        return self.resources.tree

    @property
    def listeners(self) -> list[Listener]:
        """Listeners, called with every event."""
        return self._trace.listeners

    @property
    def waiting(self) -> tuple[int, ...]:
        """Numbers of the waiting requests in the order of arrival."""
        return tuple(self._queue.waiting)

    def next_due(self) -> int | None:
        """Return the tick of the next timer, at which `advance` is due, or None."""
        return self._timers.next_due()

    def ticket(self, number: int) -> Ticket:
        """Return the ticket of a waiting request, such as a paused holder's.

        Args:
            number: number of the request, for example from `request` of a loss notice.

        Raises:
            UnknownName: no waiting request has this number.
        """
        waiting = self._queue.find(number)
        if waiting is None:
            known = map(str, self._queue.waiting)
            raise UnknownName("Request", str(number), known, "the waiting requests")
        return waiting.ticket

    def follow(self, owner: str, token: Token) -> Present:
        """Return the present state of the reservation that began with a token.

        Args:
            owner: owner of the token.
            token: first or any later token of the reservation, which has a new token
                after each pause. Intermediate tokens are known as long as
                `LedgerCfg.dead_tokens_kept` permits.
        """
        if type(token) is not Token:
            kind = type(token).__name__  # the value may be a secret
            raise BadInput(f"a token is of type {kind}; give the Token of a grant.")
        return self.holdings.follow(self.holdings.owner(owner), token)

    def granted_by(self, token: Token) -> Ticket:
        """Return the ticket by which a valid token was granted."""
        return self.holdings.live(token).ticket

    def is_genuine(self, token: Token | None) -> bool:
        """Return True if this ledger issued a token and has not pruned it."""
        unknown = (Refusal.UNKNOWN, Refusal.WRONG_EPOCH)
        return token is not None and self.holdings.find(token) not in unknown

    def lent(self, token: Token) -> tuple[str, ...]:
        """Return the leaves that a token has lent, sorted; empty for an ended token."""
        reservation = self.holdings.find(token)
        if isinstance(reservation, Refusal):
            return ()
        return names_of(reservation.lent)

    # -- rules ------------------------------------------------------------------------

    def reconfigure(
        self,
        tick: int,
        *,
        preemption: Preemption | str | None = None,
        retry_s: float | None = None,
        overtake_s: float | None = None,
    ) -> None:
        """Change the conflict rules; None keeps a rule.

        Waiting requests keep the overtaking time of their arrival; with preemption they
        take the leaves of lower priorities at once.

        Args:
            tick: present tick.
            preemption: preemption of holders by a strictly higher priority.
            retry_s: period of repeated notices to blocking holders, in s.
            overtake_s: time for which equals may overtake a new request, in s.

        Raises:
            BadInput: a time is out of range; nothing changes.
        """
        said = {"preemption": preemption, "retry_s": retry_s, "overtake_s": overtake_s}
        given: Any = {name: rule for name, rule in said.items() if rule is not None}
        queue, cfg = self._queue, replace(self.cfg, **given)
        with self._calls.at(tick):
            if cfg == queue.cfg:
                return
            if cfg.preemption is not queue.cfg.preemption:
                for waiting in queue.waiting.values():
                    for leaf in waiting.shares:
                        queue.touch(leaf)
            queue.cfg = cfg
            self._trace.emit(
                Reconfigured(
                    tick=self._timers.now,
                    preemption=cfg.preemption,
                    retry_ticks=cfg.retry_ticks,
                    overtake_ticks=cfg.overtake_ticks,
                )
            )

    def set_executor(
        self,
        ask: Callable[[ConflictPolicy, Demand], object],
        post: Callable[[Listener, Event], None],
    ) -> Exception | None:
        """Install hooks that run policies and listeners in other threads.

        Args:
            ask: function that returns a policy's answer without waiting.
            post: function that schedules the call of a listener, in the order of
                events.

        Returns:
            Pending error of a listener, or None.
        """
        self._negotiation.ask_policy, self._trace.post = ask, post
        return self._trace.take_fault()

    # -- reservations -----------------------------------------------------------------

    def request(self, request: Request, tick: int) -> Ticket:
        """Request resources; the ticket gets its outcome at once or later.

        Raises:
            BadInput: the request is invalid.
        """
        if not isinstance(request, Request):
            raise BadInput(f"a request is {short(request)}; give a Request.")
        with self._calls.at(tick):
            owner, token = self.holdings.owner(request.owner), request.add_to
            add_to = None if token is None else self.holdings.live(token)
            waiting = self.resources.resolve(request, owner, add_to)
            self._arrive(waiting)
            self._calls.asks = waiting
        waiting.has_waited = True
        return waiting.ticket

    def notify_blockers(self, ticket: int, tick: int) -> None:
        """Notify the blocking holders of a waiting request before its retry period."""
        with self._calls.at(tick):
            waiting = self._queue.find(ticket)
            if waiting is not None and waiting.resumes is None:
                self._negotiation.demand(waiting)

    def withdraw(self, ticket: int, tick: int, why: Why = Why.WITHDRAWN) -> bool:
        """Cancel a waiting request; return True if it was waiting."""
        with self._calls.at(tick):
            waiting = self._queue.find(ticket)
            if waiting is not None:
                self._queue.fail(waiting, OutcomeKind.CANCELLED, why)
        return waiting is not None

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        """Release all resources of a token, or some of them.

        Raises:
            BadInput: the token does not cover one of them.
        """
        names = None if names is None else check_names(names, "names")
        with self._calls.at(tick):
            reservation = self.holdings.live(token)
            leaves = (
                list(reservation.shares)
                if names is None
                else self.resources.covered(reservation, names)
            )
            self._see(reservation.owner)
            self.holdings.release(reservation, leaves)

    def lend(self, token: Token, tick: int, names: Iterable[str]) -> None:
        """Lend some resources of a token until they are recalled.

        They are free until the recall, at which their holders return them. A token that
        lends all its resources stays valid.

        Raises:
            BadInput: the token does not cover one of them, or one is cumulative.
        """
        names = check_names(names, "names")
        with self._calls.at(tick):
            reservation = self.holdings.live(token)
            leaves = self.resources.covered(reservation, names)
            for leaf in leaves:
                if leaf.kind is ResourceKind.CUMULATIVE:
                    raise BadInput(
                        f"{leaf.name!r} is shared by rates; release it and request "
                        "it again: a loan is returned as a whole."
                    )
            self._see(reservation.owner)
            owner, lent, now = reservation.owner.name, names_of(leaves), self.tick
            self._trace.emit(Lent(tick=now, token=token.id, owner=owner, leaves=lent))
            reservation.lent |= frozenset(leaves)
            self.holdings.release(reservation, leaves, lends=True)

    def recall(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> Ticket | None:
        """Recall the lent resources of a token; None if none of them is lent.

        The recall precedes all waiting requests of no higher priority, and the holder
        releases at once regardless of its policy. For a leaf that is frozen, or held by
        a higher priority with preemption, the recall waits like any request; after a
        failed recall the leaf stays lent.

        Args:
            token: token that lent them.
            tick: present tick.
            names: leaves; None: all lent ones. A stiffness includes only the motors
                that were lent with it.
        """
        names = None if names is None else check_names(names, "names")
        if not _lent_of(self.holdings.live(token), names):
            return None
        with self._calls.at(tick):
            reservation = self.holdings.live(token)
            lent = _lent_of(reservation, names)
            if not lent:  # released by an earlier timer
                return None
            owner = reservation.owner
            request = Request(owner=owner.name, resources=names_of(lent), add_to=token)
            waiting = self.resources.resolve(request, owner, reservation, recalls=True)
            reservation.lent -= lent
            self._arrive(waiting)
        waiting.has_waited = True
        return waiting.ticket

    # -- internals ---------------------------------------------------------------------

    def _arrive(self, waiting: Waiting) -> None:
        """Grant a new request, or queue it and send demands to the holders."""
        self._see(waiting.owner)
        if self._trace.listeners:
            self._queue.announce(waiting)
        if self._granting.try_now(waiting, arrives=True):
            return
        if self.cfg.denies_lower and self._granting.is_outranked(waiting):
            self._queue.fail(waiting, OutcomeKind.DENIED, Why.OUTRANKED)
            return
        self._queue.enqueue(waiting)
        if waiting.deadline is not None:
            self._negotiation.repeat(waiting)
        try:
            self._negotiation.demand(waiting, arrives=True)
        except BaseException:  # a policy that exits the program
            if waiting.is_waiting:
                self._queue.fail(waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
            raise
        if waiting.is_waiting and waiting.deadline is None:
            is_outranked = self._granting.is_outranked(waiting)
            why = Why.OUTRANKED if is_outranked else Why.BUSY
            self._queue.fail(waiting, OutcomeKind.DENIED, why)


def _lent_of(
    reservation: Reservation, names: tuple[str, ...] | None
) -> frozenset[Leaf]:
    """Return the leaves that a reservation has lent, restricted to `names` if given.

    A torque limit includes the motors that the reservation has only because of it.
    """
    lent = reservation.lent
    if names is None:
        return lent
    named = {x for x in lent if x.name in names}
    along = lent & reservation.implied
    return frozenset(
        named | along.intersection([motor for x in named for motor in x.limits])
    )
