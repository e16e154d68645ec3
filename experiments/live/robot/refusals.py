"""Latest commands that the gate refused: owner, resource and reason."""

from collections import OrderedDict

from nao_testbed.controllers.arbitration.events import Event, Granted, Rejected
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.experiments.live.robot.moment import RefusedCommand

KEPT = 12
MAX_TOKENS = 1000
"""Number of tokens with a stored owner; older ones have the owner `?`."""


class Refusals:
    """Listener of a ledger; repeated refusals are one line with a count."""

    def __init__(self, ledger: Ledger) -> None:
        self._tick_s = ledger.cfg.tick_s
        self._owners: OrderedDict[TokenId, str] = OrderedDict(
            (hold.token, hold.owner)
            for row in take_snapshot(ledger).resources
            for hold in row.holders
        )
        self._lines: OrderedDict[tuple[str, str, str], tuple[float, int]] = (
            OrderedDict()
        )
        self.count = 0
        """Number of all refused commands."""
        ledger.listeners.append(self._on_event)

    def newest(self) -> tuple[RefusedCommand, ...]:
        """Return the refused commands, newest first."""
        return tuple(
            RefusedCommand(
                time_s=time_s, owner=owner, resource=leaf, reason=reason, count=count
            )
            for (owner, leaf, reason), (time_s, count) in reversed(self._lines.items())
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Granted):
            self._owners[event.token] = event.owner
            if len(self._owners) > MAX_TOKENS:
                self._owners.popitem(last=False)
        elif isinstance(event, Rejected):
            owner = "nobody" if event.token is None else self._owners.get(event.token)
            key = owner or "?", event.resource, event.reason.value
            _, count = self._lines.pop(key, (0.0, 0))
            self._lines[key] = event.tick * self._tick_s, count + 1
            if len(self._lines) > KEPT:
                self._lines.popitem(last=False)
            self.count += 1
