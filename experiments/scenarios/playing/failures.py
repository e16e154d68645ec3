"""Note what went wrong in a run that nobody asked about.

Behaviours that failed, commands that were refused or cut off, requests that were not
granted, and why; why a behaviour never acted; the rules of every trace
(`nao_testbed.testing`), checked as the run goes on.
"""

from collections.abc import Iterable, Mapping, Sequence

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Frozen,
    Granted,
    NamedShares,
    Released,
    Requested,
    Revoked,
    StateChanged,
    Thawed,
)
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.controllers.schemas.events import (
    SchemaFailed,
    SchemaStarted,
    StateChangedTo,
    Woken,
    Won,
)
from nao_testbed.controllers.trace_rules import TraceChecker, Violation
from nao_testbed.controllers.transmitter.events import OrderEnded, OrderReceived
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.scenarios.playing.result import RunFailure
from nao_testbed.experiments.scenarios.vocabulary.judge import Verdict

MOST_KEPT = 1000
"""Failures that are kept: one in each slot would be ten thousands in minutes."""
QUIET = frozenset({EndReason.DONE, EndReason.DELETED, EndReason.REPLACED})
"""Ends of an order that its sender wanted."""


class RunFailures:
    """A listener of the ledger."""

    def __init__(self, tick_s: float) -> None:
        """Begin with none."""
        self.kept: list[RunFailure] = []
        """The first ones, in order."""
        self._tick_s = tick_s

    def hear(self, event: Event) -> None:
        """Note an event if it is one."""
        match event:
            case SchemaFailed():
                what = f"{event.path} failed: {event.error}"
            case OrderReceived(refused=why) if why is not None:
                what = f"command {event.name!r} was refused: {why}"
            case OrderEnded() if event.reason not in QUIET:
                detail = f" ({event.detail})" if event.detail else ""
                what = f"command {event.name!r} ended: {event.reason}{detail}"
            case Failed():
                what = f"{event.owner} did not get what it asked for: {event.why}"
            case _:
                return
        if len(self.kept) < MOST_KEPT:
            time_s = round(event.tick * self._tick_s, 6)
            self.kept.append(RunFailure(time_s=time_s, what=what))


NOT_READY = "it was never ready: its precondition did not hold"
MOST_NAMED = 4
"""Leaves that are named, of what somebody else has."""


class NeverActed:
    """A listener of the ledger; ask `why` when the run is over."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Begin when nobody acts yet.

        Args:
            paths: of the behaviours of the file.
        """
        self._why = dict.fromkeys(paths, "nobody woke it")
        """Of those that have not acted, as far as they came."""
        self._wanted: dict[str, NamedShares] = {}
        """Owner to what it waits for."""
        self._holders: dict[str, str] = {}
        """Leaf to who has it, real or virtual."""
        self._states: dict[str, str | None] = {}
        """Set of states to its active one."""

    def hear(self, event: Event) -> None:  # noqa: PLR0912 # one branch a kind
        """Note how far a behaviour comes, and who has what it asks for."""
        match event:
            case Woken(path=path):
                self._note(path, NOT_READY)
            case StateChangedTo(path=path, state=State.READY):
                self._note(path, "it was ready, but was not chosen")
            case Won():
                for name in event.over:
                    path = name if event.parent is None else f"{event.parent}/{name}"
                    self._note(path, f"it was ready, but {event.path} won")
                self._note(event.path, "it won, but did not get what it needs")
            case SchemaStarted(path=path):
                self._why.pop(path, None)
            case SchemaFailed(path=path):
                self._note(path, f"it failed: {event.error}")
            case Requested(owner=owner):
                self._wanted[owner] = event.shares
            case Failed(owner=owner):
                self._note(owner, f"{self._lack(owner)} ({event.why})")
                self._wanted.pop(owner, None)
            case Granted(owner=owner):
                self._wanted.pop(owner, None)
                self._holders |= dict.fromkeys(event.shares, owner)
            case Released(leaves=leaves) | Expired(leaves=leaves):
                self._free(leaves, event.owner)
            case Revoked():
                self._free((*event.lost, *event.freed), event.owner)
            case Frozen(is_total=True):
                self._holders |= dict.fromkeys(event.leaves, event.by)
            case Thawed():
                self._free(event.leaves, event.by)
            case StateChanged():
                self._states[event.group] = event.active

    def why(self) -> Mapping[str, str]:
        """Return those that have not acted so far, each with the reason."""
        state = ", ".join(active or "none" for active in self._states.values())
        return {
            path: self._lack(path)
            if path in self._wanted
            else why.replace(NOT_READY, f"{NOT_READY}; the robot is in state {state}")
            for path, why in self._why.items()
        }

    def _note(self, path: str, why: str) -> None:
        if path in self._why:
            self._why[path] = why

    def _free(self, leaves: Iterable[str], owner: str) -> None:
        for leaf in leaves:
            if self._holders.get(leaf) == owner:
                del self._holders[leaf]

    def _lack(self, owner: str) -> str:
        """Say what an owner asked for and did not get, and who has it."""
        taken: dict[str, list[str]] = {}
        for leaf, share in self._wanted.get(owner, {}).items():
            if not share and leaf not in self._states.values():
                taken.setdefault("the robot is not in state", []).append(leaf)
            elif self._holders.get(leaf, owner) != owner:
                taken.setdefault(f"{self._holders[leaf]!r} has", []).append(leaf)
        said = "; ".join(f"{who} {_some(leaves)}" for who, leaves in taken.items())
        return f"it did not get what it needs: {said or 'others wait for it, too'}"


def _some(leaves: Sequence[str]) -> str:
    more = len(leaves) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(leaves[:MOST_NAMED]) + rest


MOST_SAID = 3
"""Violations that a verdict spells out."""


class Proof:
    """A listener of the ledger, from its first event on: the rules of every trace."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self._checker = TraceChecker()
        self.hear = self._checker.see
        """Checks the next event."""

    def violations(self) -> tuple[Violation, ...]:
        """Return all that was wrong until now."""
        return self._checker.finish()

    def verdict(self) -> Verdict:
        """Judge the whole trace until now."""
        wrong = self.violations()
        said = "; ".join(map(str, wrong[:MOST_SAID]))
        more = f" and {len(wrong) - MOST_SAID} more" if len(wrong) > MOST_SAID else ""
        return Verdict(
            expectation="invariants of the trace",
            holds=not wrong,
            seen=said + more or "hold at every event",
            line=0,
        )
