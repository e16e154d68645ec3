"""I-5, I-12, and traces that no manager writes: names, numbers, order."""

from controllers.resources import trace as t
from controllers.resources.invariants.seam import (
    MALFORMED,
    Findings,
    Judge,
    Rule,
    before,
)
from models.resource_node import ResourceKind

_NAMES = ("leaves", "lost", "freed", "missing", "holders", "shares", "optional")
"""Fields that hold names."""
_LEAVES = ("leaves", "lost", "freed", "shares")
_OWNED = (
    t.Requested,
    t.Granted,
    t.Failed,
    t.Released,
    t.Revoked,
    t.Expired,
    t.Renewed,
    t.Crashed,
    t.Notified,
    t.Answered,
)
_LISTING = (
    t.Requested,
    t.Granted,
    t.Released,
    t.Revoked,
    t.Expired,
    t.Frozen,
    t.Thawed,
    t.StateRefused,
    t.Notified,
    t.MadeSafe,
)


class Naming(Judge):
    """Names come sorted, known and in time.

    Sorted: so the order in which a request names them leaves no mark (I-5). That two
    runs with permuted names have one `trace_hash` is for a test.
    """

    invariants = ("I-5", MALFORMED)

    def rules(self) -> tuple[Rule, ...]:
        """Look at all names."""
        return (
            before(t.Event, self.in_time),
            *(before(event, self.sorted_names) for event in _LISTING),
            *(before(event, self.known_leaves) for event in _LISTING),
            *(before(event, self.known_owner) for event in _OWNED),
            before(t.OwnerAdded, self.known_parent),
            before(t.ResourceAdded, self.below_a_composite),
            before(t.ResourceRemoved, self.was_there),
            before(t.StateChanged, self.known_state),
        )

    def in_time(self, event: t.Event) -> Findings:
        """Ticks never decrease within an epoch, and the epoch comes first."""
        if not isinstance(event, t.Opened):
            if event.tick < self.replay.tick:
                yield MALFORMED, f"tick {event.tick} comes after {self.replay.tick}"
            if self.replay.epoch == 0:
                yield MALFORMED, f"{type(event).__name__} comes before any epoch"

    def sorted_names(self, event: t.Event) -> Findings:
        """Names are sorted, each there once."""
        for field in _NAMES:
            names = list(getattr(event, field, ()))
            if names != sorted(set(names)):
                yield "I-5", f"{type(event).__name__}.{field} is not sorted: {names}"

    def known_leaves(self, event: t.Event) -> Findings:
        """Leaves were added before."""
        for field in _LEAVES:
            for name in getattr(event, field, ()):
                if name not in self.replay.leaves:
                    yield MALFORMED, f"{type(event).__name__} names {name!r}: no leaf"

    def known_owner(self, event: t.Event) -> Findings:
        """Owners were added before."""
        owner = getattr(event, "owner", "")
        if owner not in self.replay.owners:
            yield MALFORMED, f"{type(event).__name__} names {owner!r}: no owner"

    def known_parent(self, event: t.OwnerAdded) -> Findings:
        """An owner's parent was added before, and stays its parent while it is here."""
        if event.parent is not None and event.parent not in self.replay.owners:
            yield MALFORMED, f"{event.owner} is a part of {event.parent!r}: no owner"
        known = self.replay.owners.get(event.owner)
        if known is not None and not known.is_gone:
            was = known.parent.name if known.parent else None
            if was != event.parent:
                yield MALFORMED, f"{event.owner} moves from {was} to {event.parent}"

    def below_a_composite(self, event: t.ResourceAdded) -> Findings:
        """A resource is added once, below one that nobody has."""
        if event.name in self.replay.leaves or self.replay.children.get(event.name):
            yield MALFORMED, f"resource {event.name} is added twice"
        above = self.replay.leaves.get(event.parent or "")
        if above is not None and (above.seats or above.queue):
            yield MALFORMED, f"{event.name} is added below {event.parent}: in use"

    def was_there(self, event: t.ResourceRemoved) -> Findings:
        """Only what is known is removed."""
        if event.name not in self.replay.leaves:
            yield MALFORMED, f"{event.name!r} is removed: it was no leaf"

    def known_state(self, event: t.StateChanged) -> Findings:
        """The active state is one of its set."""
        states = [
            name
            for name in self.replay.children.get(event.group, ())
            if name in self.replay.leaves
            and self.replay.leaves[name].kind is ResourceKind.STATE
        ]
        if event.active is not None and event.active not in states:
            yield MALFORMED, f"{event.active!r} is no state of {event.group!r}"
        if event.active == self.replay.active.get(event.group):
            yield MALFORMED, f"{event.group!r} changes to {event.active!r}: it was so"


class Issue(Judge):
    """Tokens and epochs only grow, so none is ever used again."""

    invariants = ("I-12",)

    def rules(self) -> tuple[Rule, ...]:
        """Look at epochs and at new tokens."""
        return (before(t.Opened, self.higher_epoch), before(t.Granted, self.newer))

    def higher_epoch(self, event: t.Opened) -> Findings:
        """A restart raises the epoch."""
        if event.epoch <= self.replay.epoch:
            yield "I-12", f"epoch {event.epoch} begins after epoch {self.replay.epoch}"

    def newer(self, event: t.Granted) -> Findings:
        """A token that is not known yet is later than all others."""
        if event.token in self.replay.tokens:
            return
        if event.token.epoch != self.replay.epoch:
            yield "I-12", f"token {event.token} is not of epoch {self.replay.epoch}"
        if event.token <= self.replay.last_token:
            yield "I-12", f"token {event.token} comes after {self.replay.last_token}"
