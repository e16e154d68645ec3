"""Traces written by hand, an event a line, true or false.

A tale knows nothing of the rules: it says what it is told, with the plainest values for
what is left open.
"""

from collections.abc import Mapping
from typing import Any

from controllers.arbitration import events as t
from controllers.arbitration.invariants import Violation, check
from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Preemption,
    Refusal,
    TokenId,
)
from models.resources import DeviceKind
from tests.controllers.arbitration.invariants.trace_words import (
    ENDS,
    EXCLUSIVE,
    OWNERS,
    TREE,
    WHOLE,
    names_of,
    shares_of,
)


class Tale:
    """A trace in the making; tokens are numbers of the epoch that was opened last."""

    def __init__(self, preemption: Preemption = Preemption.OFF) -> None:
        self.events: list[t.Event] = []
        self.tick = 0
        self.epoch = 0
        self.requests = 0
        self.tokens = 0
        self.open(1, preemption)

    def violations(self, *, is_over: bool = False) -> tuple[Violation, ...]:
        return check(self.events, is_over=is_over)

    def say(self, event: type[t.Event], **fields: Any) -> None:
        self.events.append(event(tick=self.tick, **fields))

    def id(self, token: int | None) -> TokenId | None:
        return None if token is None else TokenId(self.epoch, token)

    # -- the frame --------------------------------------------------------------------

    def open(
        self, epoch: int, preemption: Preemption = Preemption.OFF, overtake: int = 0
    ) -> None:
        self.epoch = epoch
        self.tick = self.requests = 0
        self.say(
            t.Opened,
            epoch=epoch,
            preemption=preemption,
            retry_ticks=50,
            overtake_ticks=overtake,
        )
        for name, parent, kind in TREE:
            device = DeviceKind.MOTOR if kind is EXCLUSIVE else None
            self.say(
                t.ResourceAdded, name=name, parent=parent, kind=kind, device=device
            )
        for name, parent in OWNERS:
            self.owner(name, parent)

    def reconfigure(
        self, preemption: Preemption = Preemption.BY_PRIORITY, overtake: int = 0
    ) -> None:
        """Change the rules, in a call of its own."""
        self.say(
            t.Reconfigured,
            preemption=preemption,
            retry_ticks=50,
            overtake_ticks=overtake,
        )
        self.settle()

    def owner(
        self, name: str, parent: str | None = None, live: int | None = None
    ) -> None:
        self.say(t.OwnerAdded, owner=name, parent=parent, time_to_live_ticks=live)
        self.settle()

    def settle(self) -> None:
        self.say(t.Settled)

    def until(self, tick: int) -> None:
        """Let all happen that is due up to a tick: nothing."""
        self.tick = tick
        self.say(t.Ticked)

    # -- asking -----------------------------------------------------------------------

    def ask(self, owner: str, leaves: str, **terms: Any) -> int:
        """Let somebody ask, for up to 100 ticks; return the request's number."""
        self.requests += 1
        said: dict[str, Any] = {
            "request": self.requests,
            "optional": {},
            "priority": 0,
            "arrival": self.requests,
            "timeout_ticks": 100,
            "loss": WHOLE,
            "wins_ties": False,
            "keeps_ties": True,
            "add_to": None,
            "resumes": None,
        }
        self.say(t.Requested, owner=owner, shares=shares_of(leaves), **said | terms)
        return self.requests

    def grant(
        self,
        request: int,
        owner: str,
        leaves: str,
        *,
        token: int | None = None,
        missing: str = "",
        inside: Mapping[str, int] | None = None,
    ) -> int:
        """Let a request have leaves, by a new token unless one is given."""
        if token is None:
            self.tokens += 1
            token = self.tokens
        self.say(
            t.Granted,
            request=request,
            owner=owner,
            token=self.id(token),
            shares=shares_of(leaves),
            missing=names_of(missing),
            inside={leaf: self.id(outer) for leaf, outer in (inside or {}).items()},
        )
        return token

    def take(
        self,
        owner: str,
        leaves: str,
        inside: Mapping[str, int] | None = None,
        **terms: Any,
    ) -> int:
        """Let somebody ask and have, in one call; return the token."""
        token = self.grant(
            self.ask(owner, leaves, **terms), owner, leaves, inside=inside
        )
        self.settle()
        return token

    def fail(self, request: int, owner: str, how: str) -> None:
        kind, why = ENDS[how]
        self.say(t.Failed, request=request, owner=owner, kind=kind, why=why)

    def tell_outcome(self, request: int, owner: str) -> None:
        self.notify(owner, NoticeKind.OUTCOME, request=request)

    def demand(
        self, owner: str, token: int, leaves: str, by: str, request: int | None
    ) -> None:
        self.notify(
            owner,
            NoticeKind.DEMANDED,
            token=self.id(token),
            leaves=names_of(leaves),
            by=by,
            request=request,
        )

    def answer(
        self, owner: str, token: int, request: int | None, says: AnswerKind
    ) -> None:
        told = {"owner": owner, "token": self.id(token), "request": request}
        self.say(t.Answered, answer=says, **told)

    def notify(self, owner: str, kind: NoticeKind, **fields: Any) -> None:
        self.say(t.Notified, owner=owner, kind=kind, **fields)

    # -- giving and losing ------------------------------------------------------------

    def release(
        self, token: int, owner: str, leaves: str, *, is_whole: bool = True
    ) -> None:
        self.say(
            t.Released,
            token=self.id(token),
            owner=owner,
            leaves=names_of(leaves),
            is_whole=is_whole,
        )

    def revoke(
        self,
        token: int,
        owner: str,
        lost: str,
        *,
        by: str,
        why: LossCause,
        freed: str = "",
        request: int | None = None,
        is_whole: bool = True,
        is_told: bool = True,
        resume: int | None = None,
    ) -> None:
        """Let somebody lose leaves, and tell so."""
        what = {"token": self.id(token), "owner": owner, "by": by, "why": why}
        gone = {"freed": names_of(freed)}
        self.say(
            t.Revoked,
            lost=names_of(lost),
            request=request,
            is_whole=is_whole,
            **what,
            **gone,
        )
        if is_told:
            leaves = names_of(lost)
            self.say(
                t.Notified,
                kind=NoticeKind.LOST,
                leaves=leaves,
                request=resume,
                **what,
                **gone,
            )

    def expire(self, token: int, owner: str, leaves: str) -> None:
        self.say(t.Expired, token=self.id(token), owner=owner, leaves=names_of(leaves))

    # -- body and gate ----------------------------------------------------------------

    def freeze(self, leaves: str, by: str = "hot", *, is_total: bool = True) -> None:
        cap = None if is_total else 0.5
        named = names_of(leaves)
        self.say(t.Frozen, leaves=named, by=by, effort_cap=cap, is_total=is_total)

    def thaw(self, leaves: str, by: str = "hot") -> None:
        self.say(t.Thawed, leaves=names_of(leaves), by=by)

    def be(self, state: str | None) -> None:
        self.say(t.StateChanged, group="State", active=state)

    def command(
        self, number: int, token: int | None, leaf: str, *, is_genuine: bool = True
    ) -> None:
        said = {"command": number, "token": self.id(token), "resource": leaf}
        self.say(t.Commanded, is_genuine=is_genuine and token is not None, **said)

    def write(self, number: int, token: int, leaf: str) -> None:
        self.say(t.Executed, command=number, token=self.id(token), resource=leaf)

    def refuse(
        self, number: int, token: int | None, leaf: str, reason: Refusal
    ) -> None:
        said = {"command": number, "token": self.id(token), "resource": leaf}
        self.say(t.Rejected, reason=reason, **said)
