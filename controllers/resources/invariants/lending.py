"""I-27: what is lent comes back when it is recalled."""

from controllers.resources import trace as t
from controllers.resources.invariants.geometry import is_opposed, scope, who_bars
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import RequestState
from controllers.resources.invariants.seam import Findings, Judge, Rule, before
from controllers.resources.tokens import TokenId


class Lending(Judge):
    """A token recalls what it has lent, and has it in the same call.

    Only a freeze stands in the way, or with preemption a higher priority. Nobody else
    comes before all equals.
    """

    invariants = ("I-27",)

    def __init__(self, replay: Replay) -> None:
        """Begin with nothing lent."""
        super().__init__(replay)
        self._lent: dict[TokenId, set[str]] = {}
        self._recalls: list[int] = []
        """Requests of this call that recall."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at loans, at recalls, and at what is left when a call is done."""
        return (
            before(t.Lent, self.has_what_it_lends),
            before(t.Requested, self.recalls_what_it_lent),
            before(t.Granted, self.resumes_with_its_loans),
            before(t.Settled, self.is_back),
        )

    def has_what_it_lends(self, event: t.Lent) -> Findings:
        """Note a loan of what a token covers."""
        token = self.replay.live(event.token)
        lacking = set(event.leaves) - set(token.seats if token else ())
        if lacking:
            yield "I-27", f"{event.owner} lends {sorted(lacking)}, which it has not"
        self._lent.setdefault(event.token, set()).update(event.leaves)

    def recalls_what_it_lent(self, event: t.Requested) -> Findings:
        """Note a recall; one of what was never lent is none."""
        if not event.recalls:
            return
        lent = self._lent.get(event.add_to, set()) if event.add_to else set()
        if not set(event.shares) <= lent:
            yield "I-27", f"{event.owner} recalls {sorted(event.shares)}, not lent"
        lent.difference_update(event.shares)
        self._recalls.append(event.request)

    def resumes_with_its_loans(self, event: t.Granted) -> Findings:
        """Who paused may recall what it had lent by its next token."""
        request = self.replay.waiting(event.request)
        resumed = request.asked.resumes if request else None
        if resumed in self._lent and resumed != event.token:
            self._lent[event.token] = self._lent.pop(resumed)
        yield from ()

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
