"""What ledger and model said and hold, in one form that can be compared."""

from collections.abc import Sequence
from dataclasses import replace

from controllers.arbitration.events import Answered, Event, Notified, Settled
from controllers.arbitration.manager.front import LedgerSnapshot
from tests.controllers.arbitration.manager.model.sequential.model import SequentialModel


def comparable(events: Sequence[Event]) -> list[Event]:
    """Return events without what only one of the two says.

    The words of an error, the blockers in an outcome; and `Settled`, of which a timer
    of a request that has ended meanwhile may leave one more.
    """
    said: list[Event] = []
    for event in events:
        if isinstance(event, Answered | Notified) and event.error:
            said.append(replace(event, error="raised"))
        elif isinstance(event, Notified) and event.outcome is not None:
            said.append(replace(event, outcome=event.outcome._replace(blockers=())))
        elif not isinstance(event, Settled):
            said.append(event)
    return said


def difference(said: Sequence[Event], predicted: Sequence[Event]) -> str:
    lines = [
        f"{'  ' if mine == yours else '! '}ledger {mine}\n  model  {yours}"
        for mine, yours in zip(
            [*said, *[None] * (len(predicted) - len(said))],
            [*predicted, *[None] * (len(said) - len(predicted))],
            strict=True,
        )
    ]
    return "\n".join(lines)


Picture = dict[str, tuple[object, ...]]


def ledger_picture(snapshot: LedgerSnapshot) -> Picture:
    """Return holders, waiters and virtual owners of each leaf."""
    return {
        row.name: (
            sorted(
                (held.token, held.is_lent, round(held.share_percent * 100))
                for held in row.holders
            ),
            [wait.request for wait in row.waiters],
            sorted((v.by, v.is_total, v.effort_cap or 1.0) for v in row.virtual),
        )
        for row in snapshot.resources
        if row.kind is not None
    }


def model_picture(model: SequentialModel) -> Picture:
    return {
        leaf: (
            sorted(
                (s.held.token.id, model.is_lent(s), s.share) for s in model.on(leaf)
            ),
            [wait.number for wait in model.queue() if leaf in wait.shares],
            sorted(
                (f.by, f.is_total, f.cap or 1.0)
                for f in model.freezes
                if f.leaf == leaf
            ),
        )
        for leaf, kind in model.kinds.items()
        if kind is not None
    }
