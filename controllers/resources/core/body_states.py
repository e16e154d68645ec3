"""What the body does to resources: parts freeze and thaw, states come and go."""

from collections.abc import Sequence

from controllers.resources.core.book import Book
from controllers.resources.core.demands import Demands
from controllers.resources.core.holdings import Holdings, Yielding, innermost_first
from controllers.resources.core.leaf import Freeze, Leaf, names_of
from controllers.resources.core.rights import Rights
from controllers.resources.core.state_leaf import StateGroup, StateLeaf
from controllers.resources.trace import Frozen, StateChanged, StateRefused, Thawed
from controllers.resources.words import LossCause, NoticeKind
from models import BadInput
from models.real_numbers import is_fraction, short

MOST_TURNS = 20
"""Times that holders are asked, at most, as their answers make others active."""


class BodyStates:
    """Facts about the body, which nobody is asked about; and wishes, which all are."""

    def __init__(
        self, book: Book, holdings: Holdings, demands: Demands, rights: Rights
    ) -> None:
        """Work on a book, by its moves."""
        self._book = book
        self._rights = rights
        self._holdings = holdings
        self._demands = demands

    def add_virtual_owner(self, name: str) -> None:
        """Keep a name for a virtual owner, so that no real one takes it.

        Raises:
            BadInput: a real owner has it.
        """
        if name in self._book.owners:
            raise BadInput(
                f"{name!r} is a real owner; a virtual one needs its own name."
            )
        self._book.virtual.add(name)

    def freeze(self, leaves: Sequence[Leaf], by: str, freeze: Freeze) -> None:
        """Let a virtual owner have leaves (RM-40).

        Raises:
            BadInput: the cap is out of range, or a real owner has that name.
        """
        cap = freeze.effort_cap
        if cap is not None and not is_fraction(cap):
            raise BadInput(f"effort cap is {short(cap)}; give a fraction from 0 to 1.")
        self.add_virtual_owner(by)
        seated: Yielding = {}
        for leaf in leaves if freeze.is_total else ():
            for holder in leaf.seated():
                seated.setdefault(holder, []).append(leaf)
        for holder, theirs in innermost_first(seated).items():
            left = [leaf for leaf in theirs if leaf in holder.shares]
            if left:  # it may have gone with another one
                self._holdings.take_away(holder, left, LossCause.FROZEN, by)
        for leaf in leaves:
            leaf.freezes[by] = freeze
            self._refresh(leaf)
        if self._book.listeners:
            self._book.emit(
                Frozen(
                    tick=self._book.tick,
                    leaves=names_of(leaves),
                    by=by,
                    effort_cap=cap,
                    is_total=freeze.is_total,
                )
            )
            if cap is not None:
                self._rights.tell_capped(leaves, by, NoticeKind.LIMITED)

    def thaw(self, leaves: Sequence[Leaf], by: str) -> None:
        """Let a virtual owner give back what it has of some leaves (RM-45)."""
        theirs = [leaf for leaf in leaves if by in leaf.freezes]
        capped = [leaf for leaf in theirs if leaf.freezes[by].effort_cap is not None]
        for leaf in theirs:
            del leaf.freezes[by]
            self._refresh(leaf)
        if self._book.listeners and theirs:
            self._book.emit(
                Thawed(tick=self._book.tick, leaves=names_of(theirs), by=by)
            )
            self._rights.tell_capped(capped, by, NoticeKind.UNLIMITED)

    def set_state(self, group: StateGroup, following: StateLeaf | None) -> None:
        """Note as a fact which state is active; who needs the one left loses it."""
        left = group.active
        if left is following:
            return
        by = following.name if following else group.name
        for holder in left.seated() if left else ():
            if left in holder.shares:
                self._holdings.take_away(holder, [left], LossCause.STATE_LEFT, by)
        group.active = following
        for leaf in group.leaves.values():
            self._book.touch(leaf)
        if self._book.listeners:
            self._book.emit(
                StateChanged(
                    tick=self._book.tick,
                    group=group.name,
                    active=following.name if following else None,
                )
            )

    def ask_state(self, group: str, wanted: str | None, by: str) -> bool:
        """Ask those who need the active state; change it if all give way (RM-53).

        Their policies may change the states, and the list of these: then those are
        asked who need what is active now.

        Raises:
            UnknownName: there is no such set, or no such state in it, at the end.
        """
        for _ in range(MOST_TURNS):
            states, following = self._find(group, wanted)
            left = states.active
            if left is None or left is following:
                break
            asked = states, following, left

            def is_wanted(asked: object = asked) -> bool:
                states, following = self._find(group, wanted)
                return (states, following, states.active) == asked

            gives_way = self._demands.ask_holders(left, by, is_wanted)
            if gives_way:
                break
            if is_wanted():
                self._refuse(left, following)
                return False
        else:
            return False
        self.set_state(states, following)
        return True

    def _find(
        self, group: str, wanted: str | None
    ) -> tuple[StateGroup, StateLeaf | None]:
        states = self._book.group(group)
        return states, None if wanted is None else self._book.state(group, wanted)

    def _refuse(self, kept: StateLeaf, wanted: StateLeaf | None) -> None:
        if self._book.listeners:
            holders = dict.fromkeys(r.owner.name for r in kept.seated())
            self._book.emit(
                StateRefused(
                    tick=self._book.tick,
                    group=kept.group.name,
                    wanted=wanted.name if wanted else None,
                    holders=tuple(sorted(holders)),
                )
            )

    def _refresh(self, leaf: Leaf) -> None:
        leaf.is_frozen = any(freeze.is_total for freeze in leaf.freezes.values())
        if not leaf.is_frozen:
            self._book.touch(leaf)
