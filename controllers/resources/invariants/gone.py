"""I-9: who is gone leaves nothing behind."""

import heapq

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import (
    OwnerState,
    RequestState,
    TokenState,
)
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.words import OutcomeKind, Why


class Gone(Judge):
    """An owner that is gone, or silent for its time to live, holds and awaits nothing.

    Nor do its descendants. It may come back: what it asks for anew is its own.
    """

    invariants = ("I-9",)

    def __init__(self, replay: Replay) -> None:
        """Begin with everybody there."""
        super().__init__(replay)
        self._ending: list[TokenState] = []
        self._cancelled: list[RequestState] = []
        self._crashed: set[OwnerState] = set()
        """Owners that are gone since this call began."""
        self._due: list[tuple[int, str]] = []

    def rules(self) -> tuple[Rule, ...]:
        """Look at crashes, at what ends by them, and at signs of life."""
        return (
            before(t.Crashed, self.note_crash),
            before(t.Expired, self.owner_is_gone),
            before(t.Failed, self.asker_is_gone),
            after(t.OwnerAdded, self.note_life),
            after(t.Requested, self.note_life),
            after(t.Released, self.note_life),
            after(t.Renewed, self.note_life),
            after(t.Allowed, self.note_consent),
            before(t.Settled, self.settled),
            before(t.Ticked, self.nobody_is_silent),
        )

    def note_crash(self, event: t.Crashed) -> Findings:
        """Remember what must end."""
        family = self.replay.owner(event.owner).family()
        self._crashed.update(family)
        for owner in family:
            self._ending.extend(owner.tokens.values())
            self._cancelled.extend(owner.waiting.values())
        yield from ()

    def owner_is_gone(self, event: t.Expired) -> Findings:
        """Only the tokens of those expire."""
        if self.replay.owner(event.owner) not in self._crashed:
            yield "I-9", f"token {event.token} expires; {event.owner} is not gone"

    def asker_is_gone(self, event: t.Failed) -> Findings:
        """Only the requests of those are cancelled for it."""
        is_gone = self.replay.owner(event.owner) in self._crashed
        if event.why is Why.OWNER_GONE and not is_gone:
            yield "I-9", f"request {event.request} ends; {event.owner} is not gone"

    def note_life(
        self, event: t.OwnerAdded | t.Requested | t.Released | t.Renewed
    ) -> Findings:
        """Remember when silence would be too long."""
        yield from self._note_life(self.replay.owner(event.owner), event.tick)

    def note_consent(self, event: t.Allowed) -> Findings:
        """Who lets others shift or limit what it holds is there."""
        held = self.replay.live(event.token)
        if held is not None:
            yield from self._note_life(held.owner, event.tick)

    def _note_life(self, owner: OwnerState, tick: int) -> Findings:
        due = _due(owner)
        if due is not None and owner.last_life == tick:
            heapq.heappush(self._due, (due, owner.name))
        yield from ()

    def settled(self, event: t.Settled) -> Findings:
        """After a call all of it has ended."""
        for token in self._ending:
            if token.ended is None:
                yield "I-9", f"{token.owner.name} is gone; token {token.id} is valid"
        for owner in self._crashed:
            if owner.is_entrusted and owner.is_gone:
                yield "I-9", f"{owner.name} is gone; it is entrusted"
        for request in self._cancelled:
            if request.outcome is not OutcomeKind.CANCELLED:
                which = f"request {request.number}"
                yield "I-9", f"{request.owner.name} is gone; {which} is not cancelled"
        self._ending.clear()
        self._cancelled.clear()
        self._crashed.clear()
        yield from self._silent(event.tick - 1)

    def nobody_is_silent(self, event: t.Ticked) -> Findings:
        """When a tick is over, whose time is up has nothing."""
        yield from self._silent(event.tick)

    def _silent(self, tick: int) -> Findings:
        while self._due and self._due[0][0] <= tick:
            due, name = heapq.heappop(self._due)
            owner = self.replay.owner(name)
            has_any = owner.tokens or owner.waiting
            if _due(owner) == due and has_any and not owner.is_gone:
                yield "I-9", f"{name} is silent since {owner.last_life}, not gone"


def _due(owner: OwnerState) -> int | None:
    limit = owner.time_to_live_ticks
    return None if limit is None else owner.last_life + max(1, limit)
