"""Six rules of reservations: owner, outcome, queue, loss, gate, frozen.

The rules follow the requirements and keep their own records: they share the ledger's
terms, but none of its decisions.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.tokens import NoticeKind, Refusal, TokenId
from nao_testbed.models.resources import DeviceKind, ResourceKind

FULL = 10_000
"""100 % in the unit of shares."""
_Loss = t.Released | t.Revoked | t.Expired
Sentences = Iterator[str]
"""Texts of violations, each beginning with the name of its rule."""


@dataclass(eq=False)
class HeldToken:
    """Token as reconstructed from the trace."""

    id: TokenId
    owner: str
    covers: dict[str, int] = field(default_factory=dict)
    inside: dict[str, "HeldToken | None"] = field(default_factory=dict)
    """Leaf to the token of the ancestor that contains the leaf."""
    lent: set[str] = field(default_factory=set)
    ended: Refusal | None = None


class ReservationRules:
    """Checker with one method per kind of event; the first event is `Opened`."""

    _tick = -1

    # -- resources --------------------------------------------------------------------

    def _on_opened(self, event: t.Opened) -> None:
        """Reset all records: after a restart no token is held."""
        self._epoch, self._overtake = event.epoch, event.overtake_ticks
        self._leaves: dict[str, t.ResourceAdded] = {}
        self._seats: dict[str, list[HeldToken]] = defaultdict(list)
        self._frozen: dict[str, dict[str, bool]] = defaultdict(dict)
        self._active: dict[str | None, str | None] = {}
        self._parents: dict[str, str | None] = {}
        self._tokens: dict[TokenId, HeldToken] = {}
        self._live: dict[TokenId, HeldToken] = {}
        self._waits: dict[int, tuple[t.Requested, int]] = {}
        """Requests, with the ticks from which no equal may overtake them."""
        self._unnotified: dict[TokenId, t.Revoked] = {}
        self._taken: set[str] = set()
        self._has_changed = False
        self._last_command = 0
        self._written = -1
        self._commands: dict[int, t.Commanded] = {}
        self._driven: dict[str, TokenId] = {}
        self._unsafe: dict[str, int] = {}

    def _on_reconfigured(self, event: t.Reconfigured) -> None:
        self._overtake = event.overtake_ticks

    def _on_resourceadded(self, event: t.ResourceAdded) -> None:
        self._leaves[event.name] = event

    def _on_owneradded(self, event: t.OwnerAdded) -> None:
        self._parents[event.owner] = event.parent

    def _on_statechanged(self, event: t.StateChanged) -> Sentences:
        left, self._active[event.group] = self._active.get(event.group), event.active
        self._has_changed = True
        for token in self._seats[left] if left else ():
            yield f"owner: {token.owner} holds {left} after the state was left"

    def _is_frozen(self, leaf: str) -> bool:
        return any(self._frozen[leaf].values())

    def _scope(self, leaf: str, owner: str) -> HeldToken | None:
        """Return the token of the nearest ancestor that contains a leaf."""
        above = self._parents.get(owner)
        while above is not None and self._leaves[leaf].kind is not ResourceKind.STATE:
            for token in self._seats[leaf]:
                if token.owner == above:
                    return token
            above = self._parents.get(above)
        return None

    def _is_free(self, leaf: str, owner: str, share: int) -> bool:
        if self._is_frozen(leaf):
            return False
        if self._leaves[leaf].kind is ResourceKind.STATE:
            return self._active.get(self._leaves[leaf].parent) == leaf
        scope, seats = self._scope(leaf, owner), self._seats[leaf]
        used = sum(x.covers[leaf] for x in seats if x.inside[leaf] is scope)
        return used + share <= (scope.covers[leaf] if scope else FULL)

    # -- requests ---------------------------------------------------------------------

    def _before(self, leaf: str, mine: t.Requested) -> Sentences:
        """Yield owners with earlier requests for a leaf that must not be overtaken."""
        if self._leaves[leaf].kind is ResourceKind.STATE:
            return  # a state needs no queue
        key = (-mine.priority, mine.arrival, mine.request)
        for other, firm_at in self._waits.values():
            if leaf in other.shares and (
                (-other.priority, other.arrival, other.request) < key
                and (firm_at <= self._tick or other.priority > mine.priority)
                and self._scope(leaf, other.owner) is self._scope(leaf, mine.owner)
            ):
                yield other.owner

    def _on_requested(self, event: t.Requested) -> None:
        is_firm = event.resumes is not None or event.recalls
        firm_at = event.tick + (0 if is_firm else self._overtake)
        self._waits[event.request] = (event, firm_at)
        self._has_changed = True

    def _on_granted(self, event: t.Granted) -> Sentences:
        asked, _ = self._waits.pop(event.request, (None, 0))
        who, self._has_changed = event.owner, True
        token = self._tokens.get(event.token)
        if asked is None:
            yield f"outcome: request {event.request} of {who} is granted, not pending"
            return
        given = [asked.optional[x] for x in asked.optional if x not in event.missing]
        if set(event.shares) != set(asked.shares).union(*given):
            got = [*event.shares]
            yield f"outcome: {who} requested {[*asked.shares]}, is granted {got}"
        last = next(reversed(self._tokens), TokenId(0, 0))
        if token.ended if token else event.token <= last:
            yield f"outcome: {who} is granted the old token {event.token}"
        if any(lost.request == event.request for lost in self._unnotified.values()):
            yield f"loss: {who} is granted before the losers are notified"
        token = self._tokens.setdefault(event.token, HeldToken(event.token, who))
        self._live[event.token] = token
        for leaf, share in event.shares.items():
            scope = self._scope(leaf, who)
            if self._is_frozen(leaf):
                yield f"frozen: {who} is granted {leaf}, which is frozen"
            elif not self._is_free(leaf, who, share):
                owners = ", ".join(x.owner for x in self._seats[leaf])
                yield f"owner: {who} is granted {leaf}, held by {owners or 'none'}"
            if event.inside.get(leaf) != (scope.id if scope else None):
                yield f"owner: {who} has {leaf} from a token that is not its parent's"
            for passed in self._before(leaf, asked) if leaf not in self._taken else ():
                yield f"queue: {who} is granted {leaf} before {passed}"
            self._seats[leaf].append(token)
            token.covers[leaf], token.inside[leaf] = share, scope
            token.lent.discard(leaf)

    def _on_failed(self, event: t.Failed) -> Sentences:
        self._has_changed = True
        if self._waits.pop(event.request, None) is None:
            yield f"outcome: request {event.request} of {event.owner} ends twice"

    def _on_settled(self, _: t.Settled) -> Sentences:
        for lost in self._unnotified.values():
            yield f"loss: {lost.owner} is not notified of {', '.join(lost.lost)}"
        for asked, _firm in self._waits.values() if self._has_changed else ():
            grown = asked.add_to and self._tokens.get(asked.add_to)
            if asked.shares and all(
                not self._leaves[x].limits  # the owner of the motors must consent
                and not (grown and x in grown.covers)  # the token covers it already
                and self._is_free(x, asked.owner, share)
                and not any(self._before(x, asked))
                for x, share in asked.shares.items()
            ):
                yield f"queue: {asked.owner} waits for the free {[*asked.shares]}"
        self._has_changed = False
        self._unnotified.clear()
        self._taken.clear()

    # -- losses -----------------------------------------------------------------------

    def _record_loss(self, event: _Loss, leaves: t.Names, ended: Refusal) -> Sentences:
        held, is_whole = self._tokens.get(event.token), getattr(event, "is_whole", True)
        self._has_changed = True
        if held is None or held.ended or not set(leaves) <= set(held.covers):
            yield f"loss: {event.token} loses {leaves}, which it does not cover"
            return
        for leaf in leaves:
            self._seats[leaf].remove(held)
            del held.covers[leaf], held.inside[leaf]
            if any(inner.inside[leaf] is held for inner in self._seats[leaf]):
                yield f"loss: {held.owner} releases {leaf} before its children do"
            if self._driven.get(leaf) == event.token:
                self._unsafe.setdefault(leaf, self._tick)
        has_lent_all = bool(leaves) and held.lent.issuperset(leaves)
        if is_whole != (not held.covers and not has_lent_all):
            verb = "ends" if is_whole else "continues"
            yield f"loss: {held.id} of {held.owner} {verb} but has {[*held.covers]}"
        if is_whole:
            held.ended = ended
            del self._live[held.id]

    def _on_lent(self, event: t.Lent) -> None:
        self._tokens[event.token].lent.update(event.leaves)

    def _on_released(self, event: t.Released) -> Sentences:
        yield from self._record_loss(event, event.leaves, Refusal.RELEASED)

    def _on_expired(self, event: t.Expired) -> Sentences:
        yield from self._record_loss(event, event.leaves, Refusal.EXPIRED)

    def _on_revoked(self, event: t.Revoked) -> Sentences:
        leaves = event.lost + event.freed
        self._unnotified[event.token] = event
        self._taken.update(leaves)
        yield from self._record_loss(event, leaves, Refusal.REVOKED)

    def _on_notified(self, event: t.Notified) -> Sentences:
        if event.kind is NoticeKind.LOST and event.token is not None:
            lost = self._unnotified.pop(event.token, None)
            if lost is None or (lost.lost, lost.freed) != (event.leaves, event.freed):
                yield f"loss: {event.owner} gets a wrong notice for {event.token}"

    # -- the gate, and virtual owners -------------------------------------------------

    def _on_commanded(self, event: t.Commanded) -> Sentences:
        if event.command <= self._last_command:
            yield f"gate: command number {event.command} was used before"
        self._last_command = event.command
        self._commands[event.command] = event

    def _expected_refusal(self, asked: t.Commanded) -> Refusal | None:
        token, leaf = asked.token, asked.resource
        if token is None:
            return Refusal.NO_TOKEN
        if token.epoch != self._epoch:
            return Refusal.WRONG_EPOCH
        held = self._tokens.get(token)
        if held is None or not asked.is_genuine:
            return Refusal.UNKNOWN
        if held.ended or self._is_frozen(leaf):
            return held.ended or Refusal.FROZEN
        is_one = self._leaves[leaf].kind is ResourceKind.EXCLUSIVE
        is_lent = is_one and self._seats[leaf][-1:] != [held]
        return Refusal.NOT_COVERED if leaf not in held.covers or is_lent else None

    def _answer(
        self, event: t.Executed | t.Rejected, said: Refusal | None
    ) -> Sentences:
        asked = self._commands.pop(event.command, None)
        name = f"command {event.command} on {event.resource}"
        if asked is None or asked.resource != event.resource:
            yield f"gate: {name} is answered but was not sent"
            return
        why, ways = self._expected_refusal(asked), {None, Refusal.NOT_COVERED}
        leaf = self._leaves[event.resource]
        is_by_consent = asked.is_shift or bool(leaf.limits)
        if why is not said and not (is_by_consent and {why, said} == ways):
            rule = "frozen" if said is None and why is Refusal.FROZEN else "gate"
            yield f"{rule}: {name} by {event.token}: {said or 'written'}, not {why}"

    def _on_rejected(self, event: t.Rejected) -> Sentences:
        yield from self._answer(event, event.reason)

    def _on_executed(self, event: t.Executed) -> Sentences:
        asked, leaf = self._commands.get(event.command), event.resource
        yield from self._answer(event, None)
        self._written = event.tick
        if asked is not None and not asked.is_shift:
            self._unsafe.pop(leaf, None)
            if self._leaves[leaf].device is DeviceKind.MOTOR:
                self._driven[leaf] = event.token

    def _on_madesafe(self, event: t.MadeSafe) -> None:
        for leaf in event.leaves:
            self._driven.pop(leaf, None)
            self._unsafe.pop(leaf, None)

    def _on_frozen(self, event: t.Frozen) -> Sentences:
        self._has_changed = True
        for leaf in event.leaves:
            self._frozen[leaf][event.by] = event.is_total
            for token in self._seats[leaf] if event.is_total else ():
                yield f"frozen: {token.owner} keeps {leaf}, frozen by {event.by}"

    def _on_thawed(self, event: t.Thawed) -> Sentences:
        self._has_changed = True
        for leaf in event.leaves:
            if self._frozen[leaf].pop(event.by, None) is None:
                yield f"frozen: {event.by} unfreezes {leaf}, which it did not freeze"

    # -- time -------------------------------------------------------------------------

    def _on_slot_end(self, tick: int) -> Sentences:
        """Check the conditions that must hold at the end of the last tick."""
        late = [x for x, since in self._unsafe.items() if since < self._written < tick]
        for leaf in late:
            del self._unsafe[leaf]
            yield f"frozen: {leaf} lost its writer and was not made safe"

    def _on_ticked(self, event: t.Ticked) -> Sentences:
        for asked, _ in self._waits.values():
            limit = asked.timeout_ticks
            if limit is not None and event.tick >= asked.tick + limit:
                yield f"outcome: {asked.owner} waits longer than {limit} ticks"
