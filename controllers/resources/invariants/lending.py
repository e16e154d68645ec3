"""I-27: what is lent comes back when it is recalled."""

from controllers.resources import trace as t
from controllers.resources.invariants.geometry import is_opposed, scope, who_bars
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import RequestState
from controllers.resources.invariants.seam import Findings, Judge, Rule, before


class Lending(Judge):
    """A token recalls what it has lent, and has it in the same call.

    Only a freeze stands in the way, or with preemption a higher priority. Nobody else
    comes before all equals.
    """

    invariants = ("I-27",)

    def __init__(self, replay: Replay) -> None:
        """Begin with no recall."""
        super().__init__(replay)
        self._recalls: list[int] = []
        """Requests of this call that recall."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at loans, at recalls, and at what is left when a call is done."""
        return (
            before(t.Lent, self.has_what_it_lends),
            before(t.Requested, self.recalls_what_it_lent),
            before(t.Settled, self.is_back),
        )

    def has_what_it_lends(self, event: t.Lent) -> Findings:
        """A loan is of what its token covers."""
        token = self.replay.live(event.token)
        lacking = set(event.leaves) - set(token.seats if token else ())
        if lacking:
            yield "I-27", f"{event.owner} lends {sorted(lacking)}, which it has not"

    def recalls_what_it_lent(self, event: t.Requested) -> Findings:
        """Note a recall, of what is lent only."""
        if not event.recalls:
            return
        token = self.replay.live(event.add_to)
        if token is None or not token.lends(event.shares):
            yield "I-27", f"{event.owner} recalls {sorted(event.shares)}, not lent"
        self._recalls.append(event.request)

    def is_back(self, event: t.Settled) -> Findings:
        """Nothing but a freeze or authority keeps a lender from what it recalls."""
        del event
        for number in self._recalls:
            request = self.replay.requests.get(number)
            if request is None or self.replay.waiting(number) is None:
                continue
            if not any(self._is_kept(request, name) for name in request.asked.shares):
                yield (
                    "I-27",
                    f"request {number} of {request.asked.owner} recalls what it lent, "
                    "and does not have it",
                )
        self._recalls.clear()

    def _is_kept(self, request: RequestState, name: str) -> bool:
        leaf = self.replay.leaf(name)
        within = scope(leaf, request.owner)
        return (
            leaf.is_frozen
            or is_opposed(self.replay, leaf, request, request.asked.shares)
            or who_bars(self.replay, leaf, request) is not None
            or any(
                self.replay.by_priority
                and seat is not within
                and seat.token.priority > request.asked.priority
                for seat in leaf.seats
            )
        )
