"""Failures of a run that no expectation covers.

Failed behaviours; refused or aborted commands; requests that were not granted, with the
reason; behaviours that never acted, with the reason; the rules of every trace
(`nao_testbed.testing`), checked during the run.
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

MAX_KEPT = 1000
"""Largest number of stored failures; one per slot would be tens of thousands in
minutes."""
IGNORED_REASONS = frozenset({EndReason.DONE, EndReason.DELETED, EndReason.REPLACED})
"""End reasons of an order that its sender intended."""


class RunFailures:
    """Listener of the ledger that collects failures."""

    def __init__(self, tick_s: float) -> None:
        """Create the listener without failures."""
        self.kept: list[RunFailure] = []
        """First failures in order."""
        self._tick_s = tick_s

    def on_event(self, event: Event) -> None:
        """Record an event if it is a failure."""
        match event:
            case SchemaFailed():
                what = f"{event.path} failed: {event.error}"
            case OrderReceived(refused=why) if why is not None:
                what = f"command {event.name!r} was refused: {why}"
            case OrderEnded() if event.reason not in IGNORED_REASONS:
                detail = f" ({event.detail})" if event.detail else ""
                what = f"command {event.name!r} ended: {event.reason}{detail}"
            case Failed():
                what = f"{event.owner} did not get the requested resources: {event.why}"
            case _:
                return
        if len(self.kept) < MAX_KEPT:
            time_s = round(event.tick * self._tick_s, 6)
            self.kept.append(RunFailure(time_s=time_s, what=what))


NOT_READY = "it was never ready: its precondition was false"
MAX_NAMED = 4
"""Largest number of leaves, held by other owners, that a reason names."""


class NeverActed:
    """Listener of the ledger that explains inactive behaviours; see `why`."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Create the listener before any behaviour acts.

        Args:
            paths: paths of the behaviours of the file.
        """
        self._why = dict.fromkeys(paths, "it was never activated")
        """State of each behaviour that has not acted yet."""
        self._wanted: dict[str, NamedShares] = {}
        """Leaves awaited, by owner."""
        self._holders: dict[str, str] = {}
        """Real or virtual holder, by leaf."""
        self._states: dict[str, str | None] = {}
        """Active state, by set of states."""

    def on_event(self, event: Event) -> None:  # noqa: PLR0912 # one branch a kind
        """Record the state of behaviours and the holders of the requested leaves."""
        match event:
            case Woken(path=path):
                self._note(path, NOT_READY)
            case StateChangedTo(path=path, state=State.READY):
                self._note(path, "it was ready, but was not chosen")
            case Won():
                for name in event.over:
                    path = name if event.parent is None else f"{event.parent}/{name}"
                    self._note(path, f"it was ready, but {event.path} won")
                self._note(event.path, "it won, but did not get its resources")
            case SchemaStarted(path=path):
                self._why.pop(path, None)
            case SchemaFailed(path=path):
                self._note(path, f"it failed: {event.error}")
            case Requested(owner=owner):
                self._wanted[owner] = event.shares
            case Failed(owner=owner):
                self._note(owner, f"{self._missing_resources(owner)} ({event.why})")
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
        """Return the behaviours that have not acted so far, with the reasons."""
        state = ", ".join(active or "none" for active in self._states.values())
        return {
            path: self._missing_resources(path)
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

    def _missing_resources(self, owner: str) -> str:
        """Return the leaves that an owner did not get, and their holders."""
        taken: dict[str, list[str]] = {}
        for leaf, share in self._wanted.get(owner, {}).items():
            if not share and leaf not in self._states.values():
                taken.setdefault("the robot is not in state", []).append(leaf)
            elif self._holders.get(leaf, owner) != owner:
                taken.setdefault(f"{self._holders[leaf]!r} holds", []).append(leaf)
        said = "; ".join(f"{who} {_some(leaves)}" for who, leaves in taken.items())
        return f"it did not get its resources: {said or 'others are waiting for them'}"


def _some(leaves: Sequence[str]) -> str:
    more = len(leaves) - MAX_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(leaves[:MAX_NAMED]) + rest


MAX_SAID = 3
"""Number of violations listed in a verdict."""


class Proof:
    """Listener of the ledger that checks the rules of every trace."""

    def __init__(self) -> None:
        """Create the listener before the first event."""
        self._checker = TraceChecker()
        self.on_event = self._checker.see
        """Checker of the next event."""

    def violations(self) -> tuple[Violation, ...]:
        """Return all violations so far."""
        return self._checker.finish()

    def verdict(self) -> Verdict:
        """Return the verdict on the whole trace so far."""
        wrong = self.violations()
        said = "; ".join(map(str, wrong[:MAX_SAID]))
        more = f" and {len(wrong) - MAX_SAID} more" if len(wrong) > MAX_SAID else ""
        return Verdict(
            expectation="invariants of the trace",
            holds=not wrong,
            seen=said + more or "hold at every event",
            line=0,
        )
