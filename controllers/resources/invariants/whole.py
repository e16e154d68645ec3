"""I-4, I-10: what is held changes by whole requests and living tokens only."""

from collections.abc import Iterable

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.request import FULL
from controllers.resources.tokens import TokenId
from controllers.resources.words import Loss, LossCause
from models.resource_node import ResourceKind


class Whole(Judge):
    """All or nothing, and nothing by a dead token.

    An owner holds the union of what it was granted, less what was released, revoked
    and expired: the replay counts that way, and here each event is held against it.
    """

    invariants = ("I-4", "I-10")

    def __init__(self, replay: Replay) -> None:
        """Begin with nothing to remember."""
        super().__init__(replay)
        self._paused: dict[int, tuple[t.Revoked, dict[str, int]]] = {}
        """Number of the request that is to resume, to the loss and its set."""
        self._revoked: dict[TokenId, tuple[t.Revoked, dict[str, int]]] = {}
        """The last loss of each paused token in this call."""

    def rules(self) -> tuple[Rule, ...]:
        """Look at whatever changes what is held."""
        return (
            before(t.Requested, self.adds_to_a_living_token),
            before(t.Requested, self.resumes_the_same_set),
            before(t.Granted, self.the_whole_set),
            before(t.Granted, self.one_token),
            before(t.Released, self.gives_what_it_has),
            before(t.Revoked, self.loses_what_it_has),
            before(t.Revoked, self.note_pause),
            after(t.Notified, self.note_resumption),
            before(t.Expired, self.ends_with_all),
            before(t.Settled, self.settled),
        )

    def adds_to_a_living_token(self, event: t.Requested) -> Findings:
        """Only a valid token of the asker's grows."""
        if event.add_to is None:
            return
        token = self.replay.live(event.add_to)
        if token is None:
            yield "I-10", f"request {event.request} adds to dead token {event.add_to}"
        elif token.owner.name != event.owner:
            yield "I-4", f"{event.owner} adds to a token of {token.owner.name}"

    def the_whole_set(self, event: t.Granted) -> Findings:
        """Every essential leaf, whole optional names, and nothing else."""
        request = self.replay.waiting(event.request)
        if request is None:
            return  # I-6 says so
        asked = request.asked
        name = f"the grant of request {event.request}"
        if event.owner != asked.owner:
            yield "I-4", f"{name} goes to {event.owner}, not to {asked.owner}"
        for leaf, share in asked.shares.items():
            got = event.shares.get(leaf)
            if got != share:
                yield "I-4", f"{name} has {got} hundredths of {leaf}, not {share}"
        missing = set(event.missing)
        obtained = [
            unit for name, unit in asked.optional.items() if name not in missing
        ]
        extra = set().union(*obtained) - set(asked.shares)
        beyond = set(event.shares) - set(asked.shares)
        if beyond != extra or not missing <= set(asked.optional):
            yield "I-4", f"{name} has {_list(beyond)} besides, not {_list(extra)}"
        if not event.shares:
            yield "I-4", f"{name} gives nothing"
        for leaf in beyond:
            if event.shares[leaf] != self._full(leaf):
                yield "I-4", f"{name} has a part of {leaf} only"

    def one_token(self, event: t.Granted) -> Findings:
        """A grant makes a token, or enlarges the one that it was asked to."""
        request = self.replay.waiting(event.request)
        add_to = request.asked.add_to if request else None
        known = self.replay.tokens.get(event.token)
        if add_to is not None and event.token != add_to:
            yield "I-4", f"request {event.request} got {event.token}, not {add_to}"
        if known is None:
            return
        if known.ended is not None:
            yield "I-10", f"dead token {event.token} grows by request {event.request}"
        elif add_to is None or known.owner.name != event.owner:
            yield "I-4", f"{event.owner} got {known.owner.name}'s token {event.token}"
        elif again := set(known.seats) & set(event.shares):
            yield "I-4", f"{event.owner} got {_list(again)} twice by one token"

    def gives_what_it_has(self, event: t.Released) -> Findings:
        """A release takes some leaves of a living token."""
        yield from self._takes(event, event.leaves)

    def loses_what_it_has(self, event: t.Revoked) -> Findings:
        """A loss takes some leaves of a living token."""
        yield from self._takes(event, event.lost + event.freed)

    def ends_with_all(self, event: t.Expired) -> Findings:
        """A token whose owner is gone ends with all that it covers."""
        yield from self._takes(event, event.leaves)
        token = self.replay.live(event.token)
        if token is not None and set(event.leaves) != set(token.seats):
            yield "I-4", f"token {event.token} expires but keeps leaves"

    def note_pause(self, event: t.Revoked) -> Findings:
        """Remember the set of a token that is paused."""
        token = self.replay.live(event.token)
        if event.why is LossCause.PAUSED and token is not None:
            names = event.lost if token.loss is Loss.PARTIAL else token.seats
            shares = {
                leaf: token.seats[leaf].share for leaf in names if leaf in token.seats
            }
            self._revoked[event.token] = (event, shares)
        yield from ()

    def note_resumption(self, event: t.Notified) -> Findings:
        """Remember by which request a paused token comes back."""
        if event.token in self._revoked and event.why is LossCause.PAUSED:
            lost = self._revoked.pop(event.token)
            if event.request is not None:
                self._paused[event.request] = lost
        yield from ()

    def resumes_the_same_set(self, event: t.Requested) -> Findings:
        """Who was paused waits for exactly what it lost, at its old place (RM-37)."""
        lost, shares = self._paused.pop(event.request, (None, {}))
        was = lost.token if lost else None
        if event.resumes != was:
            yield "I-4", f"request {event.request} resumes {event.resumes}, not {was}"
        token = self.replay.tokens.get(was) if was else None
        if token is None:
            return
        if event.shares != shares or event.optional:
            yield (
                "I-4",
                f"{event.owner} was paused with {_list(shares)}, asks otherwise",
            )
        old = (token.owner.name, token.priority, token.arrival)
        if (event.owner, event.priority, event.arrival) != old:
            yield "I-4", f"{event.owner} resumes at another place or in another way"

    def settled(self, event: t.Settled) -> Findings:
        """After a call the paused wait, and nobody waits to enlarge a dead token."""
        del event
        for number, (lost, _) in self._paused.items():
            yield "I-4", f"{lost.owner} is paused, but request {number} never comes"
        for token in self.replay.adding:
            if self.replay.live(token) is None:
                yield "I-10", f"a request waits to enlarge dead token {token}"
        self._paused.clear()
        self._revoked.clear()

    def _takes(
        self, event: t.Released | t.Revoked | t.Expired, leaves: tuple[str, ...]
    ) -> Findings:
        token = self.replay.live(event.token)
        if token is None:
            yield "I-10", f"{type(event).__name__} changes dead token {event.token}"
            return
        if event.owner != token.owner.name:
            yield (
                "I-4",
                f"token {token.id} is {token.owner.name}'s, not {event.owner}'s",
            )
        nothing = not leaves and bool(token.seats)
        if nothing or len(set(leaves)) != len(leaves):
            yield "I-4", f"token {token.id} gives {_list(leaves)}: nothing, or twice"
        if not set(leaves) <= set(token.seats):
            yield "I-4", f"token {token.id} gives {_list(leaves)}, not all its own"
        is_whole = set(leaves) >= set(token.seats)
        if isinstance(event, t.Released) and token.lends(leaves):
            is_whole = False
        if getattr(event, "is_whole", is_whole) != is_whole:
            yield "I-4", f"token {token.id} ends: {not is_whole}, but covers otherwise"

    def _full(self, leaf: str) -> int:
        return FULL if self.replay.leaf(leaf).kind is ResourceKind.EXCLUSIVE else 0


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
