"""Traces written as sentences, true or false: each step an event or two.

`ann takes HeadYaw; bob asks HeadYaw limit=20.` A step is a subject, a verb, and what it
is about: leaves are joined by commas, requests and tokens are numbers of the epoch, in
the order of their coming. A full stop settles the call. A trace knows nothing of the
rules: it says what it is told, with the plainest values for what is left open.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants import check
from nao_testbed.controllers.arbitration.policies import AnswerKind
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Right,
    TokenId,
    Why,
)
from nao_testbed.models.resources import DeviceKind, ResourceKind

EXCLUSIVE, STATE = ResourceKind.EXCLUSIVE, ResourceKind.STATE
TREE = (
    ("root", None, None),
    ("CPU", "root", ResourceKind.CUMULATIVE),
    ("Head", "root", None),
    ("HeadPitch", "Head", EXCLUSIVE),
    ("HeadYaw", "Head", EXCLUSIVE),
    ("LHand", "root", EXCLUSIVE),
    ("State", "root", None),
    ("Sit", "State", STATE),
    ("Stand", "State", STATE),
)
OWNERS = {"ann": None, "bob": None, "cat": None, "kid": "ann", "sib": "ann"}
ENDS = {
    "busy": (OutcomeKind.DENIED, Why.BUSY),
    "deadlock": (OutcomeKind.DENIED, Why.DEADLOCK),
    "timeout": (OutcomeKind.TIMED_OUT, Why.TIMEOUT),
    "frozen": (OutcomeKind.TIMED_OUT, Why.FROZEN),
    "tried_frozen": (OutcomeKind.DENIED, Why.FROZEN),
    "withdrawn": (OutcomeKind.CANCELLED, Why.WITHDRAWN),
    "gone": (OutcomeKind.CANCELLED, Why.OWNER_GONE),
}


class Case(NamedTuple):
    """Two traces that differ in what breaks an invariant."""

    invariant: str
    name: str
    right: list[str]
    wrong: list[str]


def read_cases() -> Iterator[Case]:
    """Read traces.txt: `-` marks lines of the right trace alone, `+` of the wrong."""
    path = Path(__file__).with_name("traces.txt")
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        heading, *lines = block.splitlines()
        _, invariant, name = heading.split(" ", 2)
        right = [line[2:] for line in lines if line[0] in " -"]
        wrong = [line[2:] for line in lines if line[0] in " +"]
        yield Case(invariant, name, right, wrong)


def broken(*lines: str) -> set[str]:
    """Return the invariants that a trace breaks."""
    return {violation.invariant for violation in check(Trace(*lines).events)}


class Trace:
    """A trace in the making."""

    def __init__(self, *lines: str) -> None:
        self.events: list[t.Event] = []
        self.open("1", "by_priority")
        self.tell(*lines)

    def tell(self, *lines: str) -> None:
        for line in lines:
            for step in line.removesuffix(".").split(";"):
                words = [word for word in step.split() if "=" not in word]
                terms = dict(word.split("=") for word in step.split() if "=" in word)
                if words and words[0] in ("at", "until", "open", "tokens", "again"):
                    getattr(self, words[0])(*words[1:], **terms)
                elif words:
                    getattr(self, words[1])(words[0], *words[2:], **terms)
            if line.endswith("."):
                self.say(t.Settled)

    def say(self, event: type[t.Event], **fields: Any) -> None:
        self.events.append(event(tick=self.tick, **fields))

    def id(self, token: str | None) -> TokenId | None:
        return TokenId(self.epoch, int(token)) if token and token != "-" else None

    # -- the frame --------------------------------------------------------------------

    def at(self, tick: str) -> None:
        self.tick = int(tick)

    def until(self, tick: str) -> None:
        """Let all happen that is due up to a tick: nothing."""
        self.at(tick)
        self.say(t.Ticked)

    def tokens(self, last: str) -> None:
        self.last_token = int(last)

    def again(self) -> None:
        self.events.append(self.events[-1])

    def open(self, epoch: str, preemption: str = "off", overtake: str = "0") -> None:
        self.epoch, self.tick, self.last_token = int(epoch), 0, 0
        self.requests: list[dict[str, int]] = []
        self.holder: dict[str, str] = {}
        self.say(t.Opened, epoch=self.epoch, **rules(preemption, overtake))
        for name, parent, kind in TREE:
            device = DeviceKind.MOTOR if kind is EXCLUSIVE else None
            node = {"name": name, "parent": parent, "kind": kind, "device": device}
            self.say(t.ResourceAdded, **node)
        for name, above in OWNERS.items():
            self.joins(name, above)
            self.say(t.Settled)

    def change(self, _: str, preemption: str = "", overtake: str = "0") -> None:
        self.say(t.Reconfigured, **rules(preemption or "by_priority", overtake))

    def joins(self, who: str, parent: str | None = None, live: str = "") -> None:
        limit = int(live) if live else None
        self.say(t.OwnerAdded, owner=who, parent=parent, time_to_live_ticks=limit)

    def crashes(self, who: str) -> None:
        self.say(t.Crashed, owner=who)

    def comes(self, name: str, parent: str, limits: str = "") -> None:
        device = DeviceKind.STIFFNESS if limits else None
        node = {"name": name, "parent": parent, "kind": EXCLUSIVE, "device": device}
        self.say(t.ResourceAdded, limits=names_of(limits), **node)

    def goes(self, name: str) -> None:
        self.say(t.ResourceRemoved, name=name)

    # -- asking -----------------------------------------------------------------------

    def asks(self, who: str, leaves: str, **terms: str) -> None:
        """Let somebody ask, for up to 100 ticks."""
        self.requests.append(shares_of(leaves))
        number, limit = len(self.requests), terms.get("limit", "100")
        units = [
            unit.split(":") for unit in terms.get("optional", "").split("/") if unit
        ]
        self.say(
            t.Requested,
            request=number,
            owner=who,
            shares=self.requests[-1],
            optional={name: names_of(below) for name, below in units},
            priority=int(terms.get("priority", 0)),
            arrival=int(terms.get("arrival", number)),
            timeout_ticks=None if limit == "-" else int(limit),
            loss=Loss(terms.get("loss", "whole")),
            wins_ties=terms.get("wins") == "yes",
            keeps_ties=terms.get("keeps") != "no",
            add_to=self.id(terms.get("adds")),
            resumes=self.id(terms.get("resumes")),
        )

    def gets(
        self,
        who: str,
        request: str,
        leaves: str = "",
        token: str = "",
        missing: str = "",
        inside: str = "",
    ) -> None:
        """Let a request have leaves, by a new token unless one is given."""
        shares = shares_of(leaves) if leaves else self.requests[int(request) - 1]
        if not token:
            self.last_token += 1
            token = str(self.last_token)
        self.holder[token] = who
        self.say(
            t.Granted,
            request=int(request),
            owner=who,
            token=self.id(token),
            shares=shares,
            missing=names_of(missing),
            inside=dict.fromkeys(shares, self.id(inside)) if inside else {},
        )

    def takes(self, who: str, leaves: str, inside: str = "", **terms: str) -> None:
        self.asks(who, leaves, **terms)
        self.gets(who, str(len(self.requests)), inside=inside)

    def fails(self, who: str, request: str, how: str) -> None:
        kind, why = ENDS[how]
        self.say(t.Failed, request=int(request), owner=who, kind=kind, why=why)

    def hears(self, who: str, request: str) -> None:
        """Tell an owner how its request ended."""
        self.say(t.Notified, owner=who, kind=NoticeKind.OUTCOME, request=int(request))

    def demands(self, who: str, token: str, leaves: str, request: str) -> None:
        holder = self.holder[token]
        self.is_told(holder, token, "demanded", leaves, by=who, request=request)

    def answers(self, who: str, token: str, request: str, says: str) -> None:
        asked = {"owner": who, "token": self.id(token), "request": number(request)}
        self.say(t.Answered, answer=AnswerKind(says), **asked)

    def is_told(
        self, who: str, token: str, kind: str, leaves: str, **terms: str
    ) -> None:
        self.say(
            t.Notified,
            owner=who,
            kind=NoticeKind(kind.replace("_", " ")),
            token=self.id(token),
            leaves=names_of(leaves),
            by=terms.get("by", ""),
            why=LossCause(terms["why"]) if "why" in terms else None,
            request=number(terms.get("request", "-")),
            until_tick=number(terms.get("until", "-")),
        )

    # -- giving and losing ------------------------------------------------------------

    def drops(self, who: str, token: str, leaves: str, whole: str = "yes") -> None:
        named, is_whole = tuple(leaves.split(",")), whole == "yes"
        what = {"token": self.id(token), "owner": who, "leaves": named}
        self.say(t.Released, is_whole=is_whole, **what)

    def revokes(self, by: str, token: str, lost: str, why: str, **terms: str) -> None:
        """Let a holder lose leaves, and tell it so."""
        what = {
            "token": self.id(token),
            "owner": self.holder[token],
            "by": by,
            "why": LossCause(why.replace("_", " ")),
            "freed": names_of(terms.get("freed", "")),
        }
        cause = number(terms.get("request", "-"))
        is_whole = terms.get("whole") != "no"
        named = names_of(lost)
        self.say(t.Revoked, lost=named, request=cause, is_whole=is_whole, **what)
        if terms.get("told") != "no":
            resume, kind = number(terms.get("resume", "-")), NoticeKind.LOST
            self.say(t.Notified, kind=kind, leaves=named, request=resume, **what)

    def expires(self, who: str, token: str, leaves: str) -> None:
        self.say(t.Expired, token=self.id(token), owner=who, leaves=names_of(leaves))

    # -- body, rights and gate --------------------------------------------------------

    def freezes(self, by: str, leaves: str) -> None:
        hold = {"by": by, "effort_cap": None, "is_total": True}
        self.say(t.Frozen, leaves=names_of(leaves), **hold)

    def caps(self, by: str, leaves: str, cap: str = "0.5") -> None:
        hold = {"by": by, "effort_cap": float(cap), "is_total": False}
        self.say(t.Frozen, leaves=names_of(leaves), **hold)

    def thaws(self, by: str, leaves: str) -> None:
        self.say(t.Thawed, leaves=names_of(leaves), by=by)

    def shows(self, _: str, state: str) -> None:
        self.say(t.StateChanged, group="State", active=None if state == "-" else state)

    def keeps(self, holders: str, group: str, wanted: str) -> None:
        named = names_of(holders)
        self.say(t.StateRefused, group=group, wanted=wanted, holders=named)

    def is_entrusted(self, who: str, yes: str) -> None:
        self.say(t.Entrusted, owner=who, is_entrusted=yes == "yes")

    def may(self, who: str, token: str, right: str, yes: str) -> None:
        said = {"owner": who, "right": Right(right), "is_allowed": yes == "yes"}
        self.say(t.Allowed, token=self.id(token), **said)

    def receives(self, _: str, *command: str, **terms: str) -> None:
        """Let the gate have a command: its number, token and leaf."""
        is_genuine = terms.get("genuine") != "no" and command[1] != "-"
        is_shift = terms.get("shift") == "yes"
        said = self._command(*command)
        self.say(t.Commanded, is_genuine=is_genuine, is_shift=is_shift, **said)

    def writes(self, _: str, *command: str) -> None:
        self.say(t.Executed, **self._command(*command))

    def refuses(self, _: str, number: str, token: str, leaf: str, reason: str) -> None:
        why = Refusal(reason)
        self.say(t.Rejected, reason=why, **self._command(number, token, leaf))

    def leaves_out(self, _: str, command: str, leaves: str) -> None:
        self.say(t.LeftOut, command=int(command), leaves=names_of(leaves))

    def makes_safe(self, _: str, leaves: str) -> None:
        self.say(t.MadeSafe, leaves=names_of(leaves))

    def unshifts(self, _: str, leaves: str) -> None:
        self.say(t.Unshifted, leaves=names_of(leaves))

    def _command(self, number: str, token: str, leaf: str) -> dict[str, Any]:
        return {"command": int(number), "token": self.id(token), "resource": leaf}


def rules(preemption: str, overtake: str) -> dict[str, Any]:
    """Return the rules of a manager as its events tell them."""
    kind = Preemption(preemption)
    return {"preemption": kind, "retry_ticks": 50, "overtake_ticks": int(overtake)}


def number(word: str) -> int | None:
    return None if word == "-" else int(word)


def names_of(leaves: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in leaves.split(",") if name))


def shares_of(leaves: str) -> dict[str, int]:
    """Read "HeadYaw,LHand,CPU:10": whole leaves, states, rates in percent."""
    found = {}
    for word in names_of(leaves):
        name, _, percent = word.partition(":")
        share = 0 if name in ("Sit", "Stand") else 10_000
        found[name] = round(float(percent) * 100) if percent else share
    return found
