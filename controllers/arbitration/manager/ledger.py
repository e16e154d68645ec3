"""The ledger of reservations: one tree of resources, one tree of owners.

Deterministic and single-threaded; time is an argument, in ticks that never decrease.
Within a tick calls come before timers: a call first lets happen what was due earlier,
`advance` what is due up to its tick.

    ledger = Ledger(ResourceTree(load_robot().resources), LedgerCfg(tick_s=0.01))
    ledger.add_owner(Owner(name="look around"), tick=0)
    ticket = ledger.request(Request(owner="look around", resources=("Head",)), tick=0)
    ticket.outcome.token  # goes with every command
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Lent,
    Notified,
    Opened,
    Reconfigured,
)
from nao_testbed.controllers.arbitration.manager import (
    granting,
    holdings,
    inventory,
    negotiation,
    queue,
)
from nao_testbed.controllers.arbitration.manager.granting import Calls
from nao_testbed.controllers.arbitration.manager.records import (
    Freeze,
    Leaf,
    Reservation,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.resolve import covered_leaves, resolve
from nao_testbed.controllers.arbitration.manager.state import (
    LedgerCfg,
    Listener,
    Quiet,
    ReservationState,
)
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, Demand
from nao_testbed.controllers.arbitration.requests import Owner, Present, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import (
    ResourceTree,
    check_name,
    check_names,
)
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Right,
    Token,
    TokenId,
    TokenMint,
    Why,
)
from nao_testbed.models import BadInput
from nao_testbed.models.errors import error_text
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import short

__all__ = ["Ledger", "Listener"]


class Ledger:
    """Grants, keeps and ends reservations.

    A listener sees every event in its order, once the call that made it is done. It and
    a conflict policy may call the ledger, with the present tick. What a listener raises
    the next `advance` raises: a change is made whole, its caller gets its ticket, and
    the other listeners are told.

    Every call raises `UnknownName` for an owner, a resource or a state that is not
    known, `BadInput` for what makes no sense (a composite where a leaf is meant, one
    text for several names, a tick that is over), `StaleToken` for a token that is dead.
    An error leaves everything as it was, but for what was due before its tick.
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
        """Begin an epoch with everything free.

        Args:
            tree: the resources.
            cfg: ticks and rules.
            epoch: count of restarts, higher than at any time before; None takes
                the mint's, or 1.
            mint: issues the tokens; None draws secrets from the system.
            listeners: told every event, from the first on.

        Raises:
            BadInput: the mint is of another epoch.
            UnknownName: a rule of priority names a resource that there is not.
        """
        if mint is None:
            mint = TokenMint(1 if epoch is None else epoch)
        elif epoch not in (None, mint.epoch):
            raise BadInput(
                f"epoch is {epoch}, but the mint's tokens are of {mint.epoch}; give "
                "one of the two."
            )
        self.cfg = cfg or LedgerCfg()
        for name in self.cfg.resource_priority:
            tree.node(name)
        self._state = state = ReservationState(self.cfg, mint, tree)
        state.listeners.extend(listeners)
        self._calls = Calls(state)
        self._hear_for_hooks: Listener = self._call_hooks
        self._commands = 0
        state.emit(
            Opened(
                tick=0,
                epoch=self.epoch,
                preemption=self.cfg.preemption,
                retry_ticks=self.cfg.retry_ticks,
                overtake_ticks=self.cfg.overtake_ticks,
            )
        )
        inventory.make_leaves(state)
        state.tell()

    # -- looking ----------------------------------------------------------------------

    @property
    def tick(self) -> int:
        """Tick of the last call."""
        return self._state.tick

    @property
    def epoch(self) -> int:
        """Count of restarts that its tokens carry."""
        return self._state.mint.epoch

    @property
    def changes(self) -> int:
        """Count of calls and timers that are done.

        While it stays, so does all that `authorise` and `effort_cap` answer.
        """
        return self._calls.made

    @property
    def tree(self) -> ResourceTree:
        """The resources, as they are now."""
        return self._state.tree

    @property
    def state(self) -> ReservationState:
        """The records, for `take_snapshot`; nobody else looks into them."""
        return self._state

    @property
    def listeners(self) -> list[Listener]:
        """Those that are told every event."""
        return self._state.listeners

    @property
    def waiting(self) -> tuple[int, ...]:
        """Numbers of the requests that wait, in the order of their arrival."""
        return tuple(self._state.waiting)

    def quiet(self) -> AbstractContextManager[None]:
        """Return what surrounds blocks in which no listener is told, then all are."""
        return Quiet(self._state)

    def hear_at_once(self, listener: Listener) -> None:
        """Add a listener of this project, told at once by a shared ledger too.

        It is quick, calls no code of others, and so keeps what it says in step with the
        ledger: a wallet, an inbox.
        """
        self._state.prompt[id(listener)] = listener
        self._state.listeners.append(listener)

    def hand_over(
        self,
        ask: Callable[[ConflictPolicy, Demand], object],
        post: Callable[[Listener, Event], None],
    ) -> Exception | None:
        """Let others run the code of others, as a front for threads does.

        Args:
            ask: returns a policy's answer, and waits for nobody.
            post: tells a listener soon, in the order of the events.

        Returns:
            What a listener has raised, and nobody heard of yet.
        """
        self._state.ask, self._state.post = ask, post
        fault, self._state.fault = self._state.fault, None
        return fault

    def next_due(self) -> int | None:
        """Return the tick by which `advance` should be called, None if no matter."""
        return self._state.timers.next_due()

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Answer the gate: may a command with this token act on a leaf?

        Args:
            token: as the command carries it.
            leaf: name of a leaf of the tree.

        Returns:
            None if it may, else why not.
        """
        resource = inventory.find_leaf(self._state, leaf)
        if token is None:
            return Refusal.NO_TOKEN
        reservation = self._state.find(token)
        if isinstance(reservation, Refusal):
            return reservation
        if resource.is_frozen:
            return Refusal.FROZEN
        if resource not in reservation.shares:
            return Refusal.NOT_COVERED
        if reservation.owner.children and resource.is_lent(reservation):
            return Refusal.NOT_COVERED  # a descendant has it meanwhile
        is_free = not resource.limits or self._is_let(resource, reservation)
        return None if is_free else Refusal.NOT_COVERED

    def authorise_shift(self, token: Token | None, motor: str) -> Refusal | None:
        """Answer the gate: may this token shift the set-point of a motor?

        It may if it covers the motor, or its holder allowed it (`allow_shift`). Of who
        is entrusted the token has to cover the motor's torque limit; the holder may
        have forbidden it.

        Args:
            token: as the shift carries it.
            motor: name of a leaf of the tree.

        Returns:
            None if it may, else why not.
        """
        reason = self.authorise(token, motor)
        if reason is not Refusal.NOT_COVERED or token is None:
            return reason
        by, resource = self._state.live(token), inventory.find_leaf(self._state, motor)
        return None if holdings.may_shift(resource, by) else reason

    def left_out(self, token: Token, limit: str) -> tuple[str, ...]:
        """Return the motors whose torque limit a valid token leaves as it is.

        A virtual owner has them: they are nobody's to limit, but of who is entrusted.
        """
        motors = inventory.find_leaf(self._state, limit).limits
        frozen = tuple([motor.name for motor in motors if motor.is_frozen])
        if not frozen or self._state.live(token).owner.is_entrusted:
            return ()
        return frozen

    def covers(self, token: Token, leaf: str) -> bool:
        """Whether a live token covers a leaf, may its holder use it now or not."""
        resource, found = (
            inventory.find_leaf(self._state, leaf),
            self._state.find(token),
        )
        return not isinstance(found, Refusal) and resource in found.shares

    def ticket(self, number: int) -> Ticket:
        """Return the ticket of a request that waits, such as a paused holder's.

        Args:
            number: as the notice of its loss said it, in `request`.

        Raises:
            UnknownName: no request of this number waits.
        """
        return self._state.ticket(number)

    def follow(self, owner: str, token: Token) -> Present:
        """Return what an owner has now in the place of a token that it was granted.

        Args:
            owner: whose token it is.
            token: the first, or any since. After a pause it has another one; those
                between are known for as long as `LedgerCfg.dead_tokens_kept` says.
        """
        if type(token) is not Token:
            kind = type(token).__name__  # its value may be a secret
            raise BadInput(f"a token is of type {kind}; give the Token of a grant.")
        return self._state.follow(self._state.owner(owner), token)

    def is_genuine(self, token: Token | None) -> bool:
        """Whether this manager issued a token, and still remembers it."""
        unknown = (Refusal.UNKNOWN, Refusal.WRONG_EPOCH)
        return token is not None and self._state.find(token) not in unknown

    def effort_cap(self, leaf: str) -> float:
        """Return the largest stiffness that virtual owners allow, in [0, 1]."""
        return inventory.find_leaf(self._state, leaf).effort_cap()

    def active_state(self, group: str) -> str | None:
        """Return the active state of a set, None if none is."""
        active = self._state.group(group).active
        return active.name if active else None

    def reconfigure(
        self,
        tick: int,
        *,
        preemption: Preemption | str | None = None,
        retry_s: float | None = None,
        overtake_s: float | None = None,
    ) -> None:
        """Settle conflicts by other rules from now on; None: as before.

        Who waits may be passed by equals for as long as was said when it came; with
        preemption it takes at once what lower priorities have.

        Args:
            tick: now.
            preemption: whether a strictly higher priority takes what a holder keeps.
            retry_s: period at which holders are told again of those who wait.
            overtake_s: time for which a new request may be passed by equals.

        Raises:
            BadInput: a time is out of range; nothing changes.
        """
        said = {"preemption": preemption, "retry_s": retry_s, "overtake_s": overtake_s}
        given: Any = {name: rule for name, rule in said.items() if rule is not None}
        cfg = replace(self.cfg, **given)
        with self._calls.at(tick):
            if cfg == self.cfg:
                return
            state = self._state
            if cfg.preemption is not self.cfg.preemption:
                for waiting in state.waiting.values():
                    for leaf in waiting.shares:
                        state.touch(leaf)
            self.cfg = state.cfg = cfg
            if state.listeners:
                state.emit(
                    Reconfigured(
                        tick=state.tick,
                        preemption=cfg.preemption,
                        retry_ticks=cfg.retry_ticks,
                        overtake_ticks=cfg.overtake_ticks,
                    )
                )

    # -- gates ------------------------------------------------------------------------

    def tell(self, event: Event) -> None:
        """Tell all listeners what happened elsewhere, such as at a gate.

        If it is of a later tick, what was due before happens first: no trace goes back
        in time.
        """
        if event.tick > self._state.tick:
            self._calls.at(event.tick)
        self._calls.tell(event)

    def next_command(self) -> int:
        """Return the number of a command that came to a gate."""
        self._commands += 1
        return self._commands

    # -- owners -----------------------------------------------------------------------

    def add_owner(self, owner: Owner, tick: int) -> None:
        """Register an owner, or replace its defaults.

        Raises:
            BadInput: it is known under another parent, has the name of a virtual owner
                or of a behaviour that runs, or is too deep in the tree.
        """
        if not isinstance(owner, Owner):
            raise BadInput(f"an owner is {short(owner)}; give an Owner.")
        has_hook = owner.on_stop is not None or owner.on_lost is not None
        hear = self._hear_for_hooks
        if has_hook and not any(hear is one for one in self._state.listeners):
            self.hear_at_once(hear)
        with self._calls.at(tick):
            inventory.add_owner(self._state, owner)

    def knows(self, owner: str) -> bool:
        """Whether there is an owner of this name."""
        return check_name(owner, "an owner") in self._state.owners

    def check_free(self, owner: str) -> None:
        """Refuse a name, known or not, by which somebody else acts.

        Raises:
            BadInput: its owner, or a part of it, has something, waits, or starts.
        """
        inventory.check_free(self._state, check_name(owner, "an owner"))

    def start(self, owner: str) -> int:
        """Note that a behaviour begins to act by an owner's name.

        Nobody else takes that name until `end_start`, nor then while it has something.

        Returns:
            The number of this start, for the calls below.
        """
        return inventory.start(self._state, self._state.owner(owner))

    def end_start(self, owner: str, number: int) -> None:
        """Note that a behaviour has asked for all that it needs to begin."""
        if self.has_started(owner, number):
            self._state.owner(owner).is_starting = False

    def has_started(self, owner: str, number: int) -> bool:
        """Whether the behaviour of a start still is the one that acts by a name."""
        record = self._state.owners.get(owner)
        return record is not None and record.started == number

    def stop(self, starts: Mapping[str, int], tick: int) -> None:
        """Let behaviours end: what they hold and wait for is given up, in one step.

        Args:
            starts: owner to the number of its start, a whole before its parts; those
                that have stopped, or began anew, are left alone.
            tick: now.
        """
        mine = [name for name, n in starts.items() if self.has_started(name, n)]
        self.give_up(mine, tick)
        for name in mine:
            record = self._state.owner(name)
            record.started, record.is_starting = None, False

    def renew(self, owner: str, tick: int) -> None:
        """Note a sign of life: the time to live of an owner begins anew."""
        with self._calls.at(tick):
            inventory.renew(self._state, self._state.owner(owner))

    def drop(self, owner: str, tick: int) -> None:
        """End all that an owner and its descendants hold and wait for: it is gone.

        It may come back and ask anew; its old tokens stay dead.
        """
        with self._calls.at(tick):
            inventory.drop(self._state, self._state.owner(owner))

    def give_up(self, owners: Iterable[str], tick: int) -> None:
        """Withdraw all that owners wait for and release all they hold, in one step.

        They have ended by themselves. What was paused does not come back.

        Args:
            owners: a parent before its parts, which give back before it.
            tick: now.
        """
        names = check_names(owners, "owners")
        with self._calls.at(tick):
            inventory.give_up(self._state, [self._state.owner(name) for name in names])

    def forget_owner(self, owner: str, tick: int) -> None:
        """Drop an owner, and know it no more.

        Raises:
            BadInput: others are a part of it.
        """
        with self._calls.at(tick):
            inventory.forget_owner(self._state, self._state.owner(owner))

    # -- what holders allow -----------------------------------------------------------

    def entrust(self, owner: str, tick: int, *, is_entrusted: bool = True) -> None:
        """Let an owner limit and shift all motors whose holders do not forbid it.

        So is the controller of the stiffness, which whoever lets robots move installs.
        What it limits it takes without the motors. It ends with the owner: who comes
        back by that name is entrusted anew, or not.
        """
        with self._calls.at(tick):
            holdings.entrust(
                self._state, self._state.owner(owner), is_entrusted=is_entrusted
            )

    def allow_shift(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Let an owner shift the motors of a token, or forbid it, while it holds them.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.SHIFT, tick, is_allowed)

    def allow_limit(
        self, token: Token, owner: str, tick: int, *, is_allowed: bool = True
    ) -> None:
        """Let an owner limit the torque of a token's motors, or forbid it.

        What is limited then, and by whom, the trace says; nothing is told to the
        holder, whose own wish it is.

        Raises:
            BadInput: the token covers no motor.
        """
        self._allow(token, owner, Right.LIMIT, tick, is_allowed)

    # -- reservations -----------------------------------------------------------------

    def request(self, request: Request, tick: int) -> Ticket:
        """Ask for resources; at once or later the ticket has an outcome.

        Raises:
            BadInput: the request cannot be granted by anybody.
        """
        state = self._state
        if not isinstance(request, Request):
            raise BadInput(f"a request is {short(request)}; give a Request.")
        with self._calls.at(tick):
            owner = state.owner(request.owner)
            add_to = None if request.add_to is None else state.live(request.add_to)
            waiting = resolve(request, self.tree, state, owner, add_to)
            self._arrive(waiting)
            self._calls.asks = waiting
        waiting.has_waited = True
        return waiting.ticket

    def demand_again(self, ticket: int, tick: int) -> None:
        """Ask once more, before its retry, those in the way of a request that waits."""
        with self._calls.at(tick):
            waiting = self._state.request(ticket)
            if waiting is not None and waiting.resumes is None:
                negotiation.demand_unless_promised(self._state, waiting)

    def withdraw(self, ticket: int, tick: int, why: Why = Why.WITHDRAWN) -> bool:
        """Cancel a request that waits; return whether it did."""
        with self._calls.at(tick):
            waiting = self._state.request(ticket)
            if waiting is not None:
                queue.fail(self._state, waiting, OutcomeKind.CANCELLED, why)
        return waiting is not None

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        """Give back all of a token, or some resources of it.

        Raises:
            BadInput: it does not cover one of them.
        """
        names = None if names is None else check_names(names, "names")
        with self._calls.at(tick):
            reservation = self._state.live(token)
            leaves = (
                list(reservation.shares)
                if names is None
                else covered_leaves(reservation, names, self.tree)
            )
            inventory.see(self._state, reservation.owner)
            holdings.release(self._state, reservation, leaves)

    def lend(self, token: Token, tick: int, names: Iterable[str]) -> None:
        """Let others have some resources of a token until it recalls them.

        They are free, and promised: whoever has one by then gives it back. A token that
        lends all that it has stays alive.

        Raises:
            BadInput: it does not cover one of them, or one is shared by rates.
        """
        names = check_names(names, "names")
        with self._calls.at(tick):
            state = self._state
            reservation = state.live(token)
            leaves = covered_leaves(reservation, names, self.tree)
            for leaf in leaves:
                if leaf.kind is ResourceKind.CUMULATIVE:
                    raise BadInput(
                        f"{leaf.name!r} is shared by rates; release it, and ask anew: "
                        "what is lent comes back whole."
                    )
            inventory.see(self._state, reservation.owner)
            if state.listeners:
                owner = reservation.owner.name
                lent = names_of(leaves)
                state.emit(
                    Lent(tick=state.tick, token=token.id, owner=owner, leaves=lent)
                )
            reservation.lent |= frozenset(leaves)
            holdings.release(self._state, reservation, leaves, lends=True)

    def lent(self, token: Token) -> tuple[str, ...]:
        """Return the leaves that a token has lent, sorted; none if it is dead."""
        reservation = self._state.find(token)
        if isinstance(reservation, Refusal):
            return ()
        return names_of(reservation.lent)

    def recall(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> Ticket | None:
        """Take back what a token has lent; None if it has lent nothing of that.

        It comes before all that wait with no higher priority, and who has it gives way
        at once, whatever its policy says. A leaf that is frozen, or with preemption
        held by a higher priority, is waited for as by any request; after a recall in
        vain it is lent as before.

        Args:
            token: that lent them.
            tick: now.
            names: leaves; None: all that it has lent. With a stiffness come the motors
                that were lent with it, and no others.
        """
        names = None if names is None else check_names(names, "names")
        if not _lent_of(self._state.live(token), names):
            return None
        with self._calls.at(tick):
            reservation = self._state.live(token)
            lent = _lent_of(reservation, names)
            if not lent:  # given up by what was due before
                return None
            owner = reservation.owner
            request = Request(owner=owner.name, resources=names_of(lent), add_to=token)
            waiting = resolve(
                request, self.tree, self._state, owner, reservation, recalls=True
            )
            reservation.lent -= lent
            self._arrive(waiting)
        waiting.has_waited = True
        return waiting.ticket

    def _arrive(self, waiting: Waiting) -> None:
        """Grant a new request, or let it wait and ask those in its way."""
        inventory.see(self._state, waiting.owner)
        if self._state.listeners:
            queue.announce(self._state, waiting)
        if granting.try_now(self._state, waiting, arrives=True):
            return
        if self.cfg.denies_lower and granting.is_outranked(self._state, waiting):
            queue.fail(self._state, waiting, OutcomeKind.DENIED, Why.OUTRANKED)
            return
        queue.enqueue(self._state, waiting)
        if waiting.deadline is not None:
            negotiation.repeat(self._state, waiting)
        try:
            negotiation.demand(self._state, waiting, arrives=True)
        except BaseException:  # a policy that ends the program
            if waiting.is_waiting:
                queue.fail(self._state, waiting, OutcomeKind.CANCELLED, Why.WITHDRAWN)
            raise
        if waiting.is_waiting and waiting.deadline is None:
            is_outranked = granting.is_outranked(self._state, waiting)
            why = Why.OUTRANKED if is_outranked else Why.BUSY
            queue.fail(self._state, waiting, OutcomeKind.DENIED, why)

    # -- the body ---------------------------------------------------------------------

    def freeze(
        self,
        names: Iterable[str],
        by: str,
        tick: int,
        *,
        effort_cap: float | None = None,
        is_total: bool = True,
    ) -> None:
        """Let a virtual owner have leaves: a part is hot, broken or absent.

        Total: whoever holds one loses it, and nobody is granted it. Partial: it stays
        usable, with the effort capped.

        Args:
            names: leaves or composites, of these all leaves.
            by: name of the virtual owner, which says the cause.
            tick: now.
            effort_cap: largest stiffness of their joints, in [0, 1].
            is_total: whether nobody else may use them.

        Raises:
            BadInput: the cap is out of range, or a real owner has that name.
        """
        names, by = check_names(names, "names"), check_name(by, "a virtual owner")
        if type(is_total) is not bool:
            raise BadInput(f"is_total is {short(is_total)}; give true or false.")
        with self._calls.at(tick):
            leaves = inventory.leaves_of(self._state, names)
            negotiation.freeze(self._state, leaves, by, Freeze(is_total, effort_cap))

    def add_virtual_owner(self, name: str, tick: int) -> None:
        """Keep a name for a virtual owner, so that no real one takes it.

        Raises:
            BadInput: a real owner has it.
        """
        with self._calls.at(tick):
            negotiation.add_virtual_owner(
                self._state, check_name(name, "a virtual owner")
            )

    def thaw(self, by: str, tick: int, names: Iterable[str] | None = None) -> None:
        """Let a virtual owner give back leaves: its cause is over.

        Args:
            by: the virtual owner; what others hold stays theirs.
            tick: now.
            names: leaves or composites; None gives back all.
        """
        names = None if names is None else check_names(names, "names")
        by = check_name(by, "a virtual owner")
        with self._calls.at(tick):
            every = (self.tree.root.name,)
            negotiation.thaw(
                self._state,
                inventory.leaves_of(self._state, every if names is None else names),
                by,
            )

    def set_state(self, group: str, active: str | None, tick: int) -> None:
        """Note as a fact which state of a set is active: a fall is one.

        Those who need the state that is left lose it.
        """
        with self._calls.at(tick):
            states = self._state.group(group)
            leaf = None if active is None else self._state.state(group, active)
            negotiation.set_state(self._state, states, leaf)

    def ask_state(
        self, group: str, wanted: str | None, tick: int, by: str = ""
    ) -> bool:
        """Ask those who need the active state to let it be left.

        Args:
            group: the set of states.
            wanted: the one that is active if they do; None if none is for now: the
                body still has to get there, and a fact will say when.
            tick: now.
            by: who asks, for the notices.

        Returns:
            Whether all gave way at once.
        """
        by = check_name(by, "an asker") if by else ""
        with self._calls.at(tick):
            return negotiation.ask_state(self._state, group, wanted, by)

    # -- the list of resources --------------------------------------------------------

    def add_resource(
        self,
        name: str,
        parent: str,
        tick: int,
        kind: ResourceKind = ResourceKind.EXCLUSIVE,
    ) -> None:
        """Let a leaf be known from now on, such as a ball.

        Raises:
            BadInput: the name is taken, or the parent is a leaf in use.
        """
        with self._calls.at(tick):
            inventory.add_resource(self._state, name, parent, kind)

    def remove_resource(self, name: str, tick: int) -> None:
        """Forget a leaf; a composite that has no parts any more becomes one.

        Raises:
            BadInput: it has parts, is in use, or commands a part of the robot.
        """
        with self._calls.at(tick):
            inventory.remove_resource(self._state, name)

    # -- time -------------------------------------------------------------------------

    def keep_promises(self, tick: int) -> None:
        """Let holders give way that promised to by this tick, before anybody acts.

        So who waits for them acts in the very slot. Without this call they do so at
        `advance`, as all that is due.

        Raises:
            BadInput: the tick is earlier than an earlier call's, or a policy calls.
        """
        self._calls.call_in(tick)

    def advance(self, tick: int) -> None:
        """Let happen all that is due up to and including a tick.

        Raises:
            BadInput: the tick is earlier than an earlier call's, or a policy calls.
            Exception: what a listener raised since the last time.
        """
        self._calls.advance(tick)

    # -- inside -----------------------------------------------------------------------

    def _is_let(self, limit: Leaf, by: Reservation) -> bool:
        """Whether a token may limit motors now; asked again only after a change."""
        now = (self._calls.made, by)
        if limit.let != now and holdings.may_limit(limit, by):
            limit.let = now
        return limit.let == now

    def _allow(
        self, token: Token, owner: str, right: Right, tick: int, is_allowed: bool
    ) -> None:
        with self._calls.at(tick):
            holder, other = self._state.live(token), self._state.owner(owner)
            holdings.allow(self._state, holder, other, right, is_allowed=is_allowed)
            inventory.renew(self._state, holder.owner)

    def _call_hooks(self, event: Event) -> None:
        """Call the function that an owner gave for its losses, or for its stop."""
        if not isinstance(event, Notified | Expired):
            return
        record = self._state.owners.get(event.owner)
        if record is None:
            return
        hook: Callable[..., None] | None = None
        if isinstance(event, Expired) or event.kind is NoticeKind.LOST:
            hook = record.defaults.on_lost
        elif event.kind is NoticeKind.YIELD_BY:
            hook = record.defaults.on_stop
        if hook is not None and self._state.post is not None:
            self._state.post(hook, event)
        elif hook is not None:
            try:
                hook(event)
            except Exception as fault:  # noqa: BLE001  as foreign as a policy
                self.tell_raised(event.owner, fault, token=event.token)

    def is_hook(self, function: object, owner: str) -> bool:
        """Whether a function is what an owner gave for its losses, or for its stop."""
        record = self._state.owners.get(owner)
        if record is None:
            return False
        defaults = record.defaults
        return function is defaults.on_lost or function is defaults.on_stop

    def tell_raised(
        self,
        owner: str,
        fault: BaseException,
        *,
        token: TokenId | None = None,
        request: int | None = None,
    ) -> None:
        """Tell an owner what its own code raised, when it was told of something."""
        self._calls.tell(
            Notified(
                tick=self._state.tick,
                owner=owner,
                kind=NoticeKind.RAISED,
                token=token,
                request=request,
                error=error_text(fault),
            )
        )


def _lent_of(
    reservation: Reservation, names: tuple[str, ...] | None
) -> frozenset[Leaf]:
    """Return the leaves that a reservation has lent, of all or of these names.

    With a limit come the motors that it has only because of that.
    """
    lent = reservation.lent
    if names is None:
        return lent
    named = {x for x in lent if x.name in names}
    along = lent & reservation.implied
    return frozenset(
        named | along.intersection([motor for x in named for motor in x.limits])
    )
