"""What went wrong in a run that nobody asked about: behaviours that failed, and why."""

from controllers.resources.trace import Event, Failed
from controllers.schemas.trace import SchemaFailed
from controllers.sync.orders.pipeline_trace import OrderEnded, OrderReceived
from controllers.sync.transmitter.words import EndReason
from experiments.scenarios.playing.result import Mishap

MOST_KEPT = 1000
"""Mishaps that are kept: one in each slot would be ten thousands in minutes."""
QUIET = frozenset({EndReason.DONE, EndReason.DELETED, EndReason.REPLACED})
"""Ends of an order that its sender wanted."""


class Mishaps:
    """A listener of the ledger."""

    def __init__(self, tick_s: float) -> None:
        """Begin with none."""
        self.kept: list[Mishap] = []
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
            self.kept.append(Mishap(time_s=time_s, what=what))
